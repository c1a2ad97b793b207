#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "demo.hpp"
#include "train.hpp"

namespace {

void add_train_options(CLI::App& app, tool::TrainOptions& o) {
  app.add_option("--data", o.data,
                 "digits (built in), fashion-mnist, a folder of IDX files, or a CSV file")
      ->capture_default_str();
  app.add_option("--hidden", o.net.hidden, "Sizes of the hidden layers")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->default_str("64,32");
  app.add_option("--activation", o.net.activation, "Activation after each hidden layer")
      ->check(CLI::IsMember(tool::Mlp::activations()))
      ->capture_default_str();
  app.add_option("--epochs", o.epochs, "Passes over the training data")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}))
      ->capture_default_str();
  app.add_option("--batch-size", o.batch_size, "Samples per step")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--lr", o.lr, "Learning rate")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--schedule", o.schedule, "Learning rate: falling to 0 as a cosine, or constant")
      ->check(CLI::IsMember({"cosine", "constant"}))
      ->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "Optimizer (sgd has momentum 0.9)")
      ->check(CLI::IsMember({"sgd", "adam", "adamw"}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "Seed of initial weights and shuffling")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", o.threads, "Threads for matrix products")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

int run(int argc, char** argv) {
  CLI::App app{"xgrad: small training experiments with LayerNorm and BatchNorm", "xgrad"};
  app.require_subcommand(1);
  app.set_version_flag("--version", XGRAD_VERSION);
  app.get_formatter()->column_width(34);
  app.footer("xgrad COMMAND --help tells the options of a command.");

  tool::TrainOptions options;
  CLI::App* train =
      app.add_subcommand("train", "Train a multilayer perceptron and report accuracy");
  add_train_options(*train, options);
  train->add_option("--norm", options.net.norm, "Normalization after each hidden layer")
      ->check(CLI::IsMember(tool::Mlp::norms()))
      ->capture_default_str();
  train->add_option("--save", options.save, "Write the trained weights to this safetensors file");
  train->add_option("--log", options.log, "Write one JSON object per epoch to this file");
  train->footer("Ctrl-C ends training after the current step and still prints the results.");

  CLI::App* demo = app.add_subcommand(
      "demo", "The same net with no norm, LayerNorm and BatchNorm, and why LayerNorm has no modes");
  add_train_options(*demo, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    fmt::print(stderr, "xgrad: {}. See xgrad --help.\n", e.what());
    return 2;
  }
  return train->parsed() ? tool::run_train(options) : tool::run_demo(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "xgrad: {}\n", e.what());
    return 2;
  }
}
