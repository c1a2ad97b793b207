#pragma once

#include "xgrad/error.hpp"
#include "xgrad/io.hpp"

namespace tool {

/// Named tensors, wherever they come from.
struct Weights {
  std::string format;  // "safetensors", "npy", "folder of npy files"
  xgrad::StateDict tensors;
  xgrad::Metadata metadata;
};

/// A safetensors file, a .npy file, or a folder that write_folder has made. Throws FileError.
Weights read_weights(const std::string& path);

/// One file NAME.npy for each tensor, and metadata.json where there are any. What could not stand
/// in the name of a file, or would be the same name to a system that knows no case, is written as
/// %2F.
void write_folder(const std::string& folder, const Weights& weights);

/// A name on one line, whatever it is made of.
std::string printable(const std::string& name);

struct InspectOptions {
  std::string path;
  std::string format = "text";  // text, json
};
/// Lists what a file holds. The exit status.
int run_inspect(const InspectOptions& options);

struct ConvertOptions {
  std::string in, out;
  bool force = false;
};
/// From a safetensors file to a folder of .npy files, or back. The exit status.
int run_convert(const ConvertOptions& options);

}  // namespace tool
