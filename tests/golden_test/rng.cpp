#include "golden_test/golden.hpp"

/// The file rng.json: seed the generator, then make the draws in order.

namespace golden {

using xg::Tensor;

namespace {

/// What is between the outermost brackets, and what is after: "randn(3, float64)" is name "randn",
/// numbers {3}; "uniform_(-2, 3) of (4, 5)" has the shape {4, 5}.
struct Draw {
  std::string name;
  std::string arguments;
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
  }
  if (of != std::string::npos) {
    for (double n : numbers_in(text.substr(of))) draw.shape.push_back(static_cast<int>(n));
  }
  return draw;
}

Tensor make(const Draw& draw, xg::DType dtype) {
  std::vector<std::int64_t> n;
  for (double value : draw.numbers) n.push_back(static_cast<std::int64_t>(value));
  if (draw.name == "rand") return xg::rand(n, {.dtype = dtype});
  if (draw.name == "randn") return xg::randn(n, {.dtype = dtype});
  if (draw.name == "randperm") return xg::randperm(n.at(0));
  if (draw.name == "randint") {
    const std::vector<std::int64_t> shape(n.begin() + 2, n.end());
    return xg::randint(n.at(0), n.at(1), shape);
  }
  throw Unknown{"draw " + draw.name};
}

}  // namespace

void run_rng(Case& c) {
  xg::manual_seed(c["seed"].get<std::uint64_t>());
  for (const Json& json : c["draws"]) {
    const std::string text = json.at("draw");
    c.expect(text, make(parse(text), dtype_from(json.at("dtype"))), json);
  }
}

}  // namespace golden
