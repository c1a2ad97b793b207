#pragma once

/// Reading files that nobody vouches for.

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "detail/message.hpp"
#include "xgrad/tensor.hpp"

namespace xgrad::detail {

/// A file from front to back. What is asked of it is measured against what is there before any
/// memory is taken for it. Everything that fails throws a FileError with the operation, the file,
/// the offset and the reason.
class Reader {
 public:
  /// Opens a regular file; nothing else, such as a pipe that would block or a device without end.
  /// The operation `op` stands first in errors.
  Reader(const char* op, const std::string& path);
  /// Bytes in memory (at least one), with a name for errors.
  Reader(const char* op, std::string name, std::span<const unsigned char> bytes);
  ~Reader();
  Reader(Reader&&) noexcept;

  /// If it is a gzip file, goes on with what is packed in it: unpacks it once to see that it is
  /// whole and how long it is, and refuses one that grows beyond measure.
  void unpack();

  std::uint64_t size() const { return size_; }
  std::uint64_t offset() const { return offset_; }  ///< of the byte that comes next
  std::uint64_t left() const { return size_ - offset_; }

  /// Throws unless that many bytes are left.
  void need(std::uint64_t bytes) const;
  void read(std::span<char> to);
  std::string text(std::uint64_t size);
  template <std::integral I>
  I little_endian() {
    I value = 0;
    read({reinterpret_cast<char*>(&value), sizeof value});
    return value;
  }
  /// What such a tensor takes; throws for the shape at that offset if it is beyond all bounds.
  std::uint64_t bytes_for(const Shape& shape, DType dtype, std::uint64_t offset) const;
  /// A new tensor of the bytes that come next.
  Tensor tensor(const Shape& shape, DType dtype);

  template <class... What>
  [[noreturn]] void fail(std::uint64_t offset, const What&... what) const {
    throw FileError(message(op_, ": ", path_, ", offset ", offset, ": ", what...));
  }

 private:
  struct Gzip;
  std::size_t unpacked(std::span<char> to);
  bool start_unpacking();

  const char* op_;
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<Gzip> gzip_;
  std::uint64_t size_ = 0, offset_ = 0;
};

/// The elements of a tensor as they lie in memory and in files.
std::span<char> bytes_of(const Tensor& x);

/// A piece of a file for a message: shortened, without control characters.
std::string shown(std::string_view text);

}  // namespace xgrad::detail
