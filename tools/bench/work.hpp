#pragma once

#include <memory>

#include "worker.hpp"

namespace bench {

// The work of every row, written once for xgrad and libtorch: what they call alike is called here,
// what differs is a member of Api.

/// A net, its optimizer and the step: forward, cross-entropy, backward, update. The rate is so
/// small that a repeated batch stays a problem (moments that fade into denormals would cost time).
template <class Api>
struct Training {
  typename Api::Net net;
  const std::vector<typename Api::Tensor> parameters;
  const std::shared_ptr<typename Api::Optimizer> optimizer;

  explicit Training(const Row& row, double lr = 1e-7)
      : net(row),
        parameters(net.parameters()),
        optimizer(Api::optimizer(row.kind, parameters, lr)) {}
  void step(const typename Api::Tensor& x, const typename Api::Tensor& labels) {
    const auto loss = Api::cross_entropy(net(x), labels);
    Api::zero_grad(*optimizer, parameters);
    loss.backward();
    optimizer->step();
  }
};

template <class Api>
Work step(const Row& row) {
  auto training = std::make_shared<Training<Api>>(row);
  const auto x = Api::randn({row.batch, row.sizes.front()});
  const auto labels = Api::randint(row.sizes.back(), row.batch);
  return {[=] { training->step(x, labels); }};
}

template <class Api>
Work inference(const Row& row) {
  auto net = std::make_shared<typename Api::Net>(row);
  net->eval();
  const auto x = Api::randn({1, row.sizes.front()});
  return {[=] {
    const typename Api::NoGrad no_grad;
    (*net)(x);
  }};
}

template <class Api>
Work epoch(const Row& row) {
  const auto data = Api::fashion_mnist();
  if (!data.train_x.defined()) return {};
  auto training = std::make_shared<Training<Api>>(row, 1e-3);
  const auto run = [=] {
    const std::int64_t n = data.train_x.size(0);
    const auto order = Api::randperm(n);
    for (std::int64_t i = 0; i < n; i += row.batch) {
      const auto batch = order.narrow(0, i, std::min(row.batch, n - i));
      training->step(data.train_x.index_select(0, batch), data.train_y.index_select(0, batch));
    }
  };
  const auto accuracy = [=] {
    const typename Api::NoGrad no_grad;
    return Api::accuracy(training->net(data.test_x), data.test_y);
  };
  return {run, {}, accuracy};
}

/// The matrix products of a net's forward pass, or of its forward and backward pass.
template <class Api>
Work products(const Row& row) {
  using Tensor = typename Api::Tensor;
  std::vector<Tensor> weights;
  for (std::size_t i = 1; i < row.sizes.size(); ++i) {
    weights.push_back(Api::randn({row.sizes[i], row.sizes[i - 1]}));
    if (row.backward) weights.back().requires_grad_();
  }
  const Tensor x = Api::randn({row.batch, row.sizes.front()});
  const Tensor g = Api::randn({row.batch, row.sizes.back()});
  return {[=]() mutable {
    Tensor y = x;
    for (const Tensor& w : weights) y = Api::linear(y, w);
    if (row.backward) y.backward(g);
    for (Tensor& w : weights) {
      if (row.backward) Api::set_grad(w, Tensor());
    }
  }};
}

template <class Api>
Work update(const Row& row) {
  auto parameter = Api::randn({row.batch, row.sizes[0]});
  parameter.requires_grad_();
  Api::set_grad(parameter, Api::randn({row.batch, row.sizes[0]}));
  auto optimizer = Api::optimizer(row.kind, {parameter}, 1e-7);
  return {[=] { optimizer->step(); }};
}

template <class Api>
Work operation(const Row& row) {
  using Tensor = typename Api::Tensor;
  const std::int64_t d = row.sizes[0];
  if (row.kind == "sgd" || row.kind == "adam") return update<Api>(row);
  std::vector<Tensor> leaves = {Api::randn({row.batch, d}), Api::randn({d}), Api::randn({d})};
  const Tensor x = leaves[0], weight = leaves[1], bias = leaves[2];
  const Tensor labels = Api::randint(d, row.batch);
  const Tensor mean = Api::randn({d}), var = Api::randn({d});
  std::function<Tensor()> f;
  if (row.kind == "add") f = [=] { return x + bias; };
  if (row.kind == "relu") f = [=] { return x.relu(); };
  if (row.kind == "sum rows") f = [=] { return Api::sum(x, 1); };
  if (row.kind == "sum columns") f = [=] { return Api::sum(x, 0); };
  if (row.kind == "var rows") f = [=] { return x.var(1, true); };
  if (row.kind == "log_softmax") f = [=] { return x.log_softmax(1); };
  if (row.kind == "softmax") f = [=] { return x.softmax(1); };
  if (row.kind == "layer_norm") f = [=] { return Api::layer_norm(x, d, weight, bias); };
  if (row.kind == "batch_norm") f = [=] { return Api::batch_norm(x, mean, var, weight, bias); };
  if (row.kind == "rms_norm") f = [=] { return Api::rms_norm(x, d, weight); };
  if (row.kind == "cross_entropy") f = [=] { return Api::cross_entropy(x, labels); };
  if (!row.backward) return {[=] { f(); }};
  const Tensor g = f().clone();
  for (Tensor& leaf : leaves) leaf.requires_grad_();
  return {[=]() mutable {
    f().backward(g);
    for (Tensor& leaf : leaves) Api::set_grad(leaf, Tensor());
  }};
}

template <class Api>
Work node(const Row& row) {
  using Tensor = typename Api::Tensor;
  const Tensor a = Api::randn({1}), b = Api::randn({1});
  if (row.kind == "plain") return {[=] { a + b; }};
  a.requires_grad_();
  if (row.kind == "add") return {[=] { a + b; }};
  const auto y = std::make_shared<Tensor>();
  const auto build = [=] {
    *y = a;
    for (int i = 0; i < static_cast<int>(row.per); ++i) *y = *y + b;
  };
  const auto drop = [=] { *y = Tensor(); };
  if (row.kind == "forward") return {build, drop};
  if (row.kind == "free") return {drop, build};
  return {[=] { y->backward(); }, build};
}

template <class Api>
Work work(const Row& row) {
  Api::manual_seed(1);
  if (row.group == "inference") return inference<Api>(row);
  if (row.group == "epoch") return epoch<Api>(row);
  if (row.group == "op") return operation<Api>(row);
  if (row.group == "products") return products<Api>(row);
  if (row.group == "node") return node<Api>(row);
  return step<Api>(row);  // "start" too
}

}  // namespace bench
