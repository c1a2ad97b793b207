// A small GPT reads the first pages of a Sherlock Holmes story and learns to go on, letter by
// letter.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace nn = xgrad::nn;
using xg::Tensor;

constexpr std::int64_t context = 32;  // letters that it sees at once
constexpr std::int64_t batch = 16;
constexpr std::int64_t width = 64;  // numbers for each letter
constexpr std::int64_t heads = 4;
constexpr int layers = 4;

/// Letters look at the letters before them, then each thinks for itself; both are added to what
/// was there. The norms stand before these two ("pre-norm": what is added up stays untouched, and
/// so do its gradients), or after each addition, as in the first transformer.
struct Block : nn::Module {
  nn::LayerNorm& norm1 = register_module("norm1", nn::LayerNorm(width));
  nn::MultiheadAttention& attention =
      register_module("attention", nn::MultiheadAttention(width, heads, {.is_causal = true}));
  nn::LayerNorm& norm2 = register_module("norm2", nn::LayerNorm(width));
  nn::Sequential& mlp = register_module(
      "mlp",
      nn::Sequential(nn::Linear(width, 4 * width), nn::GELU(), nn::Linear(4 * width, width)));
  bool norm_first;

  explicit Block(bool first) : norm_first(first) {}
  Tensor forward(const Tensor& x) override {
    if (norm_first) {
      const Tensor y = x + attention(norm1(x));
      return y + mlp(norm2(y));
    }
    const Tensor y = norm1(x + attention(x));
    return norm2(y + mlp(y));
  }
};

struct Gpt : nn::Module {
  nn::Embedding& letters;
  nn::Embedding& positions = register_module("positions", nn::Embedding(context, width));
  nn::ModuleList& blocks = register_module("blocks", nn::ModuleList());
  nn::LayerNorm& norm = register_module("norm", nn::LayerNorm(width));

  Gpt(std::int64_t alphabet, bool norm_first)
      : letters(register_module("letters", nn::Embedding(alphabet, width))) {
    for (nn::Embedding* table : {&letters, &positions}) nn::init::normal_(table->weight, 0, 0.1);
    for (int i = 0; i < layers; ++i) blocks.push_back(Block(norm_first));
  }

  /// (B, T) numbers of letters -> (B, T, alphabet) scores of the letters that come next.
  Tensor forward(const Tensor& text) override {
    Tensor x = letters(text) + positions(xg::arange(text.size(1)));
    for (nn::Module& block : blocks) x = block(x);
    return linear(norm(x), letters.weight);  // the same table reads and writes
  }
};

/// A text as numbers of its letters.
struct Text {
  std::string alphabet;  // each letter once
  std::vector<std::int64_t> numbers;

  explicit Text(const std::string& path) {
    std::ifstream file(path);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    if (all.size() <= context) throw xg::FileError("no text, or too short: " + path);
    alphabet = all;
    std::sort(alphabet.begin(), alphabet.end());
    alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
    for (char c : all) numbers.push_back(static_cast<std::int64_t>(alphabet.find(c)));
  }

  /// (batch, context) pieces from anywhere, and what comes one letter later.
  std::pair<Tensor, Tensor> pieces() const {
    const auto last = static_cast<std::int64_t>(numbers.size()) - context;
    std::vector<std::int64_t> x, y;
    for (std::int64_t start : xg::randint(last, {batch}).to_vector<std::int64_t>()) {
      x.insert(x.end(), numbers.begin() + start, numbers.begin() + start + context);
      y.insert(y.end(), numbers.begin() + start + 1, numbers.begin() + start + 1 + context);
    }
    return {xg::tensor(x).reshape({batch, context}), xg::tensor(y)};
  }
};

/// Goes on from a line's end: draws each next letter from the probabilities that the model gives.
std::string write(Gpt& model, const Text& text, int length) {
  const xg::NoGrad no_grad;
  constexpr double temperature = 0.7;  // below 1: likely letters still more often
  std::vector<std::int64_t> written{static_cast<std::int64_t>(text.alphabet.find('\n'))};
  std::string result;
  for (int i = 0; i < length; ++i) {
    const auto seen = std::min(static_cast<std::int64_t>(written.size()), context);
    const std::vector<std::int64_t> end(written.end() - seen, written.end());
    const Tensor scores = model(xg::tensor(end).unsqueeze(0)).select(1, seen - 1).flatten();
    const std::vector<double> sums =
        cumsum((scores / temperature).softmax(0).to(xg::float64), 0).to_vector<double>();
    const double point = xg::default_generator().uniform<double>() * sums.back();
    written.push_back(std::upper_bound(sums.begin(), sums.end(), point) - sums.begin());
    result += text.alphabet[static_cast<std::size_t>(written.back())];
  }
  return result;
}

void train(const Text& text, bool norm_first, int steps, double lr) {
  Gpt model(static_cast<std::int64_t>(text.alphabet.size()), norm_first);
  std::int64_t parameters = 0;
  for (const Tensor& p : model.parameters()) parameters += p.numel();
  std::printf("%zu letters, %zu of them different; %lld parameters, norms %s\n",
              text.numbers.size(), text.alphabet.size(), static_cast<long long>(parameters),
              norm_first ? "first" : "last");

  xg::optim::AdamW adam(model.parameters(), {.lr = lr});
  xg::optim::CosineAnnealingLR schedule(adam, {.T_max = steps});
  double total = 0;
  int since = 0;
  for (int step = 1; step <= steps; ++step) {
    const auto [x, y] = text.pieces();
    const Tensor loss = cross_entropy(model(x).flatten(0, 1), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    schedule.step();
    total += loss.item<double>(), ++since;
    if (step % std::max(steps / 10, 1) != 0) continue;
    std::printf("step %4d  loss %.3f\n", step, total / since);  // mean since the last line
    std::fflush(stdout);
    total = since = 0;
  }
  std::printf("\n%s\n", write(model, text, 300).c_str());
}

double number(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0') throw xg::Error(std::string("needs a number, got ") + text);
  return value;
}

int main(int argc, char** argv) try {
  bool norm_first = true;
  int steps = 1200;
  double lr = 3e-3;
  std::uint64_t seed = 0;
  std::string path = XGRAD_EXAMPLE_TEXT;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--norm-first" || option == "--norm-last") {
      norm_first = option == "--norm-first";
    } else if (i + 1 < argc && option == "--steps") {
      steps = static_cast<int>(number(argv[++i]));
    } else if (i + 1 < argc && option == "--lr") {
      lr = number(argv[++i]);
    } else if (i + 1 < argc && option == "--seed") {
      seed = static_cast<std::uint64_t>(number(argv[++i]));
    } else if (i + 1 < argc && option == "--text") {
      path = argv[++i];
    } else {
      const bool asked = option == "--help";
      std::fputs(
          "usage: char_gpt [--norm-first | --norm-last] [--steps N] [--lr RATE] [--seed N]\n"
          "                [--text FILE]\n",
          asked ? stdout : stderr);
      return asked ? 0 : 2;
    }
  }
  xg::manual_seed(seed);
  train(Text(path), norm_first, steps, lr);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "char_gpt: %s\n", error.what());
  return 1;
}
