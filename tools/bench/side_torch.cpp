// The work of the rows in libtorch.
#include <torch/torch.h>

#include "work.hpp"
#include "xgrad/data.hpp"
#include "xgrad/error.hpp"

namespace {

struct Torch {
  using Tensor = torch::Tensor;
  using NoGrad = torch::NoGradGuard;
  using Optimizer = torch::optim::Optimizer;

  class Net {
   public:
    explicit Net(const bench::Row& row) {
      for (std::size_t i = 1; i < row.sizes.size(); ++i) {
        const std::int64_t out = row.sizes[i];
        layers_->push_back(torch::nn::Linear(row.sizes[i - 1], out));
        if (i + 1 == row.sizes.size()) return;
        if (row.norm == "layer_norm") {
          layers_->push_back(torch::nn::LayerNorm(torch::nn::LayerNormOptions({out})));
        }
        if (row.norm == "batch_norm") layers_->push_back(torch::nn::BatchNorm1d(out));
        layers_->push_back(torch::nn::ReLU());
      }
    }
    Tensor operator()(const Tensor& x) { return layers_->forward(x); }
    std::vector<Tensor> parameters() const { return layers_->parameters(); }
    void eval() { layers_->eval(); }

   private:
    torch::nn::Sequential layers_;
  };

  struct Data {
    Tensor train_x, train_y, test_x, test_y;
  };
  static Data fashion_mnist() try {  // read by xgrad, so that both have the same
    const auto inputs = [](const xgrad::data::Dataset& set) {
      const auto values = set.inputs.to_vector<float>();
      return torch::tensor(values).view({set.size(), -1});
    };
    const auto labels = [](const xgrad::data::Dataset& set) {
      return torch::tensor(set.labels.to_vector<std::int64_t>());
    };
    const xgrad::data::Split split = xgrad::data::fashion_mnist();
    return {inputs(split.train), labels(split.train), inputs(split.test), labels(split.test)};
  } catch (const xgrad::FileError&) {
    return {};
  }

  static void manual_seed(std::uint64_t seed) { torch::manual_seed(seed); }
  static Tensor randn(std::initializer_list<std::int64_t> shape) { return torch::randn(shape); }
  static Tensor randint(std::int64_t high, std::int64_t n) {
    return torch::randint(high, {n}, torch::kLong);
  }
  static Tensor randperm(std::int64_t n) { return torch::randperm(n, torch::kLong); }
  static double accuracy(const Tensor& logits, const Tensor& labels) {
    return (logits.argmax(1) == labels).to(torch::kDouble).mean().item<double>();
  }

  static std::shared_ptr<Optimizer> optimizer(const std::string& kind,
                                              const std::vector<Tensor>& parameters, double lr) {
    if (kind == "sgd") {
      return std::make_shared<torch::optim::SGD>(parameters, torch::optim::SGDOptions(lr));
    }
    return std::make_shared<torch::optim::Adam>(parameters, torch::optim::AdamOptions(lr));
  }
  static void zero_grad(Optimizer&, const std::vector<Tensor>& parameters) {
    for (Tensor p : parameters) p.mutable_grad().reset();  // the quickest way, as in PyTorch 2
  }
  static void set_grad(Tensor& x, const Tensor& grad) { x.mutable_grad() = grad; }

  static Tensor linear(const Tensor& x, const Tensor& w) { return torch::linear(x, w); }
  static Tensor sum(const Tensor& x, std::int64_t dim) { return x.sum(at::IntArrayRef(dim)); }
  static Tensor layer_norm(const Tensor& x, std::int64_t d, const Tensor& w, const Tensor& b) {
    return torch::layer_norm(x, {d}, w, b);
  }
  static Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& w,
                           const Tensor& b) {
    return torch::batch_norm(x, w, b, mean, var, true, 0.1, 1e-5, false);
  }
  static Tensor rms_norm(const Tensor& x, std::int64_t, const Tensor& w) {  // has none of its own
    return x * torch::rsqrt(x.square().mean(-1, true) + 1e-6) * w;
  }
  static Tensor cross_entropy(const Tensor& x, const Tensor& labels) {
    return torch::nn::functional::cross_entropy(x, labels);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::work<Torch>); }
