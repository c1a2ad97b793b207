#pragma once

/// Runs cases of the golden data, whose format tests/golden/README.md gives. Every kind of case is
/// one function `void(Case&)`; what is wrong with the case is told to it.

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "xgrad/xgrad.hpp"

namespace golden {

namespace xg = xgrad;
using Json = nlohmann::json;

/// Thrown for an op, a module or a draw that this program does not know.
struct Unknown {
  std::string what;
};

class Case {
 public:
  Case(std::string name, const Json& data, std::filesystem::path folder, double rtol, double atol)
      : name_(std::move(name)), data_(data), folder_(std::move(folder)), rtol_(rtol), atol_(atol) {}

  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return folder_; }
  const Json& json() const { return data_; }
  bool has(const char* key) const { return data_.contains(key) && !data_[key].is_null(); }
  const Json& operator[](const char* key) const { return data_.at(key); }
  /// The type of tensors that name none.
  xg::DType dtype() const;
  /// A tensor of the case; `values` null means all elements are `fill`.
  xg::Tensor tensor(const Json& json) const;

  /// Compares shape, dtype and values; the tolerance is the case's unless `expected` has its own.
  void expect(const std::string& what, const xg::Tensor& got, const Json& expected);
  void expect(const std::string& what, double got, double expected);
  void expect_true(const std::string& what, bool holds);
  void expect_text(const std::string& what, const std::string& got, const std::string& expected);
  /// f must throw an xgrad::Error.
  template <class F>
  void expect_raises(F f) {
    try {
      f();
    } catch (const xg::Error&) {
      return;
    }
    fail("no error, expected one like: " + data_.value("raises", Json()).value("message", ""));
  }
  void fail(const std::string& line) { failures_.push_back(name_ + ": " + line); }

  const std::vector<std::string>& failures() const { return failures_; }

 private:
  bool close(double got, double expected, double rtol, double atol) const;

  std::string name_;
  const Json& data_;
  std::filesystem::path folder_;
  double rtol_;
  double atol_;
  std::vector<std::string> failures_;
};

// ---- reading ------------------------------------------------------------------------------------

xg::DType dtype_from(const std::string& name);
/// A number, or one of "nan", "inf", "-inf".
double number(const Json& json);
/// The same, keeping whole numbers whole.
xg::Scalar scalar(const Json& json);
/// json[key] into the option, where it is given.
inline void take(const Json& json, const char* key, double& option) {
  if (json.contains(key) && !json[key].is_null()) option = number(json[key]);
}
template <class T>
void take(const Json& json, const char* key, T& option) {
  if (json.contains(key) && !json[key].is_null()) option = json[key].get<T>();
}
template <class T>
void take(const Json& json, const char* key, std::optional<T>& option) {
  if (json.contains(key) && !json[key].is_null()) take(json, key, option.emplace());
}
xg::Shape shape_from(const Json& json);
/// Null is all dimensions, a number one, a list several.
xg::Dims dims_from(const Json& json);
/// A tensor of this dtype unless it names one.
xg::Tensor tensor_from(const Json& json, xg::DType dtype);
/// The entry of a list whose `name` (or `input`) is this; null where there is none.
const Json& named(const Json& list, const std::string& name);
/// The numbers in a text, in order: "shape (3, 4)" gives 3 and 4.
std::vector<double> numbers_in(const std::string& text);
bool mentions(const std::string& text, const std::string& words);

// ---- the kinds ----------------------------------------------------------------------------------

using Runner = void (*)(Case&);
struct Kind {
  const char* name;
  Runner run;
  const char* variant = nullptr;  // the field that tells cases of this kind apart in the summary
};

/// The inputs of an op, by position or by name; an absent one is undefined.
struct Inputs {
  std::vector<xg::Tensor> tensors;
  std::vector<std::string> names;

  const xg::Tensor& operator[](std::size_t i) const { return tensors.at(i); }
  xg::Tensor optional(const char* name) const;
};
/// How an op is called; f, a lambda without captures, returns one tensor or several.
struct Op {
  const char* name;
  std::vector<xg::Tensor> (*call)(const Inputs& in, const Json& attrs);

  template <class F>
  requires std::is_empty_v<F> Op(const char* op, F)
      : name(op),
        call([](const Inputs& in, const Json& attrs) { return listed(F()(in, attrs)); }) {}

 private:
  static std::vector<xg::Tensor> listed(xg::Tensor y) { return {std::move(y)}; }
  static std::vector<xg::Tensor> listed(std::vector<xg::Tensor> ys) { return ys; }
  static std::vector<xg::Tensor> listed(xg::ValuesAndIndices y) { return {y.values, y.indices}; }
};
/// One row per op. To add one, add its row.
const std::vector<Op>& op_table();
const std::vector<Op>& graph_table();

void run_op(Case& c);
void run_accumulate(Case& c);
void run_raises(Case& c);
void run_rng(Case& c);
void run_print(Case& c);
void run_batch_norm_sequence(Case& c);
void run_training(Case& c);
void run_state(Case& c);
void run_lesson_layernorm(Case& c);
void run_lesson_linear_relu(Case& c);
void run_lesson_square(Case& c);
void run_lesson_bn_ln(Case& c);
void run_calculate_gain(Case& c);
void run_fan(Case& c);
void run_kaiming(Case& c);
void run_xavier(Case& c);
void run_linear_default(Case& c);
void run_embedding_default(Case& c);
void run_norm_default(Case& c);
/// Arguments of torch.set_printoptions.
xg::PrintChanges print_changes(const Json& options);
void run_optimizer(Case& c);
void run_scheduler(Case& c);
void run_clip_grad_norm(Case& c);
void run_clip_grad_value(Case& c);
/// An optimizer over one group.
std::unique_ptr<xg::optim::Optimizer> make_optimizer(const std::string& name, const Json& hyper,
                                                     std::vector<xg::Tensor> params);
/// Makes an optimizer that must be refused.
void refuse_optimizer(const std::string& optimizer, const Json& hyper, bool no_params);
/// Fills a tensor of this shape (by default 4 by 3) in a way that must be refused.
void refuse_init(const std::string& formula, const std::optional<xg::Shape>& shape);

}  // namespace golden
