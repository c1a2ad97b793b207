#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "weights.hpp"

namespace tool {

namespace {

namespace fs = std::filesystem;

/// Nothing stands there that the user has not offered.
void check_place(const ConvertOptions& o, bool to_folder) {
  const fs::file_status status = fs::status(o.out);
  if (!fs::exists(status)) return;
  if (fs::is_directory(status) != to_folder) {
    throw xgrad::FileError(fmt::format("convert: {} becomes a {}, but {} is {}", o.in,
                                       to_folder ? "folder" : "file", o.out,
                                       to_folder ? "none" : "a folder"));
  }
  if (to_folder) {
    for (const auto& entry : fs::directory_iterator(o.out)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".npy" || file.filename() == "metadata.json") continue;
      throw xgrad::FileError(
          fmt::format("convert: {} holds more than an earlier conversion ({}); name another folder",
                      o.out, file.filename().string()));
    }
  }
  if (!o.force && !(to_folder && fs::is_empty(o.out))) {
    throw xgrad::FileError(fmt::format("convert: {} is there already; --force replaces it", o.out));
  }
}

/// Removes the folder that it has made unless that got its name.
struct Temporary {
  std::string path;
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

int run_convert(const ConvertOptions& o) {
  const Weights weights = read_weights(o.in);
  const bool to_folder = weights.format == "safetensors";
  fs::path out = fs::path(o.out).lexically_normal();
  if (!out.has_filename()) out = out.parent_path();  // "folder/"
  check_place(o, to_folder);
  if (to_folder) {
    const Temporary made{fmt::format("{}.tmp{}", out.string(), getpid())};
    write_folder(made.path, weights);
    fs::remove_all(out);
    fs::rename(made.path, out);
  } else {
    xgrad::save_safetensors(out, weights.tensors, weights.metadata);
  }
  std::int64_t bytes = 0;
  for (const auto& [name, x] : weights.tensors) bytes += x.numel() * xgrad::itemsize(x.dtype());
  fmt::print("{} -> {}: {} tensor{}, {} bytes\n", o.in, o.out, weights.tensors.size(),
             weights.tensors.size() == 1 ? "" : "s", bytes);
  return 0;
}

}  // namespace tool
