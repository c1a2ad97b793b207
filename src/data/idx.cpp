#include "xgrad/data/idx.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "data/file.hpp"
#include "detail/message.hpp"

namespace xgrad::data {

namespace {

/// An IDX file of bytes: two zeros, 8 for the type, the number of dimensions; their sizes, four
/// bytes each, the high one first; the data.
class IdxFile {
 public:
  IdxFile(const std::string& path, std::uint32_t dims)
      : path_(path), bytes_(read_file("read_idx", path)), first_(4 * (dims + 1)) {
    if (bytes_.size() < first_) fail(bytes_.size(), "the file ends within its header");
    const std::uint32_t magic = 0x800 + dims;
    if (word(0) != magic) {
      fail(0, "magic number ", word(0), ", expected ", magic);
    }
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    std::uint64_t expected = 1;
    for (std::uint32_t d = 1; d <= dims; ++d) {
      const std::uint64_t size = word(d);
      shape_.push_back(static_cast<std::int64_t>(size));
      expected = size != 0 && expected > most / size ? most : expected * size;
    }
    const std::uint64_t present = bytes_.size() - first_;
    if (expected != present) {
      fail(first_ + std::min(expected, present), "sizes ", shape_, " need ", expected,
           " bytes of data, the file has ", present);
    }
  }

  const Shape& shape() const { return shape_; }
  std::span<const unsigned char> data() const {
    return {reinterpret_cast<const unsigned char*>(bytes_.data()) + first_, bytes_.size() - first_};
  }
  template <class... What>
  [[noreturn]] void fail(std::uint64_t offset, const What&... what) const {
    throw FileError(message("read_idx: ", path_, ", offset ", offset, ": ", what...));
  }
  std::size_t first() const { return first_; }

 private:
  std::uint32_t word(std::uint32_t index) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes_[4 * index + i]);
    }
    return value;
  }

  std::string path_;
  std::string bytes_;
  std::size_t first_;  // of the data
  Shape shape_;
};

}  // namespace

Dataset read_idx(const std::string& images, const std::string& labels, std::int64_t classes) {
  const IdxFile label_file(labels, 1);
  const IdxFile image_file(images, 3);
  const Shape& shape = image_file.shape();
  if (shape[0] != label_file.shape()[0]) {
    image_file.fail(4, "images of shape ", shape, ", but ", labels, " has labels of shape ",
                    label_file.shape());
  }
  Dataset all{.inputs = empty({shape[0], shape[1] * shape[2]}),
              .labels = empty(shape[0], {.dtype = int64}),
              .classes = classes};
  std::int64_t* label = all.labels.mut<std::int64_t>().data();
  for (const unsigned char& byte : label_file.data()) {
    if (byte >= classes) {
      label_file.fail(
          label_file.first() + static_cast<std::size_t>(&byte - label_file.data().data()), "label ",
          byte, " of ", classes, " classes");
    }
    *label++ = byte;
  }
  const auto pixels = image_file.data();
  std::transform(pixels.begin(), pixels.end(), all.inputs.mut<float>().begin(),
                 [](unsigned char byte) { return static_cast<float>(byte) / 255.0F; });
  return all;
}

Split fashion_mnist(const std::string& folder) {
  const auto part = [&](const std::string& name) {
    const auto path = [&](const std::string& rest) {
      const std::string plain = folder + "/" + name + rest;
      return std::filesystem::exists(plain) ? plain : plain + ".gz";
    };
    return read_idx(path("-images-idx3-ubyte"), path("-labels-idx1-ubyte"));
  };
  return {part("train"), part("t10k")};
}

}  // namespace xgrad::data
