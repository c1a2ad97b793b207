#include "golden_test/golden.hpp"

/// Kind "raises": `formula` says in words what must fail.

namespace golden {

using xg::Tensor;

namespace {

/// The shape in "ones(2)", "shape (3,)", "tensor of 2 elements": the numbers after these words.
xg::Shape shape_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) throw Unknown{text};
  const std::string rest = text.substr(at + words.size());
  xg::Shape shape;
  for (double size : numbers_in(rest.substr(0, rest.find_first_of(");")))) {
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

void in_place(Tensor& x, const std::string& formula) {
  if (mentions(formula, "sub_(")) {
    x.sub_(1);
  } else if (mentions(formula, "mul_(")) {
    x.mul_(2);
  } else if (mentions(formula, "zero_(")) {
    x.zero_();
  } else {
    x.add_(1);
  }
}

void binary(const std::string& formula, const Json& shapes) {
  const Tensor a = xg::ones(shape_from(shapes.at(0)));
  const Tensor b = xg::ones(shape_from(shapes.at(1)));
  if (mentions(formula, "minus")) {
    sub(a, b);
  } else if (mentions(formula, "plus")) {
    add(a, b);
  } else if (mentions(formula, "times")) {
    mul(a, b);
  } else if (mentions(formula, "divided")) {
    div(a, b);
  } else {
    throw Unknown{formula};
  }
}

void autograd(const std::string& formula) {
  if (mentions(formula, "int64") && mentions(formula, "requires_grad=True")) {
    xg::ones({2}, {.dtype = xg::int64, .requires_grad = true});
    return;
  }
  if (mentions(formula, "item()")) {
    const std::int64_t count = static_cast<std::int64_t>(numbers_in(formula).at(0));
    xg::ones({count}).item<double>();
    return;
  }
  const bool requires_grad = !mentions(formula, "not requiring grad");
  Tensor x = xg::ones(shape_after(formula, "ones("), {.requires_grad = requires_grad});
  if (mentions(formula, "y.backward(); y.backward()")) {
    const Tensor y = (x * x).sum();
    y.backward();
    y.backward();
  } else if (mentions(formula, "y=x.exp()")) {
    Tensor y = x.exp();
    in_place(y, formula);
    y.sum().backward();
  } else if (mentions(formula, "a leaf")) {
    in_place(x, formula);
  } else if (mentions(formula, "without a cotangent")) {
    (x * 2).backward();
  } else if (mentions(formula, "cotangent of shape")) {
    (x * 2).backward(xg::ones(shape_after(formula, "cotangent of shape (")));
  } else if (!requires_grad) {
    x.sum().backward();
  } else {
    throw Unknown{formula};
  }
}

}  // namespace

void run_raises(Case& c) {
  const std::string formula = c["formula"];
  c.expect_raises([&] {
    if (c.has("shapes")) return binary(formula, c["shapes"]);
    if (c.has("optimizer")) {
      return refuse_optimizer(c["optimizer"], c["hyper"],
                              mentions(formula, "empty parameter list"));
    }
    if (mentions(formula, "calculate_gain") || mentions(formula, "xavier") ||
        mentions(formula, "kaiming")) {
      const bool shaped = mentions(formula, "of shape (");
      return refuse_init(formula,
                         shaped ? std::optional(shape_after(formula, "of shape (")) : std::nullopt);
    }
    return autograd(formula);
  });
}

}  // namespace golden
