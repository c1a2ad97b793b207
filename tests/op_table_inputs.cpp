#include <algorithm>
#include <cmath>
#include <map>

#include "op_table.hpp"

/// The inputs that the rows of the table are tried with.

namespace op_table {

using xg::Tensor;

namespace {

Tensor values_of(const In& in, const xg::Shape& shape, xg::Generator& generator) {
  if (in.dtype == xg::float64) return real_values(in, shape, generator);
  Tensor x = xg::empty(shape, {.dtype = xg::int64});
  const auto range = static_cast<std::uint32_t>(in.high - in.low);
  for (std::int64_t& v : x.mut<std::int64_t>()) {
    v = static_cast<std::int64_t>(in.low) + generator.next_u32() % range;
  }
  return x.to(in.dtype);
}

}  // namespace

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (auto part : {arithmetic_rows, elementwise_rows, reduction_rows, shape_rows, network_rows}) {
    for (Row& row : part()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<xg::Shape> shapes_of(const Row& row) {
  std::vector<xg::Shape> shapes;
  for (const In& in : row.inputs) shapes.push_back(in.shape);
  return shapes;
}

std::vector<std::string> names_of(const Row& row) {
  const std::string name = row.name;
  const auto is_one_of = [&](std::initializer_list<const char*> kinds) {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const char* kind) { return name.find(kind) != std::string::npos; });
  };
  std::vector<std::string> names{"a", "b"};
  if (row.inputs.size() == 1) names = {"x"};
  if (is_one_of({"_norm", "linear"})) names = {"x", "weight", "bias"};
  if (is_one_of({"attention"})) names = {"q", "k", "v"};
  if (is_one_of({"_loss", "cross_entropy", "kl_div"})) names = {"input", "target"};
  if (is_one_of({"gather", "index_select"})) names = {"x", "index"};
  if (is_one_of({"embedding"})) names = {"weight", "indices"};
  for (std::size_t i = names.size(); i < row.inputs.size(); ++i) {
    names.push_back("input " + std::to_string(i));
  }
  return names;
}

Tensor real_values(const In& in, const xg::Shape& shape, xg::Generator& generator) {
  Tensor x = xg::empty(shape, {.dtype = xg::float64});
  const std::span<double> values = x.mut<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double position = static_cast<double>(i) + 0.2 + 0.6 * generator.uniform<double>();
    double& v = values[i];
    v = in.low + (in.high - in.low) * position / static_cast<double>(values.size());
    if (std::abs(v) < 0.05) v = v < 0 ? v - 0.05 : v + 0.05;
    std::swap(v, values[generator.next_u32() % (i + 1)]);
  }
  return x;
}

Tensors inputs_of(const Row& row, const std::vector<xg::Shape>& shapes, std::uint64_t seed) {
  xg::Generator generator(seed);
  Tensors inputs;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    inputs.push_back(values_of(row.inputs[i], shapes.at(i), generator));
  }
  return inputs;
}

Tensors leaves(const Tensors& inputs, std::uint32_t mask) {
  Tensors copies;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool wants = is_floating_point(inputs[i].dtype()) && ((mask >> i) & 1U) != 0;
    copies.push_back(inputs[i].clone().requires_grad_(wants));
  }
  return copies;
}

std::vector<xg::Shape> shapes_like(const Row& row, const xg::Shape& first) {
  std::vector<std::vector<xg::Shape>> sets = row.more;
  sets.insert(sets.begin(), shapes_of(row));
  std::string ranks;
  for (std::vector<xg::Shape>& set : sets) {
    ranks.append(" ").append(set.front().str());
    std::map<std::int64_t, std::int64_t> instead;
    bool fits = set.front().dim() == first.dim();
    for (int d = 0; fits && d < first.dim(); ++d) {
      const auto [at, fresh] = instead.emplace(set.front()[d], first[d]);
      fits = fresh || at->second == first[d];
    }
    if (!fits) continue;
    for (xg::Shape& shape : set) {
      for (std::int64_t& size : shape) {
        if (const auto at = instead.find(size); at != instead.end()) size = at->second;
      }
    }
    return set;
  }
  throw xg::ShapeError(std::string(row.name) + ": the first input cannot have shape " +
                       first.str() + "; shapes like these are known:" + ranks);
}

}  // namespace op_table
