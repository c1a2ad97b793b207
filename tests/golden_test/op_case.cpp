#include "golden_test/golden.hpp"

/// Kind "op": outputs, gradients by the fast path (nothing recorded) and by the recorded one, and
/// second derivatives.

namespace golden {

xg::Tensor Inputs::optional(const char* name) const {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return tensors[i];
  }
  return {};
}

namespace {

const Op& find_op(const std::string& name) {
  for (const std::vector<Op>* table : {&op_table(), &graph_table()}) {
    for (const Op& op : *table) {
      if (name == op.name) return op;
    }
  }
  throw Unknown{"op " + name};
}

/// The outputs that have a gradient, with its value.
struct Seeds {
  std::vector<xg::Tensor> outputs;
  std::vector<xg::Tensor> gradients;
  std::vector<std::size_t> positions;  // in the case's list
};

Seeds seeds_of(Case& c, const std::vector<xg::Tensor>& outputs, bool requires_grad) {
  Seeds seeds;
  const Json& list = c["grad_output"];
  for (std::size_t i = 0; i < list.size() && i < outputs.size(); ++i) {
    if (list[i].is_null() || !outputs[i].requires_grad()) continue;
    seeds.outputs.push_back(outputs[i]);
    seeds.gradients.push_back(c.tensor(list[i]).requires_grad_(requires_grad));
    seeds.positions.push_back(i);
  }
  return seeds;
}

bool unreached(const Json& expected) { return expected.is_null() || expected["values"].is_null(); }

bool all_zero(const xg::Tensor& x) {
  for (double v : x.to_vector<double>()) {
    if (v != 0) return false;
  }
  return true;
}

/// An input that is not reached may have no gradient or one of zeros.
void expect_gradient(Case& c, const std::string& what, const xg::Tensor& got,
                     const Json& expected) {
  if (!unreached(expected)) return c.expect(what, got, expected);
  if (got.defined() && !all_zero(got)) c.fail(what + ": expected no gradient, got values");
}

/// Second derivatives that vanish may be undefined.
void expect_second(Case& c, const std::string& what, const xg::Tensor& got, const Json& expected) {
  if (got.defined() || unreached(expected)) return expect_gradient(c, what, got, expected);
  c.expect(what, xg::zeros_like(c.tensor(expected)), expected);
}

struct Variables {
  std::vector<xg::Tensor> tensors;
  std::vector<std::string> names;
};

std::vector<xg::Tensor> gradients(const Seeds& seeds, const Variables& variables,
                                  bool create_graph) {
  if (seeds.outputs.empty()) return std::vector<xg::Tensor>(variables.tensors.size());
  return xg::grad(
      seeds.outputs, variables.tensors, seeds.gradients,
      {.create_graph = create_graph, .retain_graph = !create_graph, .allow_unused = true});
}

void expect_first_order(Case& c, const std::string& path, const std::vector<xg::Tensor>& got,
                        const Variables& variables) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string& name = variables.names[i];
    expect_gradient(c, "grad of " + name + path, got[i], named(c["grads"], name));
  }
}

void expect_second_order(Case& c, const Seeds& seeds, const std::vector<xg::Tensor>& first,
                         const Variables& variables) {
  const Json& expected = c["second_order"];
  xg::Tensor s;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Json& v = named(expected["v"], variables.names[i]);
    if (!first[i].defined() || unreached(v)) continue;
    const xg::Tensor term = xg::sum(first[i] * c.tensor(v));
    s = s.defined() ? s + term : term;
  }
  Variables all = variables;
  all.tensors.insert(all.tensors.end(), seeds.gradients.begin(), seeds.gradients.end());
  std::vector<xg::Tensor> got(all.tensors.size());
  if (s.defined() && s.requires_grad()) got = xg::grad(s, all.tensors, {.allow_unused = true});
  for (std::size_t i = 0; i < variables.tensors.size(); ++i) {
    const std::string& name = variables.names[i];
    expect_second(c, "second-order grad of " + name, got[i], named(expected["grads"], name));
  }
  for (std::size_t i = 0; i < seeds.positions.size(); ++i) {
    const std::size_t position = seeds.positions[i];
    expect_second(c, "second-order grad of grad_output " + std::to_string(position),
                  got[variables.tensors.size() + i], expected["grad_output_grads"].at(position));
  }
}

}  // namespace

void run_op(Case& c) {
  const Op& op = find_op(c["op"]);
  Inputs inputs;
  Variables variables;
  for (const Json& json : c["inputs"]) {
    const xg::Tensor x = c.tensor(json);
    inputs.tensors.push_back(x);
    inputs.names.push_back(json.at("name"));
    if (!json.value("requires_grad", false)) continue;
    x.requires_grad_();
    variables.tensors.push_back(x);
    variables.names.push_back(json.at("name"));
  }
  if (c.has("raises")) {
    return c.expect_raises([&] { op.call(inputs, c["attrs"]); });
  }

  const std::vector<xg::Tensor> outputs = op.call(inputs, c["attrs"]);
  const Json& expected = c["outputs"];
  if (outputs.size() != expected.size()) {
    return c.fail("expected " + std::to_string(expected.size()) + " outputs, got " +
                  std::to_string(outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    c.expect(outputs.size() == 1 ? "output" : "output " + std::to_string(i), outputs[i],
             expected[i]);
  }
  if (!c.has("grads")) return;

  const Seeds plain = seeds_of(c, outputs, false);
  expect_first_order(c, "", gradients(plain, variables, false), variables);
  const Seeds recorded = seeds_of(c, outputs, true);
  const std::vector<xg::Tensor> first = gradients(recorded, variables, true);
  expect_first_order(c, " (recorded)", first, variables);
  if (c.has("second_order")) expect_second_order(c, recorded, first, variables);
}

void run_accumulate(Case& c) {
  // loss_j = (j + 1) * sum((x * w - y)^2)
  if (!mentions(c["formula"], "sum((x*w - y)^2)")) throw Unknown{c["formula"]};
  std::vector<xg::Tensor> inputs;
  for (const char* name : {"x", "w", "y"}) {
    const Json& json = named(c["inputs"], name);
    inputs.push_back(c.tensor(json).requires_grad_(json.value("requires_grad", false)));
  }
  const xg::Tensor &x = inputs[0], &w = inputs[1], &y = inputs[2];
  for (std::size_t j = 0; j < c["steps"].size(); ++j) {
    const Json& step = c["steps"][j];
    const xg::Tensor loss = static_cast<double>(j + 1) * xg::sum(xg::square(x * w - y));
    loss.backward();
    const std::string at = " after backward " + std::to_string(j + 1);
    c.expect("loss" + at, loss.item<double>(), number(step["loss"]));
    for (const Json& grad : step["grads"]) {
      const xg::Tensor& of = grad.at("name") == "x" ? x : grad.at("name") == "w" ? w : y;
      c.expect("grad of " + grad.at("name").get<std::string>() + at, of.grad(), grad);
    }
  }
}

}  // namespace golden
