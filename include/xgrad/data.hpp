#pragma once

/// Data to train on.

#include "xgrad/data/csv.hpp"
#include "xgrad/data/dataset.hpp"
#include "xgrad/data/digits.hpp"
#include "xgrad/data/idx.hpp"
#include "xgrad/data/loader.hpp"
