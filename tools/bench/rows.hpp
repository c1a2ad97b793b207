#pragma once

#include <string>
#include <vector>

namespace bench {

/// One line of the benchmark: the same work for every side that knows how.
struct Row {
  std::string group;                ///< step, products, inference, op, node, epoch, start, compile
  std::string what;                 ///< "784-128-10 sgd", "layer_norm fwd+bwd"
  std::vector<std::int64_t> sizes;  ///< of the net's layers; columns of an operation's input
  std::int64_t batch = 1;           ///< rows
  std::string norm = "";            ///< of the net's hidden layers: "", layer_norm, batch_norm
  std::string kind = "";            ///< sgd or adam; the operation
  bool backward = false;            ///< of an operation: with its backward pass
  double per = 1;                   ///< the time reported is that of one of so many equal pieces

  bool batched() const { return group == "step" || group == "products"; }
  bool blas() const { return batched() || group == "inference" || group == "epoch"; }
  std::string name() const {
    if (group == "op") {
      return what + " (" + std::to_string(batch) + ", " + std::to_string(sizes[0]) + ")";
    }
    return group + " " + what + (batched() ? ", batch " + std::to_string(batch) : "");
  }
};

/// The whole benchmark. A row is known by its place here.
inline std::vector<Row> rows() {
  std::vector<Row> all;
  const auto nets = [&all](const std::string& net, const std::vector<std::int64_t>& sizes,
                           const std::vector<std::string>& norms,
                           const std::vector<std::int64_t>& batches) {
    for (const std::string& norm : norms) {
      for (const std::int64_t batch : batches) {
        for (const char* kind : {"sgd", "adam"}) {
          const std::string what = net + (norm.empty() ? "" : " " + norm) + " " + kind;
          all.push_back({"step", what, sizes, batch, norm, kind});
        }
      }
    }
  };
  const std::vector<std::int64_t> large = {784, 256, 256, 10};
  const std::vector<std::int64_t> small = {784, 128, 10};
  const std::vector<std::int64_t> tiny = {2, 16, 16, 2};
  nets("784-128-10", small, {""}, {64});
  nets("784-256-256-10", large, {"layer_norm", "batch_norm", ""}, {32, 128, 512});
  nets("2-16-16-2", tiny, {""}, {32});
  for (const std::int64_t batch : {32, 128, 512}) {
    all.push_back({"products", "784-256 forward", {784, 256}, batch});
    all.push_back({"products", "784-256-256-10 fwd+bwd", large, batch, "", "", true});
  }
  all.push_back({"inference", "784-256-256-10 layer_norm, 1 row", large, 1, "layer_norm"});
  all.push_back({"inference", "784-256-256-10 batch_norm, 1 row", large, 1, "batch_norm"});
  all.push_back({"inference", "2-16-16-2, 1 row", tiny});
  for (const auto& [n, d] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {32, 64}, {128, 256}, {512, 1024}, {4096, 1024}}) {
    for (const char* op : {"add", "relu", "sum rows", "sum columns", "var rows", "layer_norm",
                           "batch_norm", "rms_norm", "softmax", "log_softmax", "sgd", "adam"}) {
      all.push_back({"op", op, {d}, n, "", op});
    }
    for (const char* op :
         {"add", "relu", "layer_norm", "batch_norm", "rms_norm", "softmax", "cross_entropy"}) {
      all.push_back({"op", op + std::string(" fwd+bwd"), {d}, n, "", op, true});
    }
  }
  all.push_back({"node", "1-element add, recorded", {}, 1, "", "add"});
  all.push_back({"node", "1-element add, no gradient", {}, 1, "", "plain"});
  for (const char* part : {"forward", "backward", "free"}) {
    const std::string what = std::string("chain of 10,000 adds, ") + part + " per node";
    all.push_back({"node", what, {}, 1, "", part, false, 10000});
  }
  all.push_back({"epoch", "Fashion-MNIST, 784-128-10 adam, batch 64", small, 64, "", "adam"});
  all.push_back({"start", "2-16-16-2, one step", tiny, 32, "", "sgd"});
  all.push_back({"compile", "examples/train_mlp.cpp, -O2", {}});
  return all;
}

}  // namespace bench
