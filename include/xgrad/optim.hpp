#pragma once

/// Optimizers and learning-rate schedules.

#include "xgrad/optim/adam.hpp"
#include "xgrad/optim/schedule.hpp"
#include "xgrad/optim/sgd.hpp"
