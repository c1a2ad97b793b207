#pragma once

/// Optimizers, learning-rate schedules and limits to gradients.

#include "xgrad/optim/adagrad.hpp"
#include "xgrad/optim/adam.hpp"
#include "xgrad/optim/clip.hpp"
#include "xgrad/optim/rmsprop.hpp"
#include "xgrad/optim/schedule.hpp"
#include "xgrad/optim/sgd.hpp"
