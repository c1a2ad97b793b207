#include <algorithm>
#include <numeric>

#include "detail/message.hpp"
#include "xgrad/autograd.hpp"
#include "xgrad/nn/module.hpp"

namespace xgrad::nn {

/// Levenshtein's: insertions, deletions and replacements between two words.
static std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

/// The most similar of the names, if it differs in less than half of its letters.
static std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = name.size() / 2 + 1;
  for (const std::string& other : names) {
    const std::size_t d = distance(name, other);
    if (d < least) least = d, best = other;
  }
  return best;
}

/// `2 missing (a, b)` behind what is there already.
static void list(std::string& text, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text += (text.empty() ? "" : ", ") + std::to_string(names.size()) + " " + what + " (";
  for (const std::string& name : names) text += (&name == &names.front() ? "" : ", ") + name;
  text += ")";
}

StateDict Module::state_dict() const {
  StateDict out = collected(true, true, false);
  for (auto& entry : out) entry.second = entry.second.detach();
  return out;
}

LoadResult Module::load_state_dict(const StateDict& state, LoadOptions options) {
  StateDict mine = collected(true, true, false);
  LoadResult result;
  std::vector<std::string> misshapen;
  for (const auto& [name, tensor] : mine) {
    const Tensor* value = find(state, name);
    if (!value || !value->defined()) {
      result.missing.push_back(name);
    } else if (value->shape() != tensor.shape()) {
      misshapen.push_back(name + ": file " + value->shape().str() + ", module " +
                          tensor.shape().str());
    }
  }
  std::vector<std::string> hinted, twice;
  for (const auto& [name, tensor] : state) {
    if (find(state, name) != &tensor) twice.push_back(name);
    if (find(mine, name)) continue;
    const std::string guess = nearest(name, result.missing);
    hinted.push_back(name + (guess.empty() ? "" : "; did you mean " + guess + "?"));
    result.unexpected.push_back(name);
  }
  std::string text;
  if (options.strict) {
    list(text, "missing", result.missing);
    list(text, "unexpected", hinted);
  }
  list(text, "misshapen", misshapen);
  list(text, "twice", twice);
  throw_if<Error>(!text.empty(), "load_state_dict: ", text, ".");

  const NoGrad no_grad;
  for (auto& [name, tensor] : mine) {
    if (const Tensor* value = find(state, name); value && value->defined()) tensor.copy_(*value);
  }
  return result;
}

}  // namespace xgrad::nn
