// Somebody else's program: what must work across the border of the library, a shared one too.
#include <iostream>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

struct Net : xg::nn::Module {
  xg::nn::Linear& fc = register_module("fc", xg::nn::Linear(3, 4));
  xg::nn::LayerNorm& norm = register_module("norm", xg::nn::LayerNorm(4));
  xg::Tensor forward(const xg::Tensor& x) override { return norm(fc(x)); }
};

xg::Tensor cube(const xg::Tensor& x) {
  return xg::record(
      x.detach().pow(3), "CubeBackward0",
      [x = xg::save(x)](const xg::Tensor& g) { return 3 * g * x * x; }, x);
}

static int failures = 0;
static void expect(bool good, const char* what) {
  if (!good) std::cerr << "wrong: " << what << "\n";
  failures += !good;
}

int main() {
  const std::string built = std::to_string(XGRAD_VERSION_MAJOR) + "." +
                            std::to_string(XGRAD_VERSION_MINOR) + "." +
                            std::to_string(XGRAD_VERSION_PATCH);
  expect(xg::version() == built, "the version");
  expect(xg::data::digits().size() == 1797, "the digits");

  Net net;
  const auto children = net.named_children();
  expect(dynamic_cast<xg::nn::Linear*>(children.at(0).second) == &net.fc, "the type of a module");
  const xg::Tensor y = net(xg::randn({2, 3}));
  expect(xg::allclose(y.mean(-1), xg::zeros({2}), 0, 1e-6), "a LayerNorm");
  y.square().sum().backward();
  expect(net.fc.weight.has_grad(), "a gradient");

  xg::Tensor z = xg::zeros({2});
  z += 1;
  expect(z.mut<float>()[1] == 1, "a change in place");

  try {
    net(xg::ones({2, 5}));
    expect(false, "an exception");
  } catch (const xg::ShapeError& e) {
    expect(std::string(e.what()).find("(2, 5)") != std::string::npos, "its text");
  }
  try {  // from here, through the library, to here
    net.register_forward_hook([](auto&, auto&, auto&) -> xg::Tensor { throw xg::IndexError("x"); });
    net(xg::ones({2, 3}));
    expect(false, "an exception through the library");
  } catch (const xg::GraphError&) {
    expect(false, "the type of an exception");
  } catch (const xg::Error& e) {
    expect(dynamic_cast<const xg::IndexError*>(&e) != nullptr, "the type of an exception");
  }
  const xg::Tensor x = xg::tensor({1.0, 2.0, 3.0}, {.dtype = xg::float64, .requires_grad = true});
  expect(xg::gradgradcheck(cube, {x}).ok, "an operation");
  if (failures == 0) std::cout << "a stranger's program works with xgrad " << built << "\n";
  return failures;
}
