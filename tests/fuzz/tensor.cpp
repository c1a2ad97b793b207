#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "targets.hpp"
#include "xgrad/xgrad.hpp"

/// A machine with a few tensors: each byte names a call, and those that follow are its arguments.

namespace fuzz {

namespace {

namespace xg = xgrad;
using xg::Shape;
using xg::Tensor;

constexpr std::int64_t small = 1 << 12;  // elements of a tensor that is worth making here

class Machine {
 public:
  explicit Machine(Bytes bytes) : bytes_(bytes) {}

  void run() {
    for (int calls = 0; !bytes_.empty() && calls < 64; ++calls) {
      try {
        keep(made(byte()));
      } catch (const xg::Error&) {
        // a call that is refused
      }
    }
  }

 private:
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  bool coin() { return byte() % 2 == 0; }

  std::int64_t whole() {
    static constexpr std::int64_t unusual[] = {INT64_MIN,
                                               INT64_MIN + 1,
                                               INT64_MAX,
                                               INT64_MAX - 1,
                                               std::int64_t{1} << 62,
                                               std::int64_t{1} << 32,
                                               -(std::int64_t{1} << 32),
                                               std::int64_t{3} << 61};
    const int b = byte();
    return b < 240 ? b % 16 - 4 : unusual[b % 8];
  }
  double real() {
    static constexpr double unusual[] = {
        1e308, -1e308, 1e-310, __builtin_nan(""), __builtin_inf(), -__builtin_inf(), 9.3e18, -0.0};
    const int b = byte();
    return b < 240 ? (b - 120) / 8.0 : unusual[b % 8];
  }
  xg::Scalar scalar() {
    switch (byte() % 3) {
      case 0: return whole();
      case 1: return real();
      default: return coin();
    }
  }
  xg::DType dtype() { return static_cast<xg::DType>(byte() % 4); }
  xg::TensorOptions options() {
    xg::TensorOptions o{.requires_grad = byte() % 4 == 0};
    if (coin()) o.dtype = dtype();
    return o;
  }
  std::vector<std::int64_t> wholes(std::size_t most) {
    std::vector<std::int64_t> list(byte() % (most + 1));
    for (std::int64_t& n : list) n = whole();
    return list;
  }
  /// Small, or beyond what memory there can be: what lies between is allocated, or not, by the
  /// system.
  Shape shape() {
    const Shape sizes = wholes(10);
    double elements = 1;
    for (std::int64_t s : sizes) elements *= s > 0 ? static_cast<double>(s) : 1;
    if (elements > small && elements <= 0x1p62) throw xg::Error("skipped");
    return sizes;
  }
  const Tensor& any() { return tensors_[byte() % std::size(tensors_)]; }
  void keep(const Tensor& x) {
    if (!x.defined()) return;
    require(x.numel() >= 0 && x.to_vector<double>().size() == static_cast<std::size_t>(x.numel()));
    if (x.numel() <= small) tensors_[next_++ % std::size(tensors_)] = x;
  }
  static void require(bool held) {
    if (!held) std::abort();
  }

  // Arguments are drawn before the call: in which order a call evaluates its own is up to the
  // compiler.

  Tensor literal() {
    const xg::TensorOptions o = options();
    const double r[] = {real(), real(), real()};
    const std::int64_t n[] = {whole(), whole(), whole()};
    const bool yes = coin();
    switch (byte() % 10) {
      case 0: return xg::tensor({r[0], r[1], r[2]}, o);
      case 1: return xg::tensor({{n[0], n[1]}, {n[2], n[0]}, {n[1], n[2]}}, o);
      case 2: return xg::tensor({{yes, !yes}, {yes}}, o);  // ragged
      case 3: return xg::tensor({{{r[0]}, {r[1]}}, {{n[0]}, {yes}}}, o);
      case 4: return xg::tensor({{n[0]}, n[1]}, o);  // a number beside a list
      case 5: return xg::tensor(scalar(), o);
      case 6: return xg::tensor({{{{{{{{{n[0]}}}}}}}}}, o);  // nine dimensions
      case 7: return xg::tensor(std::initializer_list<xg::detail::Nested>{}, o);
      case 8: return xg::tensor(wholes(12), o);
      default: return xg::tensor(std::vector<double>{r[0], r[1]}, o);
    }
  }

  Tensor created() {
    const int what = byte() % 9;
    const xg::TensorOptions o = options();
    const std::int64_t n[] = {whole(), whole(), whole()};
    const xg::Scalar value = scalar();
    switch (what) {
      case 0: return xg::zeros(shape(), o);
      case 1: return xg::ones(shape(), o);
      case 2: return xg::full(shape(), value, o);
      case 3: {
        Tensor x = xg::empty(shape(), o).detach();
        return x.fill_(value);
      }
      case 4: return xg::arange(n[0] % 8, n[0] % 8 + n[1] % small, n[2], o);
      case 5: return xg::linspace(value.to<double>(), real(), n[0] % small, o);
      case 6: return xg::eye(n[0] % 64, n[1] % 64, o);
      case 7: return xg::randperm(n[0] % small, o);
      default: return xg::full_like(any(), value, o);
    }
  }

  Tensor reshaped() {
    const int what = byte() % 12;
    const Tensor x = any();
    const std::int64_t a = whole();
    const std::int64_t b = whole();
    switch (what) {
      case 0: return x.reshape(wholes(10));
      case 1: return x.view(wholes(10));
      case 2: return x.flatten(a, b);
      case 3: return x.transpose(a, b);
      case 4: return x.permute(wholes(10));
      case 5: return coin() ? x.squeeze() : x.squeeze(a);
      case 6: return x.unsqueeze(a);
      case 7: return x.numel() > 64 ? x : x.expand(shape());
      case 8: return x.numel() > 64 ? x : x.repeat(shape());
      case 9: return x.flip(wholes(10));
      case 10: return x.tolist(), x;
      default: return coin() ? xg::tril(x, a) : xg::triu(x, a);
    }
  }

  xg::Slice slice() {
    xg::Slice s;
    if (coin()) s.start = whole();
    if (coin()) s.stop = whole();
    if (coin()) s.step = whole();
    return s;
  }
  xg::Index entry() {
    switch (byte() % 6) {
      case 0: return whole();
      case 1: return xg::Ellipsis();
      case 2: return std::nullopt;
      case 3: return any();
      default: return slice();
    }
  }

  Tensor part() {
    const int what = byte() % 11;
    const Tensor x = any();
    const Tensor y = any();
    const std::int64_t n[] = {whole(), whole(), whole()};
    switch (what) {
      case 0: return x.select(n[0], n[1]);
      case 1: return x.narrow(n[0], n[1], n[2]);
      case 2: return x.index({entry()});
      case 3: return x.index({entry(), entry(), entry()});
      case 4: return x.index_select(n[0], y);
      case 5: return x.gather(n[0], y);
      case 6: return first(x.split(n[0], n[1]));
      case 7: return first(x.chunk(n[0], n[1]));
      case 8: return first(xg::split(x, wholes(4), n[0]));
      case 9: return xg::cat({x, y, any()}, n[0]);
      default: return xg::stack({x, y}, n[0]);
    }
  }
  static Tensor first(const std::vector<Tensor>& parts) {
    return parts.empty() ? Tensor() : parts.front();
  }

  Tensor changed() {
    const int what = byte() % 10;
    const Tensor x = any();
    const Tensor y = any();
    const xg::Scalar value = scalar();
    Tensor copy = x.detach().clone();
    switch (what) {
      case 0: return x.to(dtype());
      case 1: return copy.copy_(y);
      case 2: return copy.fill_(value);
      case 3: return copy.index_put_({entry(), entry()}, y);
      case 4: return copy.index_put_({entry()}, value);
      case 5: return x.masked_fill(y, value);
      case 6: return xg::where(y, x, any());
      case 7: return copy += y;
      case 8: return xg::tensor(x.item<double>());
      default: {
        std::ostringstream text;
        text << x;
        require(!text.str().empty());
        return x;
      }
    }
  }

  Tensor made(std::uint8_t what) {
    switch (what % 6) {
      case 0: return literal();
      case 1: return created();
      case 2: return reshaped();
      case 3: return part();
      case 4: return changed();
      default: {
        any().sum().backward();
        return {};
      }
    }
  }

  Bytes bytes_;
  Tensor tensors_[6];  // undefined at first
  std::size_t next_ = 0;
};

}  // namespace

void tensor(Bytes bytes) {
  Machine(bytes).run();
  if (xg::live_bytes() != 0) std::abort();
}

}  // namespace fuzz
