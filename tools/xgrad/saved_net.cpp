#include "saved_net.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace tool {

using xgrad::StateDict;

namespace {

/// The net's tensors. Replaces a folder by the file that was read.
StateDict read(std::string& path, xgrad::Metadata& metadata) {
  if (!std::filesystem::exists(path)) throw xgrad::FileError(path + ": no such file or folder");
  StateDict tensors;
  if (!std::filesystem::is_directory(path)) {
    tensors = xgrad::load_safetensors(path, &metadata);
  } else {
    const xgrad::LoadedCheckpoint found = xgrad::read_checkpoint(path, tensors, metadata);
    if (!found) throw xgrad::FileError("no checkpoint in the folder " + path);
    for (const std::string& error : found.damaged) {
      fmt::print(stderr, "xgrad: warning: an earlier checkpoint is used. {}\n", error);
    }
    path = found.path;
  }
  const StateDict of_model = xgrad::entries_of(tensors, "model.");
  return of_model.empty() ? tensors : of_model;
}

std::string text(const xgrad::Metadata& metadata, const char* key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return value;
  }
  return "";
}

}  // namespace

SavedNet load_net(const std::string& path, const std::string& activation) {
  SavedNet saved;
  saved.path = path;
  xgrad::Metadata metadata;
  const StateDict tensors = read(saved.path, metadata);

  const auto weight = [&](const std::string& layer) {
    const xgrad::Tensor* found = find(tensors, layer + ".weight");
    return found && found->dim() == 2 ? found : nullptr;
  };
  const xgrad::Tensor* out = weight("out");
  const xgrad::Tensor* first = weight("fc1") ? weight("fc1") : out;
  if (!out) {
    throw xgrad::FileError(
        fmt::format("{}: not a net of xgrad train, whose tensors are fc1.weight, fc1.bias, "
                    "norm1.weight ... out.bias; this one has {}",
                    saved.path, tensors.empty() ? "none" : tensors.front().first + " ..."));
  }
  saved.inputs = first->size(1);
  saved.classes = out->size(0);
  saved.options.hidden.clear();
  for (int i = 1; const xgrad::Tensor* hidden = weight(fmt::format("fc{}", i)); ++i) {
    saved.options.hidden.push_back(hidden->size(0));
  }
  saved.options.norm = find(tensors, "norm1.running_mean") ? "batch"
                       : find(tensors, "norm1.weight")     ? "layer"
                                                           : "none";
  const std::string named = text(metadata, "activation");
  if (!named.empty() && !activation.empty() && named != activation) {
    throw xgrad::Error(
        fmt::format("{}: trained with --activation {}, not {}", saved.path, named, activation));
  }
  saved.options.activation = named.empty() ? activation : named;
  if (saved.options.activation.empty()) {
    throw xgrad::Error(saved.path +
                       ": does not say its activation. Give --activation relu, or what it was");
  }
  saved.data = text(metadata, "data");
  saved.net = std::make_unique<Mlp>(saved.inputs, saved.classes, saved.options);
  try {
    saved.net->load_state_dict(tensors);
  } catch (const xgrad::Error& error) {
    throw xgrad::Error(fmt::format("{}: {}", saved.path, error.what()));
  }
  saved.net->eval();
  return saved;
}

}  // namespace tool
