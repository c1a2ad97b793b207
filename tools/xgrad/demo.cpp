#include "demo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text.hpp"
#include "xgrad/teach/lab.hpp"

namespace tool {

using xgrad::NoGrad;
using xgrad::Tensor;
using xgrad::teach::output_in;
namespace nn = xgrad::nn;

namespace {

const char* label(const std::string& norm) {
  return norm == "layer" ? "LayerNorm" : norm == "batch" ? "BatchNorm" : "no norm";
}

/// Records the standard deviation of each hidden layer's activations at chosen steps.
class ActivationSpread : public StepObserver {
 public:
  ActivationSpread(Mlp& net, std::vector<std::int64_t> steps)
      : net_(net), steps_(std::move(steps)), latest_(net.activation_layers().size()) {
    for (std::size_t i = 0; i < latest_.size(); ++i) {
      hooks_.push_back(net.activation_layers()[i]->register_forward_hook(
          [this, i](nn::Module&, const Tensor&, const Tensor& out) { latest_[i] = out.detach(); }));
    }
  }
  ~ActivationSpread() override {
    for (std::size_t i = 0; i < hooks_.size(); ++i) {
      net_.activation_layers()[i]->remove_hook(hooks_[i]);
    }
  }
  ActivationSpread(const ActivationSpread&) = delete;
  ActivationSpread& operator=(const ActivationSpread&) = delete;
  void after_step(std::int64_t step) override {
    if (rows_.size() >= steps_.size() || step != steps_[rows_.size()]) return;
    rows_.emplace_back();
    for (const Tensor& out : latest_) rows_.back().push_back(out.std().item<double>());
  }
  /// One row for each of the steps, one number for each hidden layer.
  const std::vector<std::vector<double>>& rows() const { return rows_; }

 private:
  Mlp& net_;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint64_t> hooks_;
  std::vector<Tensor> latest_;
  std::vector<std::vector<double>> rows_;
};

struct Run {
  std::string norm;
  std::unique_ptr<Mlp> net;
  TrainResult result;
  std::vector<std::vector<double>> spread;
};

std::string steps_text(std::int64_t steps) { return steps == 0 ? "never" : std::to_string(steps); }

void print_results(const std::vector<Run>& runs) {
  const auto row = [&](const char* name, auto cell) {
    fmt::print("{:<24}", name);
    for (const Run& run : runs) fmt::print("{:>12}", cell(run));
    fmt::print("\n");
  };
  row("", [](const Run& r) { return std::string(label(r.norm)); });
  row("train loss", [](const Run& r) { return fmt::format("{:.4f}", r.result.train_loss); });
  row("train accuracy", [](const Run& r) { return percent(r.result.train_accuracy); });
  row("test accuracy", [](const Run& r) { return percent(r.result.test_accuracy); });
  row("steps to 90 % *", [](const Run& r) { return steps_text(r.result.steps_to_90); });
  row("time", [](const Run& r) { return fmt::format("{:.2f} s", r.result.seconds); });
  fmt::print("* until 90 % of the samples in the last 10 batches were classified right\n");
}

void print_spread(const std::vector<Run>& runs, const std::vector<std::int64_t>& steps) {
  fmt::print("\nStandard deviation of the activations over training\n{:<24}", "");
  for (std::int64_t step : steps) fmt::print("{:>12}", fmt::format("step {}", step));
  fmt::print("\n");
  for (const Run& run : runs) {
    for (std::size_t layer = 0; layer < run.net->activation_layers().size(); ++layer) {
      fmt::print("{:<24}", fmt::format("{}, hidden {}", label(run.norm), layer + 1));
      for (const auto& row : run.spread) fmt::print("{:>12.3f}", row[layer]);
      fmt::print("\n");
    }
  }
}

/// What the numbers say, in words, whichever way they came out.
void print_findings(const std::vector<Run>& runs) {
  const TrainResult& plain = runs[0].result;
  fmt::print("\nSeen in this run:\n");
  for (const Run& run : runs) {
    if (run.norm == "none") continue;
    const TrainResult& r = run.result;
    const double gain = 100 * (r.test_accuracy - plain.test_accuracy);
    std::string pace = "reached 90 % in as many steps as the net without a norm";
    if (r.steps_to_90 == 0 || plain.steps_to_90 == 0) {
      pace = fmt::format("steps to 90 %: {}, without a norm: {}", steps_text(r.steps_to_90),
                         steps_text(plain.steps_to_90));
    } else if (r.steps_to_90 != plain.steps_to_90) {
      pace =
          fmt::format("reached 90 % in {:.2f} times the steps of the net without a norm",
                      static_cast<double>(r.steps_to_90) / static_cast<double>(plain.steps_to_90));
    }
    fmt::print("- {} {};\n  its test accuracy is {}.\n", label(run.norm), pace,
               std::isnan(gain)         ? "not known, as there are no test rows"
               : std::abs(gain) < 0.005 ? std::string("the same")
                                        : fmt::format("{:.2f} points {}", std::abs(gain),
                                                      gain > 0 ? "higher" : "lower"));
  }
}

// ---- why LayerNorm has no train/eval difference -------------------------------------------------

/// What the norm layer gets when the net, in its present mode, sees x.
Tensor recorded_input(Mlp& net, nn::Module& norm, const Tensor& x) {
  Tensor input;
  const std::uint64_t hook = norm.register_forward_hook(
      [&](nn::Module&, const Tensor& in, const Tensor&) { input = in.detach(); });
  net(x);
  norm.remove_hook(hook);
  return input;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().amax().item<double>();
}

void print_difference(const char* what, double difference) {
  fmt::print("    {:<46}{}\n", what,
             difference == 0 ? std::string("0") : fmt::format("{:.4g}", difference));
}

/// Returns whether every difference came out as the theory says.
bool compare_modes(const Run& run, const xgrad::data::Split& data, std::int64_t batch_size) {
  const NoGrad no_grad;
  Mlp& net = *run.net;
  net.eval();
  const Tensor batch = data.train.inputs.narrow(0, 0, batch_size);
  bool as_expected = true;
  for (std::size_t i = 0; i < net.norm_layers().size(); ++i) {
    nn::Module& norm = *net.norm_layers()[i];
    // Recorded once, so that the norm layers alone are compared, not the products before them.
    const Tensor h = recorded_input(net, norm, batch);
    const Tensor row = h.narrow(0, 0, 1);
    const Tensor trained = output_in(norm, true, h);
    const Tensor evaluated = output_in(norm, false, h);
    const double modes = largest_difference(trained, evaluated);
    const double alone = largest_difference(output_in(norm, false, row), evaluated.narrow(0, 0, 1));
    fmt::print("  {} of hidden layer {}, fed a recorded batch {}\n", label(run.norm), i + 1,
               h.shape().str());
    print_difference("train mode against eval mode", modes);
    print_difference("a row alone against the same row in the batch", alone);
    if (run.norm == "layer") {
      const double alone_train =
          largest_difference(output_in(norm, true, row), trained.narrow(0, 0, 1));
      print_difference("the same in train mode", alone_train);
      as_expected = as_expected && modes == 0 && alone == 0 && alone_train == 0;
      continue;
    }
    bool refused = false;
    std::string error;
    try {
      output_in(norm, true, row);
    } catch (const xgrad::ShapeError& e) {
      refused = true;
      error = e.what();
    }
    fmt::print("    {:<46}{}\n", "a row alone in train mode", refused ? "refused:" : "accepted");
    if (refused) fmt::print("{}", wrapped(error, 6));
    // The same row among two different sets of neighbours.
    const Tensor others =
        recorded_input(net, norm, data.train.inputs.narrow(0, batch_size, batch_size - 1));
    const Tensor elsewhere = output_in(norm, true, xgrad::cat({row, others}));
    const double batches = largest_difference(trained.narrow(0, 0, 1), elsewhere.narrow(0, 0, 1));
    print_difference("the same row in two different train batches", batches);
    as_expected = as_expected && modes != 0 && alone == 0 && refused && batches != 0;
  }
  return as_expected;
}

}  // namespace

int run_demo(TrainOptions options) {
  xgrad::set_num_threads(options.threads);
  const xgrad::data::Split data = load_data(options.data);
  if (data.train.size() < 3) {  // a row in two batches of different others
    throw xgrad::Error(fmt::format("--data {}: demo needs at least 3 training rows, there {} {}",
                                   options.data, data.train.size() == 1 ? "is" : "are",
                                   data.train.size()));
  }
  const std::int64_t compared = std::min(options.batch_size, (data.train.size() + 1) / 2);
  const std::int64_t steps_per_epoch =
      (data.train.labels.numel() + options.batch_size - 1) / options.batch_size;
  const std::int64_t last = options.epochs * steps_per_epoch;
  std::vector<std::int64_t> steps;
  for (std::int64_t step : {std::int64_t{1}, std::int64_t{10}, std::int64_t{100}, last}) {
    if (step <= last && (steps.empty() || step > steps.back())) steps.push_back(step);
  }

  std::vector<Run> runs;
  for (const std::string& norm : Mlp::norms()) {
    options.net.norm = norm;
    xgrad::manual_seed(static_cast<std::uint64_t>(options.seed));
    Run& run = runs.emplace_back();
    run.norm = norm;
    run.net = std::make_unique<Mlp>(data.train.inputs.size(1), data.train.classes, options.net);
    if (runs.size() == 1) {
      fmt::print(
          "{} training and {} test {}, {} {} each.\n{}\n", data.train.labels.numel(),
          data.test.labels.numel(),
          options.data == "digits" ? "images of handwritten digits" : "rows of " + options.data,
          data.train.inputs.size(1), is_image_data(options.data) ? "pixels" : "numbers",
          wrapped(fmt::format(
              "The same net {} ({}) three times: {} lr {}, batches of {}, {} epochs, seed {}.",
              run.net->layout(), options.net.activation, options.optimizer, options.lr,
              options.batch_size, options.epochs, options.seed)));
      std::fflush(stdout);
    }
    ActivationSpread spread(*run.net, steps);
    run.result = train(*run.net, data, options, fmt::format("{:<9}", label(norm)), &spread);
    run.spread = spread.rows();
    if (run.result.stopped_by) {
      fmt::print("\nstopped by {} after step {} with {}\n", run.result.stopped_by, run.result.steps,
                 label(norm));
      print_results(runs);
      return 0;
    }
  }
  fmt::print("\n");
  print_results(runs);
  print_spread(runs, steps);
  print_findings(runs);

  fmt::print("\nWhy LayerNorm has no train/eval difference (largest differences, trained nets)\n");
  bool as_expected = true;
  for (const Run& run : runs) as_expected = compare_modes(run, data, compared) && as_expected;
  if (!as_expected) {
    fmt::print("\nThis is not what theory says: a 0 above should not be one, or the reverse.\n");
    return 1;
  }
  fmt::print(
      "\n"
      "LayerNorm takes mean and variance from the row itself, so neither the mode nor\n"
      "the other rows enter the calculation, and every difference is exactly 0.\n"
      "BatchNorm in train mode takes them from the batch, so a row's output depends on\n"
      "its neighbours, and a row alone has no variance to offer; in eval mode it takes\n"
      "the running statistics collected during training, so the two modes differ and a\n"
      "row stands alone.\n");
  return 0;
}

}  // namespace tool
