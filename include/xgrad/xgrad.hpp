#pragma once

/// Everything: `#include "xgrad/xgrad.hpp"`, `namespace xg = xgrad;`.

#include "xgrad/autograd.hpp"
#include "xgrad/checkpoint.hpp"
#include "xgrad/config.hpp"
#include "xgrad/data.hpp"
#include "xgrad/dtype.hpp"
#include "xgrad/error.hpp"
#include "xgrad/extend.hpp"
#include "xgrad/gradcheck.hpp"
#include "xgrad/io.hpp"
#include "xgrad/loss.hpp"
#include "xgrad/memory.hpp"
#include "xgrad/nn.hpp"
#include "xgrad/ops.hpp"
#include "xgrad/optim.hpp"
#include "xgrad/print.hpp"
#include "xgrad/random.hpp"
#include "xgrad/shape.hpp"
#include "xgrad/state_dict.hpp"
#include "xgrad/tensor.hpp"
#include "xgrad/threads.hpp"
