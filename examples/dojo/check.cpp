// The checker: right, or which known mistake it looks like.
#include <cmath>
#include <cstdio>

#include "dojo.hpp"

namespace dojo {

static bool near(const xg::Tensor& a, const xg::Tensor& b) {
  return a.shape() == b.shape() && xg::allclose(a, b, 1e-9, 1e-12);
}

/// A known factor between the answer and the right one.
static std::string factor(const xg::Tensor& value, const xg::Tensor& right) {
  // Where the right answer is largest, its quotient is safest.
  const auto at = right.abs().flatten().argmax().item<std::int64_t>();
  const double ratio = value.flatten()[at].item<double>() / right.flatten()[at].item<double>();
  if (!std::isfinite(ratio) || ratio == 0 || !near(value, right * ratio)) return "";
  const auto is = [ratio](double r) { return std::abs(ratio / r - 1) < 1e-9; };
  if (is(-1)) return "the sign is wrong";
  if (is(0.5)) return "half of it: forgot a factor 2, or one of two equal shares";
  if (is(2)) return "twice it: a factor 2 too much";
  if (is(-2) || is(-0.5)) return "the sign is wrong, and a factor 2";
  for (const double n : {4.0, 6.0}) {
    const std::string of = n == 4 ? "4 samples" : "6 features";
    if (is(n)) return "a sum over the " + of + " where the mean belongs (forgot 1/n)";
    if (is(1 / n)) return "a mean over the " + of + " where the sum belongs";
    if (is(n / (n - 1))) return "n - 1 for n, of the " + of;
  }
  if (is(6.0 / 4)) return "divided by the number of samples instead of features";
  if (is(4.0 / 6)) return "divided by the number of features instead of samples";
  char text[60];
  std::snprintf(text, sizeof text, "right up to a factor of %.6g", ratio);
  return text;
}

std::optional<std::string> Answer::verdict(const xg::Tensor& value) const {
  if (near(value, right)) return std::nullopt;
  if (near(value.flatten(), right.flatten())) return "the right numbers; keepdim keeps the shape";
  for (const Mistake& mistake : mistakes) {
    if (near(value.flatten(), mistake.value.flatten())) return mistake.looks_like;
  }
  if (value.shape() == right.shape()) return factor(value, right);
  for (const bool batch : {true, false}) {
    const int dim = batch ? 0 : -1;
    if (value.shape() != xg::Shape{4, 6}) break;
    for (const bool keepdim : {true, false}) {
      if (near(value.sum(dim, keepdim), right)) {
        return batch ? "forgot to sum over the batch" : "forgot to sum over the row";
      }
    }
  }
  return "";
}

int check(const Exercise& exercise) {
  std::printf("Exercise %d. %s\n\n", exercise.number, exercise.title.c_str());
  if (!exercise.thrown.empty()) std::printf("stopped by: %s\n\n", exercise.thrown.c_str());
  std::size_t right = 0;
  for (const Answer& answer : exercise.answers) {
    const std::string shape = answer.right.shape().str();
    std::printf("%-10s ", answer.name.c_str());
    if (!answer.mine.defined()) {
      std::printf("not written yet; its shape is %s\n", shape.c_str());
      continue;
    }
    if (answer.mine.shape() == answer.right.shape()) {
      std::printf("exact: %-5s  approximate: %-5s  largest difference: %.1e  shape %s\n",
                  xg::to_string(xg::equal(answer.mine, answer.right)).c_str(),
                  xg::to_string(near(answer.mine, answer.right)).c_str(),
                  (answer.mine - answer.right).abs().max().item<double>(), shape.c_str());
    } else {
      std::printf("wrong shape %s, wanted %s\n", answer.mine.shape().str().c_str(), shape.c_str());
    }
    const auto verdict = answer.verdict(answer.mine);
    if (!verdict) {
      ++right;
    } else if (!verdict->empty()) {
      std::printf("%-10s looks like: %s\n", "", verdict->c_str());
    } else if (answer.mine.shape() == answer.right.shape()) {
      std::printf("%-10s no mistake that is known here: go through it term by term\n", "");
    }
  }
  std::printf("\n%zu of %zu right\n", right, exercise.answers.size());
  return right == exercise.answers.size() ? 0 : 1;
}

}  // namespace dojo
