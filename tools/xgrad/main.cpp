#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>

#include "demo.hpp"
#include "eval.hpp"
#include "explain.hpp"
#include "gradcheck.hpp"
#include "graph.hpp"
#include "lab.hpp"
#include "museum.hpp"
#include "options.hpp"
#include "train.hpp"
#include "weights.hpp"

namespace {

using tool::file;
using tool::not_empty;
using tool::number;
using tool::seed;
using tool::whole;

CLI::Validator positive() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value > 0 && std::isfinite(value)) {
          return std::string();
        }
        return fmt::format("needs a number greater than 0, got {}", text);
      },
      "");
}

// ---- kinds of options ---------------------------------------------------------------------------

/// Numbers with commas between them.
CLI::Option* sizes(CLI::App& app, const char* flag, std::vector<std::int64_t>& values,
                   const char* what, std::int64_t least) {
  return app.add_option(flag, values, what)
      ->delimiter(',')
      ->check(whole(least, 1 << 20))
      ->type_name("N,N");
}

/// One of these words, which `what` names.
void one_of(CLI::App& app, const char* flag, std::string& value, const std::string& what,
            const std::vector<std::string>& words) {
  app.add_option(flag, value, what)
      ->check(CLI::IsMember(words).description(""))
      ->type_name("NAME")
      ->capture_default_str();
}

void choice(CLI::App& app, const char* flag, std::string& value, const char* what,
            const std::vector<std::string>& words) {
  one_of(app, flag, value, fmt::format("{}: {}", what, fmt::join(words, ", ")), words);
}

void hidden(CLI::App& app, std::vector<std::int64_t>& values) {
  sizes(app, "--hidden", values, "Sizes of the hidden layers", 1)
      ->default_str(fmt::format("{}", fmt::join(values, ",")));
}

void net(CLI::App& app, tool::Mlp::Options& o) {
  choice(app, "--norm", o.norm, "Normalization after each hidden layer", tool::Mlp::norms());
  hidden(app, o.hidden);
  choice(app, "--activation", o.activation, "Activation after each hidden layer",
         tool::Mlp::activations());
}

// ---- the options of each command ----------------------------------------------------------------

void add_graph_options(CLI::App& app, tool::GraphOptions& o) {
  net(app, o.net);
  number(app, "--inputs", o.inputs, "Features of a sample")->check(whole(1, 1 << 20));
  number(app, "--classes", o.classes, "Classes")->check(whole(1, 1 << 20));
  number(app, "--batch-size", o.batch_size, "Samples")->check(whole(1, 1 << 20));
  app.add_option("--op", o.op,
                 "Instead of the net: an operation of the library, or layer_norm_by_hand")
      ->check(not_empty())
      ->type_name("NAME");
  sizes(app, "--shape", o.shape, "Shape of the operation's first input; the others follow", 0);
  app.add_flag("--values", o.values, "Show values in the boxes");
  app.add_flag("--gradients", o.gradients, "Run backward, and show gradients in the boxes");
  seed(app, o.seed, "Seed of weights and inputs");
  number(app, "--max-nodes", o.max_nodes, "Draw no more than these; then tell how many more")
      ->check(whole(1, 1 << 30));
  file(app, "--svg", o.svg, "Draw into this file (with Graphviz's program dot)");
  file(app, "--html", o.html, "Write a page with the drawing (the same)");
  app.footer(
      "Without --svg and --html the graph is printed as text for Graphviz:\n"
      "  xgrad graph --values | dot -Tpng -o net.png");
}

void add_train_options(CLI::App& app, tool::TrainOptions& o) {
  app.add_option("--data", o.data,
                 "digits (built in), fashion-mnist, a folder of IDX files, or a CSV file")
      ->check(not_empty())
      ->type_name("NAME|PATH")
      ->capture_default_str();
  net(app, o.net);
  number(app, "--epochs", o.epochs, "Passes over the training data")->check(whole(1, 1000000));
  number(app, "--batch-size", o.batch_size, "Samples per step")->check(whole(1, 1 << 30));
  number(app, "--lr", o.lr, "Learning rate")->check(positive());
  choice(app, "--schedule", o.schedule, "Learning rate falling to 0, or not",
         {"cosine", "constant"});
  choice(app, "--optimizer", o.optimizer, "Update rule (sgd with momentum 0.9)",
         {"sgd", "adam", "adamw"});
  seed(app, o.seed, "Seed of initial weights and shuffling");
  number(app, "--threads", o.threads, "Threads for matrix products")->check(whole(1, 1024));
}

void add_lab_options(CLI::App& app, tool::LabCommand& o) {
  app.add_option("--only", o.only,
                 fmt::format("Only these: {}", fmt::join(tool::lab_experiments(), ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(tool::lab_experiments()).description(""))
      ->type_name("NAME,NAME");
  app.add_option("--data", o.data, "As for train")
      ->check(not_empty())
      ->type_name("NAME|PATH")
      ->capture_default_str();
  hidden(app, o.lab.hidden);
  number(app, "--batch", o.lab.batch, "Rows in a step")->check(whole(1, 1 << 30));
  number(app, "--momentum", o.lab.momentum, "Of BatchNorm's running statistics");
  number(app, "--eps", o.lab.eps, "Added to the variance in each norm");
  number(app, "--lr", o.lab.lr, "Learning rate");
  number(app, "--steps", o.lab.steps, "Steps of training")->check(whole(1, 1000000));
  seed(app, o.lab.seed, "Seed of weights and batches");
  number(app, "--seeds", o.seeds, "Seeds that detach averages over")->check(whole(1, 1000));
  number(app, "--samples", o.samples, "Samples in influence")->check(whole(1, 64));
  number(app, "--features", o.features, "Features in influence")->check(whole(1, 64));
  choice(app, "--format", o.format, "What is printed", {"text", "json"});
  file(app, "--html", o.html, "Write a page with charts to this file");
  app.footer(
      "gap        LayerNorm and BatchNorm in train and eval mode, running statistics and their "
      "drift\n"
      "influence  which inputs each output of a norm gets its gradient from\n"
      "detach     what the mean's and the variance's term of LayerNorm's gradient are worth\n"
      "scale      a larger weight before a norm: the same output, a smaller gradient\n\n"
      "xgrad lab\n"
      "xgrad lab --only gap --batch 2 --momentum 0.01\n"
      "xgrad lab --only detach --hidden 32,32,32 --lr 0.2 --html lab.html\n\n"
      "Ctrl-C ends an experiment and still shows what was measured.");
}

void add_eval_options(CLI::App& app, tool::EvalOptions& o,
                      const std::vector<std::string>& formats) {
  app.add_option("MODEL", o.model, "A file of xgrad train --save, or a checkpoint or its folder")
      ->required();
  app.add_option("--data", o.data,
                 "digits, fashion-mnist, a folder of IDX files, or a CSV file [what it was "
                 "trained on]")
      ->check(not_empty())
      ->type_name("NAME|PATH");
  one_of(app, "--part", o.part,
         "train, test or all [test; all of a CSV file it was not trained on]",
         {"train", "test", "all"});
  choice(app, "--activation", o.activation, "For a file that does not name it",
         tool::Mlp::activations());
  one_of(app, "--format", o.format, fmt::format("{}", fmt::join(formats, ", ")), formats);
}

/// The arguments as a shell would take them again.
std::string command_line(int argc, char** argv) {
  std::string line = "xgrad";
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.empty() ||
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-_=+.,:/@%") != word.npos) {
      for (std::size_t at = 0; (at = word.find('\'', at)) != word.npos; at += 4) {
        word.replace(at, 1, "'\\''");
      }
      word = "'" + word + "'";
    }
    line += " " + word;
  }
  return line;
}

/// Every option of a command with its value, given or not.
std::vector<std::pair<std::string, std::string>> settings_of(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const CLI::Option* option : app.get_options()) {
    const std::string value = option->count() > 0
                                  ? fmt::format("{}", fmt::join(option->results(), ","))
                                  : option->get_default_str();
    if (option->get_lnames() != std::vector<std::string>{"help"} && !value.empty()) {
      all.emplace_back(option->get_name(), value);
    }
  }
  return all;
}

int run(int argc, char** argv) {
  CLI::App app{"xgrad: small training experiments with LayerNorm and BatchNorm", "xgrad"};
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    return fmt::format("xgrad {}\n{}", xgrad::version(), xgrad::show_config());
  });
  app.get_formatter()->column_width(34);
  app.footer("xgrad COMMAND --help tells the options of a command.");

  tool::TrainOptions options;
  CLI::App* train =
      app.add_subcommand("train", "Train a multilayer perceptron and report accuracy");
  add_train_options(*train, options);
  file(*train, "--save", options.save, "Write the trained weights to this safetensors file");
  file(*train, "--log", options.log, "Write one JSON object per epoch to this file");
  file(*train, "--report", options.report,
       "Write a page with curves, the health of each layer, and wrong answers");
  CLI::Option* folder =
      train
          ->add_option("--checkpoint", options.checkpoint,
                       "Keep the state of the run in this folder, to go on with --resume")
          ->check(not_empty())
          ->type_name("DIR");
  train
      ->add_option("--checkpoint-every", options.checkpoint_every,
                   "Steps between checkpoints, or epoch")
      ->transform(CLI::Validator(
          [](std::string& text) {
            if (text == "epoch") return text = "0", std::string();
            return whole(1, std::numeric_limits<std::int64_t>::max())(text);
          },
          ""))
      ->type_name("N|epoch")
      ->default_str("epoch")
      ->needs(folder);
  train
      ->add_flag("--resume", options.resume,
                 "Go on from the last checkpoint of the folder; without one, start")
      ->needs(folder);
  train->footer(
      "The last column of a CSV file has the labels, or the one that its first line names "
      "label.\n\n"
      "Ctrl-C ends training after the current step, still prints the results and, with "
      "--checkpoint,\n"
      "saves where it was. A resumed run ends as one that was never stopped, to the last bit.\n\n"
      "  xgrad train --norm batch --epochs 50 --save net.safetensors\n"
      "  xgrad train --data fashion-mnist --checkpoint run          # stopped somehow\n"
      "  xgrad train --data fashion-mnist --checkpoint run --resume # goes on");

  tool::EvalOptions eval;
  CLI::App* evaluate = app.add_subcommand(
      "eval", "Loss, accuracy and confusion of a saved net, on data of your choice");
  add_eval_options(*evaluate, eval, {"text", "json"});
  evaluate->footer(
      "BatchNorm uses its running statistics.\n\n"
      "  xgrad eval net.safetensors\n"
      "  xgrad eval run --data more.csv --format json");
  CLI::App* predict = app.add_subcommand("predict", "Class and probabilities of each row of data");
  add_eval_options(*predict, eval, {"text", "csv", "json"});
  predict->add_option("--rows", eval.rows, "Only these rows, counted from 0: 0,5-9")
      ->check(not_empty())
      ->type_name("N,N-N");
  predict->footer(
      "A CSV file may have the column of labels or not. csv and json give all probabilities.\n\n"
      "  xgrad predict net.safetensors --rows 0-9\n"
      "  xgrad predict run --data new.csv --format csv > predicted.csv");

  CLI::App* demo =
      app.add_subcommand("demo", "Show what LayerNorm and BatchNorm do, on three small nets");
  add_train_options(*demo, options);
  demo->remove_option(demo->get_option("--norm"));  // all three are shown
  demo->get_option("--batch-size")
      ->check(whole(2, 1 << 30, ": BatchNorm has no variance in a batch of one"));

  tool::GradcheckOptions check;
  CLI::App* gradcheck = app.add_subcommand(
      "gradcheck", "Compare the gradients of every operation with differences, to second order");
  gradcheck->add_option("--op", check.op, "Only this operation, in all its forms")
      ->check(not_empty())
      ->type_name("NAME");
  sizes(*gradcheck, "--shape", check.shape, "Shape of its first input; the others follow", 0);
  seed(*gradcheck, check.seed, "Seed of the inputs");
  gradcheck->add_flag("--json", check.json, "Print one JSON object instead of the table");
  gradcheck->footer("The exit status is 1 when a gradient fails.");

  tool::GraphOptions graph;
  CLI::App* draw = app.add_subcommand("graph", "Draw the graph that backward goes through");
  add_graph_options(*draw, graph);
  int explained = 0;
  CLI::App* explain = tool::add_explain(app, explained);

  tool::LabCommand lab_command;
  CLI::App* lab = app.add_subcommand("lab", "Experiments on what normalization does, measured");
  add_lab_options(*lab, lab_command);

  bool list = false;
  CLI::App* museum =
      app.add_subcommand("museum", "Plant known bugs in the library, and see a test notice each");
  museum->add_flag("--list", list, "Only tell what the bugs are");

  tool::InspectOptions inspected;
  CLI::App* inspect = app.add_subcommand(
      "inspect", "List the tensors of a safetensors or .npy file, or of a folder of .npy files");
  inspect->add_option("FILE", inspected.path, "File or folder")->required()->type_name("");
  one_of(*inspect, "--format", inspected.format, "text, or json: one object", {"text", "json"});

  tool::ConvertOptions conversion;
  CLI::App* convert = app.add_subcommand(
      "convert",
      "Turn a safetensors file into a folder of .npy files, or such a folder into a file");
  convert->add_option("IN", conversion.in, "safetensors file, folder, or one .npy file")
      ->required()
      ->type_name("");
  convert->add_option("OUT", conversion.out, "What to write: a folder, or a safetensors file")
      ->required()
      ->type_name("");
  convert->add_flag("--force", conversion.force, "Replace OUT if it is there");
  convert->footer(
      "A tensor encoder.0.weight becomes encoder.0.weight.npy; / and other characters that\n"
      "have no place in the name of a file are written as %2F and the like.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::string what = e.what();
    if (app.get_subcommands().empty()) {
      what = argc > 1 ? fmt::format("there is no command \"{}\"", argv[1]) : "needs a command";
    }
    while (what.ends_with('.') || what.ends_with('\n')) what.pop_back();
    fmt::print(stderr, "xgrad: {}. See xgrad --help.\n", what);
    return 2;
  }
  if (inspect->parsed()) return tool::run_inspect(inspected);
  if (convert->parsed()) return tool::run_convert(conversion);
  if (evaluate->parsed()) return tool::run_eval(eval);
  if (predict->parsed()) return tool::run_predict(eval);
  if (explain->parsed()) return explained;
  if (gradcheck->parsed()) return tool::run_gradcheck(check);
  if (draw->parsed()) return tool::run_graph(graph);
  if (lab->parsed()) return tool::run_lab(lab_command);
  if (museum->parsed()) return tool::run_museum(list ? "--list" : nullptr);
  options.command = command_line(argc, argv);
  options.settings = settings_of(*train);
  return train->parsed() ? tool::run_train(options) : tool::run_demo(options);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like any other
  try {
    const int status = run(argc, argv);
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {  // a short text is written only now
      throw xgrad::FileError(fmt::format("standard output cannot be written{}{}",
                                         errno != 0 ? ": " : "",
                                         errno ? std::strerror(errno) : ""));
    }
    return status;
  } catch (const std::exception& e) {
    fmt::print(stderr, "xgrad: {}\n", e.what());
    return 2;
  }
}
