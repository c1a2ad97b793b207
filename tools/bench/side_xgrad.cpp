// The work of the rows in xgrad.
#include "work.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

namespace {

struct Xgrad {
  using Tensor = xg::Tensor;
  using NoGrad = xg::NoGrad;
  using Optimizer = xg::optim::Optimizer;

  class Net {
   public:
    explicit Net(const bench::Row& row) {
      for (std::size_t i = 1; i < row.sizes.size(); ++i) {
        const std::int64_t out = row.sizes[i];
        layers_.push_back(xg::nn::Linear(row.sizes[i - 1], out));
        if (i + 1 == row.sizes.size()) return;
        if (row.norm == "layer_norm") layers_.push_back(xg::nn::LayerNorm({out}));
        if (row.norm == "batch_norm") layers_.push_back(xg::nn::BatchNorm1d(out));
        layers_.push_back(xg::nn::ReLU());
      }
    }
    Tensor operator()(const Tensor& x) { return layers_(x); }
    std::vector<Tensor> parameters() const { return layers_.parameters(); }
    void eval() { layers_.eval(); }

   private:
    xg::nn::Sequential layers_;
  };

  struct Data {
    Tensor train_x, train_y, test_x, test_y;
  };
  static Data fashion_mnist() try {
    const xg::data::Split split = xg::data::fashion_mnist();
    return {split.train.inputs, split.train.labels, split.test.inputs, split.test.labels};
  } catch (const xg::FileError&) {
    return {};
  }

  static void manual_seed(std::uint64_t seed) { xg::manual_seed(seed); }
  static Tensor randn(std::initializer_list<std::int64_t> shape) { return xg::randn(shape); }
  static Tensor randint(std::int64_t high, std::int64_t n) { return xg::randint(high, {n}); }
  static Tensor randperm(std::int64_t n) { return xg::randperm(n); }
  static double accuracy(const Tensor& logits, const Tensor& labels) {
    return xg::accuracy(logits, labels);
  }

  static std::shared_ptr<Optimizer> optimizer(const std::string& kind,
                                              const std::vector<Tensor>& parameters, double lr) {
    if (kind == "sgd")
      return std::make_shared<xg::optim::SGD>(parameters, xg::optim::SGDOptions{lr});
    return std::make_shared<xg::optim::Adam>(parameters, xg::optim::AdamOptions{.lr = lr});
  }
  static void zero_grad(Optimizer& optimizer, const std::vector<Tensor>&) {
    optimizer.zero_grad({.set_to_none = true});
  }
  static void set_grad(Tensor& x, const Tensor& grad) { x.set_grad(grad); }

  static Tensor linear(const Tensor& x, const Tensor& w) { return xg::linear(x, w); }
  static Tensor sum(const Tensor& x, std::int64_t dim) { return x.sum(dim); }
  static Tensor layer_norm(const Tensor& x, std::int64_t d, const Tensor& w, const Tensor& b) {
    return xg::layer_norm(x, {d}, w, b);
  }
  static Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& w,
                           const Tensor& b) {
    return xg::batch_norm(x, mean, var, w, b, {.training = true});
  }
  static Tensor rms_norm(const Tensor& x, std::int64_t d, const Tensor& w) {
    return xg::rms_norm(x, {d}, w);
  }
  static Tensor cross_entropy(const Tensor& x, const Tensor& labels) {
    return xg::cross_entropy(x, labels);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::work<Xgrad>); }
