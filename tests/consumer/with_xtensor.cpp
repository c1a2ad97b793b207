#include "xgrad/xgrad.hpp"    // everything
#include "xgrad/xtensor.hpp"  // to and from xt::xarray; the only header that needs xtensor
namespace xg = xgrad;

int main() {
  const xg::Tensor x = xg::ones({2, 3});
  return xt::sum(xg::adapt<float>(x))() == 6 ? 0 : 1;
}
