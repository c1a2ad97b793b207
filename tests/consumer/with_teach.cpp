#include <xgrad/teach.hpp>
#include <xgrad/xgrad.hpp>

int main() {
  const xgrad::Tensor x = xgrad::ones({2}, {.requires_grad = true});
  return xgrad::teach::to_dot(x * x).find("Mul") != std::string::npos ? 0 : 1;
}
