// The work of the rows as plain loops and BLAS calls on arrays of their own, without tensors, graph
// or allocation: about what is left when a framework costs nothing.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "worker.hpp"
#include "xgrad/data.hpp"
#include "xgrad/error.hpp"

extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
                       const float*, const int*, const float*, const int*, const float*, float*,
                       const int*);

namespace bench {
namespace {

using Floats = std::vector<float>;
std::mt19937 generator(1);

Floats random(std::size_t n, float scale = 1) {
  Floats values(n);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (float& v : values) v = uniform(generator);
  return values;
}

/// c (n, m) = op(a) (n, k) op(b) (k, m) + beta c, row-major.
void product(bool turn_a, bool turn_b, int n, int m, int k, const float* a, const float* b,
             float beta, float* c) {
  const float one = 1;
  const int lda = turn_a ? n : k, ldb = turn_b ? k : m;
  sgemm_(turn_b ? "T" : "N", turn_a ? "T" : "N", &m, &n, &k, &one, b, &ldb, a, &lda, &beta, c, &m);
}

/// A parameter, its gradient and Adam's moments.
struct Parameter {
  Floats value, grad, m, v;
  explicit Parameter(Floats start)
      : value(std::move(start)), grad(value.size()), m(value.size()), v(value.size()) {}

  void sgd(float lr) {
    for (std::size_t i = 0; i < value.size(); ++i) value[i] -= lr * grad[i];
  }
  void adam(float lr, int t) {
    const float step = lr / (1 - std::pow(0.9F, static_cast<float>(t)));
    const float unbias = 1 / std::sqrt(1 - std::pow(0.999F, static_cast<float>(t)));
    float *p = value.data(), *m1 = m.data(), *v1 = v.data();
    const float* g = grad.data();
#pragma omp simd
    for (std::size_t i = 0; i < value.size(); ++i) {
      m1[i] += 0.1F * (g[i] - m1[i]);
      v1[i] += 0.001F * (g[i] * g[i] - v1[i]);
      p[i] -= step * m1[i] / (std::sqrt(v1[i]) * unbias + 1e-8F);
    }
  }
};

/// Linear, then where asked a norm, then ReLU except in the last layer; with all it keeps.
struct Layer {
  int n, in, out;
  std::string norm;
  bool last;
  Parameter w, b, gain, shift;
  Floats hat, y, dy, scale, sums;  // normalised; output; its gradient; 1/std; of columns

  Layer(int batch, int inputs, int outputs, std::string norm_name, bool is_last)
      : n(batch),
        in(inputs),
        out(outputs),
        norm(std::move(norm_name)),
        last(is_last),
        w(random(size(in) * size(out), 1 / std::sqrt(float(in)))),
        b(random(size(out), 1 / std::sqrt(float(in)))),
        gain(Floats(size(out), 1)),
        shift(Floats(size(out))),
        hat(size(n) * size(out)),
        y(hat.size()),
        dy(hat.size()),
        scale(size(std::max(n, out))),
        sums(2 * size(out)) {
    if (last) norm = "";
  }
  float* row(Floats& f, int r) const { return f.data() + r * out; }
  static std::size_t size(int count) { return static_cast<std::size_t>(count); }

  const float* forward(const float* x, int rows) {
    for (int r = 0; r < rows; ++r) std::copy(b.value.begin(), b.value.end(), y.begin() + r * out);
    product(false, true, rows, out, in, x, w.value.data(), 1, y.data());
    if (norm == "layer_norm") normalize_rows(rows);
    if (norm == "batch_norm") normalize_columns(rows);
    float* o = y.data();
    const float *g = gain.value.data(), *s = shift.value.data();
    for (int r = 0; r < rows && !last; ++r, o += out) {
      if (norm.empty()) {
        for (int j = 0; j < out; ++j) o[j] = std::max(o[j], 0.F);
      } else {
        const float* h = row(hat, r);
        for (int j = 0; j < out; ++j) o[j] = std::max(h[j] * g[j] + s[j], 0.F);
      }
    }
    return y.data();
  }

  void normalize_rows(int rows) {
    for (int r = 0; r < rows; ++r) {
      const float* x = row(y, r);
      float *h = row(hat, r), sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
      for (int j = 0; j < out; ++j) sum += x[j];
      const float mean = sum / float(out);
#pragma omp simd reduction(+ : squares)
      for (int j = 0; j < out; ++j) squares += (x[j] - mean) * (x[j] - mean);
      const float k = scale[size(r)] = 1 / std::sqrt(squares / float(out) + 1e-5F);
      for (int j = 0; j < out; ++j) h[j] = (x[j] - mean) * k;
    }
  }

  void normalize_columns(int rows) {
    float *mean = sums.data(), *k = scale.data();
    const auto each = [&](auto f) {
      for (int r = 0; r < rows; ++r) {
        const float* x = row(y, r);
        float* h = row(hat, r);
        for (int j = 0; j < out; ++j) f(x[j], h[j], j);
      }
    };
    std::fill_n(mean, out, 0.F);
    std::fill_n(k, out, 0.F);
    each([=](float x, float&, int j) { mean[j] += x; });
    for (int j = 0; j < out; ++j) mean[j] /= float(rows);
    each([=](float x, float&, int j) { k[j] += (x - mean[j]) * (x - mean[j]); });
    for (int j = 0; j < out; ++j) k[j] = 1 / std::sqrt(k[j] / float(rows) + 1e-5F);
    each([=](float x, float& h, int j) { h = (x - mean[j]) * k[j]; });
  }

  /// From dy: the gradients of the parameters, and by x where dx is given.
  void backward(const float* x, float* dx) {
    for (std::size_t i = 0; i < dy.size() && !last; ++i) {
      const float g = dy[i];
      dy[i] = y[i] > 0 ? g : 0;
    }
    if (!norm.empty()) backward_norm();
    std::fill(b.grad.begin(), b.grad.end(), 0.F);
    for (int r = 0; r < n; ++r) {
      for (int j = 0; j < out; ++j) b.grad[size(j)] += row(dy, r)[j];
    }
    product(true, false, out, in, n, dy.data(), x, 0, w.grad.data());
    if (dx) product(false, false, n, in, out, dy.data(), w.value.data(), 0, dx);
  }

  void backward_norm() {
    float *dg = gain.grad.data(), *ds = shift.grad.data();
    const float* g = gain.value.data();
    std::fill_n(dg, out, 0.F);
    std::fill_n(ds, out, 0.F);
    const bool rows = norm == "layer_norm";
    for (int r = 0; r < n; ++r) {
      float* d = row(dy, r);
      const float* h = row(hat, r);
      float sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
      for (int j = 0; j < out; ++j) {
        dg[j] += d[j] * h[j];
        ds[j] += d[j];
        sum += d[j] * g[j];
        dot += d[j] * g[j] * h[j];
      }
      if (!rows) continue;
      const float k = scale[size(r)], a = sum / float(out), c = dot / float(out);
      for (int j = 0; j < out; ++j) d[j] = k * (d[j] * g[j] - a - h[j] * c);
    }
    for (int r = 0; r < n && !rows; ++r) {
      float* d = row(dy, r);
      const float* h = row(hat, r);
      const float part = 1 / float(n);
      for (int j = 0; j < out; ++j) {
        d[j] = g[j] * scale[size(j)] * (d[j] - part * (ds[j] + h[j] * dg[j]));
      }
    }
  }
};

class Net {
 public:
  explicit Net(const Row& row) : adam_(row.kind == "adam") {
    for (std::size_t i = 1; i < row.sizes.size(); ++i) {
      layers_.emplace_back(int(row.batch), int(row.sizes[i - 1]), int(row.sizes[i]), row.norm,
                           i + 1 == row.sizes.size());
    }
  }
  const float* forward(const float* x, int rows) {
    for (Layer& layer : layers_) x = layer.forward(x, rows);
    return x;
  }
  void step(const float* x, const std::int64_t* labels, float lr) {
    forward(x, layers_[0].n);
    softmax_gradient(labels);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      layers_[i].backward(i ? layers_[i - 1].y.data() : x, i ? layers_[i - 1].dy.data() : nullptr);
    }
    ++t_;
    for (Layer& layer : layers_) {
      for (Parameter* p : {&layer.w, &layer.b, &layer.gain, &layer.shift}) {
        if (layer.norm.empty() && (p == &layer.gain || p == &layer.shift)) continue;
        adam_ ? p->adam(lr, t_) : p->sgd(lr);
      }
    }
  }

 private:
  void softmax_gradient(const std::int64_t* labels) {
    Layer& end = layers_.back();
    for (int r = 0; r < end.n; ++r) {
      const float* x = &end.y[Layer::size(r * end.out)];
      float* d = &end.dy[Layer::size(r * end.out)];
      const float top = *std::max_element(x, x + end.out);
      float sum = 0;
      for (int j = 0; j < end.out; ++j) sum += d[j] = std::exp(x[j] - top);
      for (int j = 0; j < end.out; ++j) d[j] /= sum * float(end.n);
      d[labels[r]] -= 1 / float(end.n);
    }
  }

  std::vector<Layer> layers_;
  bool adam_;
  int t_ = 0;
};

Work step(const Row& row) {
  std::vector<std::int64_t> labels(std::size_t(row.batch));
  for (auto& label : labels) label = std::int64_t(generator()) % row.sizes.back();
  return {[net = std::make_shared<Net>(row), labels,
           x = random(std::size_t(row.batch * row.sizes[0]))] {
    net->step(x.data(), labels.data(), 1e-7F);
  }};
}

/// The products alone, on what the layers have.
Work products(const Row& row) {
  struct Weights {
    int in, out;
    Floats w, grad, y, dy;
  };
  std::vector<Weights> layers;
  for (std::size_t i = 1; i < row.sizes.size(); ++i) {
    const std::size_t in = std::size_t(row.sizes[i - 1]), out = std::size_t(row.sizes[i]);
    const std::size_t n = std::size_t(row.batch) * out;
    layers.push_back({int(in), int(out), random(in * out), Floats(in * out), Floats(n), random(n)});
  }
  const int n = int(row.batch);
  return {[=, x = random(std::size_t(row.batch * row.sizes[0]))]() mutable {
    const auto input = [&](std::size_t i) { return i ? layers[i - 1].y.data() : x.data(); };
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Weights& l = layers[i];
      product(false, true, n, l.out, l.in, input(i), l.w.data(), 0, l.y.data());
    }
    for (std::size_t i = layers.size(); row.backward && i-- > 0;) {
      Weights& l = layers[i];
      product(true, false, l.out, l.in, n, l.dy.data(), input(i), 0, l.grad.data());
      if (i)
        product(false, false, n, l.in, l.out, l.dy.data(), l.w.data(), 0, layers[i - 1].dy.data());
    }
  }};
}

Work epoch(const Row& row) try {
  const auto data = std::make_shared<xgrad::data::Split>(xgrad::data::fashion_mnist());
  const std::size_t n = std::size_t(data->train.size()), d = std::size_t(row.sizes[0]);
  const std::size_t batch = std::size_t(row.batch);
  auto run = [=, net = std::make_shared<Net>(row), x = Floats(batch * d),
              labels = std::vector<std::int64_t>(batch), order = std::vector<int>(n)]() mutable {
    const auto images = data->train.inputs.data<float>();
    const auto classes = data->train.labels.data<std::int64_t>();
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    for (std::size_t start = 0; start + batch <= n; start += batch) {
      for (std::size_t r = 0; r < batch; ++r) {
        const std::size_t from = std::size_t(order[start + r]);
        std::copy_n(&images[from * d], d, &x[r * d]);
        labels[r] = classes[from];
      }
      net->step(x.data(), labels.data(), 1e-3F);
    }
  };
  return {run};
} catch (const xgrad::FileError&) {
  return {};
}

/// What moves as much memory as the operation must: a copy, or a sum of all elements.
Work operation(const Row& row) {
  const std::size_t n = std::size_t(row.batch * row.sizes[0]);
  if (row.kind == "adam" || row.kind == "sgd") {
    auto p = std::make_shared<Parameter>(random(n));
    p->grad = random(n);
    return {[p, adam = row.kind == "adam", t = 0]() mutable {
      adam ? p->adam(1e-7F, ++t) : p->sgd(1e-7F);
    }};
  }
  if (row.backward) return {};
  auto x = std::make_shared<Floats>(random(n));
  if (row.kind.ends_with("rows") || row.kind.ends_with("columns")) {
    return {[x] {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t i = 0; i < x->size(); ++i) sum += (*x)[i];
      volatile float kept = sum;
      (void)kept;
    }};
  }
  return {[x, y = std::make_shared<Floats>(n)] {
    std::memcpy(y->data(), x->data(), x->size() * sizeof(float));
    asm volatile("" ::: "memory");  // the copy counts as read
  }};
}

Work work(const Row& row) {
  if (row.group == "node") return {};
  if (row.group == "op") return operation(row);
  if (row.group == "products") return products(row);
  if (row.group == "epoch") return epoch(row);
  if (row.group != "inference") return step(row);
  return {[net = std::make_shared<Net>(row), x = random(std::size_t(row.sizes[0]))] {
    net->forward(x.data(), 1);
  }};
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::work); }
