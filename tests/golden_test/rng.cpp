#include <algorithm>
#include <cmath>

#include "golden_test/golden.hpp"

/// The file rng.json: seed the generator, then make the draws in order.

namespace golden {

namespace nn = xg::nn;
using xg::Tensor;

namespace {

/// "kaiming_uniform_(a=sqrt(5)) of (4, 3)": the name, the text between the brackets with the
/// numbers in it, and the shape after "of".
struct Draw {
  std::string name;
  std::string arguments;
  std::vector<std::int64_t> whole;
  std::vector<double> numbers;
  xg::Shape shape;
};

Draw parse(const std::string& text) {
  Draw draw;
  const std::size_t open = text.find('(');
  const std::size_t of = text.find(" of ");
  draw.name = text.substr(0, std::min(open, of));
  if (open < of && open != std::string::npos) {
    draw.arguments = text.substr(open + 1, of == std::string::npos ? of : of - open - 1);
    draw.numbers = numbers_in(draw.arguments);
    for (double n : draw.numbers) draw.whole.push_back(static_cast<std::int64_t>(n));
  }
  if (of != std::string::npos) {
    for (double n : numbers_in(text.substr(of))) draw.shape.push_back(static_cast<int>(n));
  }
  return draw;
}

/// The value of `key=` among the arguments: a word, a number or the root of one.
std::string text_argument(const Draw& draw, const std::string& key, const std::string& fallback) {
  const std::size_t at = draw.arguments.find(key + "=");
  if (at == std::string::npos) return fallback;
  const std::size_t start = at + key.size() + 1;
  return draw.arguments.substr(start, draw.arguments.find_first_of(",)", start) - start);
}
double real_argument(const Draw& draw, const std::string& key, double fallback) {
  const std::string text = text_argument(draw, key, "");
  if (text.empty()) return fallback;
  const double value = numbers_in(text).at(0);
  return text.rfind("sqrt", 0) == 0 ? std::sqrt(value) : value;
}

nn::init::KaimingOptions kaiming(const Draw& draw) {
  return {.a = real_argument(draw, "a", 0),
          .mode = text_argument(draw, "mode", "fan_in"),
          .nonlinearity = text_argument(draw, "nonlinearity", "leaky_relu")};
}

Tensor make(const Draw& draw, xg::DType dtype) {
  const std::vector<std::int64_t>& n = draw.whole;
  if (draw.name == "rand") return xg::rand(n, {.dtype = dtype});
  if (draw.name == "randn") return xg::randn(n, {.dtype = dtype});
  if (draw.name == "randperm") return xg::randperm(n.at(0));
  if (draw.name == "randint") {
    return xg::randint(n.at(0), n.at(1), std::vector<std::int64_t>(n.begin() + 2, n.end()));
  }
  Tensor x = xg::empty(draw.shape, {.dtype = dtype});
  if (draw.name == "uniform_") return nn::init::uniform_(x, draw.numbers.at(0), draw.numbers.at(1));
  if (draw.name == "normal_") return nn::init::normal_(x, draw.numbers.at(0), draw.numbers.at(1));
  if (draw.name == "kaiming_uniform_") return nn::init::kaiming_uniform_(x, kaiming(draw));
  if (draw.name == "kaiming_normal_") return nn::init::kaiming_normal_(x, kaiming(draw));
  if (draw.name == "xavier_uniform_") {
    return nn::init::xavier_uniform_(x, real_argument(draw, "gain", 1));
  }
  if (draw.name == "xavier_normal_") {
    return nn::init::xavier_normal_(x, real_argument(draw, "gain", 1));
  }
  if (draw.name == "trunc_normal_") {
    return nn::init::trunc_normal_(x, real_argument(draw, "mean", 0), real_argument(draw, "std", 1),
                                   real_argument(draw, "a", -2), real_argument(draw, "b", 2));
  }
  if (draw.name == "Embedding") return nn::Embedding(n.at(0), n.at(1)).weight.detach();
  throw Unknown{"draw " + draw.name};
}

/// "... from one seed: Linear(5,6), Linear(1,1)": makes the layers in that order and compares the
/// one that the case, "linear_1_1", is named after.
void linear_draws(Case& c) {
  const std::string after = c["after"];
  std::string name = c.name();
  std::replace(name.begin(), name.end(), '_', ' ');
  const std::vector<double> mine = numbers_in(name);
  bool found = false;
  for (std::size_t at = after.find("Linear("); at != std::string::npos;
       at = after.find("Linear(", at + 1)) {
    const std::vector<double> sizes = numbers_in(after.substr(at, after.find(')', at) - at));
    const nn::Linear linear(static_cast<int>(sizes.at(0)), static_cast<int>(sizes.at(1)));
    if (found || sizes != mine) continue;
    found = true;
    for (const Json& json : c["draws"]) {
      c.expect(json.at("draw"), json["draw"] == "weight" ? linear.weight : linear.bias, json);
    }
  }
  if (!found) throw Unknown{"layer " + c.name()};
}

/// The lesson that normalizes the output of a layer by hand, and what it prints.
void lesson_draws(Case& c) {
  const Json& draws = c["draws"];
  const Tensor batch = make(parse(draws.at(0).at("draw")), dtype_from(draws[0].at("dtype")));
  nn::Sequential net(nn::Linear(batch.size(1), draws.at(1).at("shape").at(1)), nn::ReLU());
  const Tensor out = net(batch);
  const Tensor m = out.mean({.dim = -1, .keepdim = true});
  const Tensor v = out.var({.dim = -1, .keepdim = true});
  const Tensor norm = (out - m) / sqrt(v);
  c.expect("batch", batch, draws[0]);
  c.expect("out", out, draws[1]);
  c.expect("norm", norm, draws.at(2));
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"batch", to_string(batch)}, {"out", to_string(out)},   {"mean", to_string(m)},
      {"var", to_string(v)},       {"norm", to_string(norm)}, {"net", to_string(net)},
  };
  for (const auto& [name, text] : texts) {
    if (c["printed"].contains(name)) c.expect_text("printed " + name, text, c["printed"][name]);
  }
}

}  // namespace

void run_rng(Case& c) {
  xg::manual_seed(c["seed"].get<std::uint64_t>());
  if (c.has("after")) return linear_draws(c);
  if (c.has("printed")) return lesson_draws(c);
  for (const Json& json : c["draws"]) {
    const std::string text = json.at("draw");
    c.expect(text, make(parse(text), dtype_from(json.at("dtype"))), json);
  }
}

}  // namespace golden
