#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "targets.hpp"
#include "xgrad/xgrad.hpp"

namespace fuzz {

namespace {

namespace xg = xgrad;

/// A file in memory, under a name that can be opened.
class File {
 public:
  const std::string& holding(Bytes bytes) const {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
    return path_;
  }

 private:
  int descriptor_ = memfd_create("fuzz", 0);
  std::string path_ = "/proc/self/fd/" + std::to_string(descriptor_);
};

void require(bool held, const char* what) {
  if (held) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

/// Whether the file is read; if not, because of a FileError that says where, and nothing is left.
bool reads(const auto& read) {
  try {
    read();
    return true;
  } catch (const xg::FileError& error) {
    const std::string text = error.what();
    require(text.find(": /proc/self/fd/") != std::string::npos, "an error names the file");
    require(text.find(", offset ") != std::string::npos, "an error names the offset");
    require(text.size() < 1000, "an error is short");
    for (char c : text) require(c < 0 || c >= ' ', "an error is one line of text");
    require(xg::live_bytes() == 0, "nothing is partially loaded");
    return false;
  }
}

}  // namespace

void safetensors(Bytes bytes) {
  static const File file;
  const std::string& path = file.holding(bytes);
  xg::StateDict state;
  if (!reads([&] { state = xg::load_safetensors(path); })) return;
  std::int64_t size = 0;
  for (const auto& [name, x] : state) size += x.numel() * xg::itemsize(x.dtype());
  require(size <= static_cast<std::int64_t>(bytes.size()), "no more data than the file has");
}

void npy(Bytes bytes) {
  static const File file;
  const std::string& path = file.holding(bytes);
  xg::Tensor x;
  if (!reads([&] { x = xg::load_npy(path); })) return;
  require(x.numel() * xg::itemsize(x.dtype()) <= static_cast<std::int64_t>(bytes.size()),
          "no more data than the file has");
}

void idx(Bytes bytes) {
  static const File label_file;
  static const File image_file;
  if (bytes.empty()) return;
  const std::size_t cut = std::min<std::size_t>(bytes[0], bytes.size() - 1);
  const std::string& labels = label_file.holding(bytes.subspan(1, cut));
  const std::string& images = image_file.holding(bytes.subspan(1 + cut));
  xg::data::Dataset all;
  if (!reads([&] { all = xg::data::read_idx(images, labels); })) return;
  require(all.labels.numel() == all.inputs.size(0), "a label for each image");
}

void csv(Bytes bytes) {
  static const File file;
  if (bytes.empty()) return;
  const std::string& path = file.holding(bytes.subspan(1));
  xg::data::CsvOptions options{.header = (bytes[0] & 1) != 0,
                               .separator = (bytes[0] & 2) != 0 ? ';' : ',',
                               .find_header = (bytes[0] & 8) != 0};
  if (options.header && (bytes[0] & 4) != 0) options.label = "y";
  xg::data::Dataset all;
  if (!reads([&] { all = xg::data::read_csv(path, options); })) return;
  for (std::int64_t label : all.labels.data<std::int64_t>()) {
    require(label >= 0 && label < all.classes, "labels are below the number of classes");
  }
}

}  // namespace fuzz
