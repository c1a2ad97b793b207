#include "xgrad/data/idx.hpp"

#include <filesystem>
#include <vector>

#include "io/reader.hpp"

namespace xgrad::data {

namespace {

/// An IDX file of bytes: two zeros, 8 for the type, the number of dimensions; their sizes, four
/// bytes each, the high one first; the data.
struct IdxFile : detail::Reader {
  Shape shape;

  IdxFile(const std::string& path, int dims) : Reader("read_idx", path) {
    unpack();
    const std::uint32_t magic = 0x800 + static_cast<std::uint32_t>(dims);
    const std::uint32_t found = word();
    if (found != magic) fail(0, "magic number ", found, ", expected ", magic);
    for (int d = 0; d < dims; ++d) shape.push_back(word());
    const std::uint64_t expected = bytes_for(shape, float32, 4) / 4;  // a byte each, in the file
    if (expected != left()) {
      fail(offset() + std::min(expected, left()), "sizes ", shape, " need ", expected,
           " bytes of data, the file has ", left());
    }
  }

  /// Each byte of the data, and its place.
  void for_each(const auto& use) {
    unsigned char buffer[1 << 14];
    while (left() > 0) {
      const std::uint64_t start = offset();
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left(), sizeof buffer));
      read({reinterpret_cast<char*>(buffer), size});
      for (std::size_t i = 0; i < size; ++i) use(buffer[i], start + i);
    }
  }

 private:
  std::uint32_t word() {
    unsigned char b[4];
    read({reinterpret_cast<char*>(b), sizeof b});
    return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
  }
};

}  // namespace

Dataset read_idx(const std::string& images, const std::string& labels, std::int64_t classes) {
  IdxFile label_file(labels, 1);
  IdxFile image_file(images, 3);
  const Shape& shape = image_file.shape;
  if (shape[0] != label_file.shape[0]) {
    image_file.fail(4, "images of shape ", shape, ", but ", labels, " has labels of shape ",
                    label_file.shape);
  }
  Dataset all{.inputs = empty({shape[0], shape[1] * shape[2]}),
              .labels = empty(shape[0], {.dtype = int64}),
              .classes = classes};
  std::int64_t* label = all.labels.mut<std::int64_t>().data();
  label_file.for_each([&](unsigned char byte, std::uint64_t offset) {
    if (byte >= classes) label_file.fail(offset, "label ", byte, " of ", classes, " classes");
    *label++ = byte;
  });
  float* pixel = all.inputs.mut<float>().data();
  image_file.for_each(
      [&](unsigned char byte, std::uint64_t) { *pixel++ = static_cast<float>(byte) / 255.0F; });
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
