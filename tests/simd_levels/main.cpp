// Built once for each instruction set, with kernels for that one alone. The baseline writes its
// results to a file; the others compare theirs with it: results of each element bit for bit, sums
// and what is made of them within rounding.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

struct Value {
  std::string name;
  Tensor tensor;
  double tolerance;  // relative to the greatest element, at least 1; 0: every bit
};

/// y and the gradients of everything it was made of, for an upstream gradient of random numbers.
void add(std::vector<Value>& all, const std::string& name, double tolerance, const Tensor& y,
         const std::vector<Tensor>& inputs) {
  all.push_back({name, y.detach(), tolerance});
  xg::manual_seed(5);
  for (const Tensor& g : xg::grad(y, inputs, {.grad_output = xg::randn(y.shape())})) {
    all.push_back({name + " backward", g, tolerance});
  }
}

std::vector<Value> values() {
  std::vector<Value> all;
  constexpr double rounding = 1e-6;
  for (const std::int64_t cols : {5, 7, 64, 259}) {
    xg::manual_seed(3);
    const auto leaf = [](xg::Shape shape) { return xg::randn(shape).requires_grad_(); };
    const Tensor x = leaf({37, cols}), z = leaf({37, cols}), w = leaf({cols}), b = leaf({cols});
    const std::string size = " " + std::to_string(cols);
    // Sums over rows that broadcasting asks for in the backward pass are not exact.
    add(all, "add" + size, rounding, x + w, {x, w});
    add(all, "sub" + size, 0, x - z, {x, z});
    add(all, "mul" + size, 0, x * z, {x, z});
    add(all, "div" + size, 0, x / z, {x, z});
    add(all, "maximum" + size, 0, xg::maximum(x, z), {x, z});
    add(all, "relu" + size, 0, xg::relu(x), {x});
    add(all, "leaky_relu" + size, 0, xg::leaky_relu(x), {x});
    add(all, "sigmoid" + size, 0, xg::sigmoid(x), {x});
    add(all, "tanh" + size, 0, xg::tanh(x), {x});
    add(all, "gelu" + size, 0, xg::gelu(x), {x});
    add(all, "silu" + size, 0, xg::silu(x), {x});
    add(all, "sum rows" + size, rounding, x.sum(1), {x});
    add(all, "sum columns" + size, rounding, x.sum(0), {x});
    add(all, "mean" + size, rounding, x.mean(), {x});
    add(all, "amax" + size, 0, x.amax({0}), {x});
    add(all, "layer_norm" + size, rounding, xg::layer_norm(x, {cols}, w, b), {x, w, b});
    add(all, "rms_norm" + size, rounding, xg::rms_norm(x, {cols}, w), {x, w});
    add(all, "batch_norm" + size, rounding, xg::batch_norm(x, {}, {}, w, b, {.training = true}),
        {x, w, b});
    add(all, "softmax" + size, rounding, xg::softmax(x, 1), {x});
    add(all, "log_softmax" + size, rounding, xg::log_softmax(x, 1), {x});
    add(all, "cross_entropy" + size, rounding, xg::cross_entropy(x, xg::randint(cols, {37})), {x});
    add(all, "matmul" + size, rounding, xg::matmul(x, xg::transpose(z, 0, 1)), {x, z});
    Tensor p = w.clone().detach();
    p.requires_grad_();
    xg::optim::Adam adam({p}, {.lr = 0.1, .weight_decay = 0.01});
    for (int i = 0; i < 3; ++i) {
      adam.zero_grad();
      (p * p * b.detach()).sum().backward();
      adam.step();
    }
    all.push_back({"adam" + size, p.detach(), rounding});
  }
  return all;
}

int compare(std::ifstream& file) {
  int wrong = 0;
  for (const Value& value : values()) {
    const auto got = value.tensor.data<float>();
    std::vector<float> expected(got.size());
    file.read(reinterpret_cast<char*>(expected.data()),
              static_cast<std::streamsize>(expected.size() * sizeof(float)));
    double scale = 0, error = 0;
    bool same = true;
    for (std::size_t i = 0; i < got.size(); ++i) {
      scale = std::max<double>(scale, std::abs(expected[i]));
      error = std::max<double>(error, std::abs(got[i] - expected[i]));
      same = same && std::memcmp(&got[i], &expected[i], sizeof(float)) == 0;
    }
    if (file && (value.tolerance == 0 ? same : error <= value.tolerance * std::max(scale, 1.0)))
      continue;
    std::printf("%s: differs by %g, greatest element %g\n", value.name.c_str(), error, scale);
    ++wrong;
  }
  return wrong;
}

bool supported() {
  const std::string level = LEVEL;
#if defined(__GNUC__) && !defined(__clang__)
  if (level == "v3") return __builtin_cpu_supports("x86-64-v3");
  if (level == "v4") return __builtin_cpu_supports("x86-64-v4");
#endif
  return level == "baseline";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: simd_LEVEL FILE"), 2;
  if (!supported()) return std::puts("not on this processor"), 77;
  if (std::string(LEVEL) == "baseline") {
    std::ofstream file(argv[1], std::ios::binary);
    for (const Value& value : values()) {
      const auto data = value.tensor.data<float>();
      file.write(reinterpret_cast<const char*>(data.data()),
                 static_cast<std::streamsize>(data.size() * sizeof(float)));
    }
    return file.flush() ? 0 : 1;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const int wrong = compare(file);
  std::printf("%s against the baseline: %d differ\n", LEVEL, wrong);
  return wrong == 0 ? 0 : 1;
}
