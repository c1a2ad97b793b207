#pragma once

/// Modules, layers, losses and initialisation.

#include "xgrad/nn/activation.hpp"
#include "xgrad/nn/attention.hpp"
#include "xgrad/nn/container.hpp"
#include "xgrad/nn/dropout.hpp"
#include "xgrad/nn/embedding.hpp"
#include "xgrad/nn/init.hpp"
#include "xgrad/nn/linear.hpp"
#include "xgrad/nn/loss.hpp"
#include "xgrad/nn/module.hpp"
#include "xgrad/nn/norm.hpp"
