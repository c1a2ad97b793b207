#pragma once

#include <memory>

#include "mlp.hpp"

namespace tool {

/// A net that `xgrad train` saved, in eval mode.
struct SavedNet {
  std::unique_ptr<Mlp> net;
  Mlp::Options options;
  std::string path;  // the file
  std::string data;  // what it was trained on; empty: the file does not say
  std::int64_t inputs = 0, classes = 0;
};

/// From a checkpoint folder or file, or a safetensors file. Sizes and norms are seen from the
/// tensors; the activation is in the metadata, and must be given for files without.
SavedNet load_net(const std::string& path, const std::string& activation);

}  // namespace tool
