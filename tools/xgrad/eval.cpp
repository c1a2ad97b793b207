#include "eval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "saved_net.hpp"
#include "train.hpp"

namespace tool {

namespace data = xgrad::data;
using xgrad::Tensor;

namespace {

/// What is to be looked at: with labels, or for `predict` without.
struct Rows {
  data::Dataset set;  // labels may be undefined
  std::string name;   // "digits, test part"
};

bool is_csv(const std::string& name) {
  return name != "digits" && name != "fashion-mnist" && !std::filesystem::is_directory(name);
}

/// The part of the data that was asked for. Without a word: all of a CSV file that the net was not
/// trained on, else the part that was set aside for testing. For `predict` a CSV file may lack
/// the column of the labels.
Rows rows_of(const EvalOptions& options, const SavedNet& saved, bool need_labels) {
  const std::string name = options.data.empty() ? saved.data : options.data;
  if (name.empty()) {
    throw xgrad::Error(saved.path + ": does not say what it was trained on. Give --data");
  }
  std::string part = options.part;
  if (part.empty()) part = is_csv(name) && name != saved.data ? "all" : "test";
  Rows rows{.set = {}, .name = part == "all" ? name : fmt::format("{}, {} part", name, part)};
  if (is_csv(name) && part == "all") {
    if (!std::filesystem::exists(name)) throw xgrad::FileError("--data " + name + ": no such file");
    rows.set = data::read_csv(name, {.find_header = true, .has_labels = false});
    const std::int64_t columns = rows.set.inputs.size(1);
    if (columns == saved.inputs + 1 || need_labels)
      rows.set = data::read_csv(name, {.find_header = true});
  } else {
    const data::Split split = load_data(name);
    rows.set = part == "train" ? split.train : split.test;
    if (part == "all") {
      rows.set.inputs = xgrad::cat({split.train.inputs, split.test.inputs});
      rows.set.labels = xgrad::cat({split.train.labels, split.test.labels});
    }
  }
  if (rows.set.inputs.size(1) != saved.inputs) {
    throw xgrad::Error(fmt::format("{} has {} inputs a row, the net {} takes {}", name,
                                   rows.set.inputs.size(1), saved.path, saved.inputs));
  }
  if (rows.set.size() == 0) throw xgrad::Error(fmt::format("{} has no rows", rows.name));
  return rows;
}

/// log p of each class (rows, classes), a thousand rows at a time.
Tensor log_probabilities(Mlp& net, const Tensor& inputs) {
  const xgrad::NoGrad no_grad;
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at < inputs.size(0); at += 1000) {
    const std::int64_t rows = std::min<std::int64_t>(1000, inputs.size(0) - at);
    parts.push_back(xgrad::log_softmax(net(xgrad::narrow(inputs, 0, at, rows)), 1));
  }
  return xgrad::cat(parts);
}

/// counts[label][predicted]
using Confusion = std::vector<std::vector<std::int64_t>>;

void print_confusion(const Confusion& confusion) {
  const std::size_t classes = confusion.size();
  if (classes <= 20) {
    fmt::print("\nlabel (down) and prediction (across)\n      ");
    for (std::size_t c = 0; c < classes; ++c) fmt::print("{:>6}", c);
    for (std::size_t c = 0; c < classes; ++c) {
      fmt::print("\n{:>6}", c);
      for (const std::int64_t n : confusion[c])
        fmt::print("{:>6}", n == 0 ? "." : std::to_string(n));
    }
    fmt::print("\n");
    return;
  }
  std::vector<std::tuple<std::int64_t, std::size_t, std::size_t>> mistakes;  // minus the count
  for (std::size_t a = 0; a < classes; ++a) {
    for (std::size_t b = 0; b < classes; ++b) {
      if (a != b && confusion[a][b] > 0) mistakes.emplace_back(-confusion[a][b], a, b);
    }
  }
  std::sort(mistakes.begin(), mistakes.end());
  if (mistakes.size() > 10) mistakes.resize(10);
  if (!mistakes.empty()) fmt::print("\nmost frequent mistakes\n");
  for (const auto& [count, a, b] : mistakes) {
    fmt::print("{:>6} times {} was taken for {}\n", -count, a, b);
  }
}

/// "0,5-9" as row numbers below `size`.
std::vector<std::int64_t> row_numbers(const std::string& text, std::int64_t size) {
  std::vector<std::int64_t> rows;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&] {
    std::int64_t value = -1;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0)
      throw xgrad::Error("--rows needs numbers as in 0,5-9, got " + text);
    if (value >= size)
      throw xgrad::IndexError(fmt::format("--rows: no row {} among {}", value, size));
    at = stop;
    return value;
  };
  while (true) {
    const std::int64_t first = number();
    const std::int64_t last = at != end && *at == '-' ? (++at, number()) : first;
    for (std::int64_t row = first; row <= last; ++row) rows.push_back(row);
    if (last >= first && at == end) return rows;
    if (last < first || *at++ != ',')
      throw xgrad::Error("--rows needs numbers as in 0,5-9, got " + text);
  }
}

}  // namespace

int run_eval(const EvalOptions& options) {
  const SavedNet saved = load_net(options.model, options.activation);
  const Rows rows = rows_of(options, saved, true);
  const auto labels = rows.set.labels.data<std::int64_t>();
  const auto classes = static_cast<std::size_t>(saved.classes);
  const Tensor log_p = log_probabilities(*saved.net, rows.set.inputs);
  const double loss = xgrad::nll_loss(log_p, rows.set.labels).item<double>();  // checks the labels
  const std::vector<std::int64_t> predicted = log_p.argmax(1).to_vector<std::int64_t>();
  Confusion confusion(classes, std::vector<std::int64_t>(classes));
  std::int64_t right = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    ++confusion[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(predicted[i])];
    right += labels[i] == predicted[i];
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(predicted.size());
  if (options.format == "json") {
    const nlohmann::ordered_json json = {{"model", saved.path},      {"data", rows.name},
                                         {"rows", predicted.size()}, {"loss", loss},
                                         {"accuracy", accuracy},     {"confusion", confusion}};
    fmt::print("{}\n", json.dump());
    return 0;
  }
  fmt::print(
      "{}: {}, norm {}, {}\n{}: {} rows\n\nloss      {:9.4f}\naccuracy  {:9.2f} %  ({} wrong)\n",
      saved.path, saved.net->layout(), saved.options.norm, saved.options.activation, rows.name,
      predicted.size(), loss, 100 * accuracy, static_cast<std::int64_t>(predicted.size()) - right);
  print_confusion(confusion);
  return 0;
}

int run_predict(const EvalOptions& options) {
  const SavedNet saved = load_net(options.model, options.activation);
  const Rows all = rows_of(options, saved, false);
  std::vector<std::int64_t> numbers;
  if (options.rows.empty()) {
    for (std::int64_t i = 0; i < all.set.size(); ++i) numbers.push_back(i);
  } else {
    numbers = row_numbers(options.rows, all.set.size());
  }
  const Tensor inputs = xgrad::index_select(all.set.inputs, 0, xgrad::tensor(numbers));
  const Tensor p = log_probabilities(*saved.net, inputs).exp();
  const std::vector<std::int64_t> predicted = p.argmax(1).to_vector<std::int64_t>();
  const auto classes = static_cast<std::size_t>(saved.classes);
  const auto probability = p.data<float>();
  const bool labelled = all.set.labels.defined();
  const auto label = [&](std::size_t i) {
    return all.set.labels.data<std::int64_t>()[static_cast<std::size_t>(numbers[i])];
  };

  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (options.format == "csv") {
    fmt::print("row,class{}", labelled ? ",label" : "");
    for (std::size_t c = 0; c < classes; ++c) fmt::print(",p{}", c);
    fmt::print("\n");
  } else if (options.format == "text") {
    fmt::print("{:>7}  {:>9}  {:>11}{}\n", "row", "predicted", "probability",
               labelled ? "  label" : "");
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto own = probability.subspan(i * classes, classes);
    const float best = own[static_cast<std::size_t>(predicted[i])];
    if (options.format == "json") {
      list.push_back({{"row", numbers[i]}, {"class", predicted[i]}});
      if (labelled) list.back()["label"] = label(i);
      for (const float value : own) {  // as many digits as a float has
        list.back()["probabilities"].push_back(std::stod(fmt::format("{}", value)));
      }
    } else if (options.format == "csv") {
      fmt::print("{},{}", numbers[i], predicted[i]);
      if (labelled) fmt::print(",{}", label(i));
      for (const float value : own) fmt::print(",{}", value);
      fmt::print("\n");
    } else {
      fmt::print("{:>7}  {:>9}  {:>9.2f} %", numbers[i], predicted[i], 100 * best);
      if (labelled) fmt::print("  {:>5}{}", label(i), label(i) == predicted[i] ? "" : "  wrong");
      fmt::print("\n");
    }
  }
  if (options.format == "json") fmt::print("{}\n", list.dump());
  return 0;
}

}  // namespace tool
