#include "xgrad/nn/loss.hpp"

#include "xgrad/error.hpp"

namespace xgrad::nn {

Tensor Loss::operator()(const Tensor& input, const Tensor& target) {
  check_not_moved();
  try {
    return forward(input, target);
  } catch (Error& error) {
    error.add_module(name());
    throw;
  }
}

}  // namespace xgrad::nn
