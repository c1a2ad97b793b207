#include "io/reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "detail/check.hpp"

namespace xgrad::detail {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

struct Reader::Gzip : z_stream {
  Gzip() : z_stream{} { inflateInit2(this, 15 + 16); }  // gzip with the greatest window
  ~Gzip() { inflateEnd(this); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  bool member_ended = false;
  unsigned char packed[1 << 14];
};

Reader::Reader(const char* op, const std::string& path)
    : op_(op), path_(path), file_(nullptr, std::fclose) {
  // Without O_NONBLOCK a pipe would keep us waiting for somebody to write.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor >= 0) file_.reset(fdopen(descriptor, "rb"));
  if (!file_ || fstat(descriptor, &status) != 0) {
    throw FileError(message(op, ": ", path, ": ", std::strerror(errno)));
  }
  throw_if<FileError>(!S_ISREG(status.st_mode), op, ": ", path, ": is not a regular file",
                      S_ISDIR(status.st_mode) ? " but a folder" : "; copy what it gives to one");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

Reader::Reader(const char* op, std::string name, std::span<const unsigned char> bytes)
    : op_(op),
      path_(std::move(name)),
      file_(fmemopen(const_cast<unsigned char*>(bytes.data()), bytes.size(), "rb"), std::fclose),
      size_(bytes.size()) {}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;

void Reader::need(std::uint64_t bytes) const {
  if (bytes > left()) {
    fail(size_, "the file ends early: ", bytes, " bytes are needed from offset ", offset_);
  }
}

void Reader::read(std::span<char> to) {
  need(to.size());
  if ((gzip_ ? unpacked(to) : std::fread(to.data(), 1, to.size(), file_.get())) != to.size()) {
    fail(offset_, "cannot be read");
  }
  offset_ += to.size();
}

std::string Reader::text(std::uint64_t size) {
  need(size);
  std::string bytes(size, '\0');
  read(bytes);
  return bytes;
}

std::uint64_t Reader::bytes_for(const Shape& shape, DType dtype, std::uint64_t offset) const try {
  return checked_bytes("header", shape, dtype);
} catch (const ShapeError& error) {
  fail(offset, error.what());
}

Tensor Reader::tensor(const Shape& shape, DType dtype) {
  const std::uint64_t bytes = bytes_for(shape, dtype, offset_);
  need(bytes);
  const Tensor x = empty(shape, {.dtype = dtype});
  const std::span<char> to = bytes_of(x);
  read(to);
  const auto* wrong = std::find_if(to.data(), to.data() + to.size(),
                                   [](char byte) { return byte != 0 && byte != 1; });
  if (dtype == bool_ && wrong != to.data() + to.size()) {
    fail(offset_ - bytes + static_cast<std::size_t>(wrong - to.data()),
         "a bool that is neither 0 nor 1");
  }
  return x;
}

// ---- gzip ---------------------------------------------------------------------------------------

bool Reader::start_unpacking() {
  std::rewind(file_.get());
  gzip_ = std::make_unique<Gzip>();
  gzip_->avail_in =
      static_cast<uInt>(std::fread(gzip_->packed, 1, sizeof gzip_->packed, file_.get()));
  gzip_->next_in = gzip_->packed;
  return gzip_->avail_in >= 2 && gzip_->packed[0] == 0x1f && gzip_->packed[1] == 0x8b;
}

void Reader::unpack() {
  if (!start_unpacking()) {
    gzip_ = nullptr;
    std::rewind(file_.get());
    return;
  }
  constexpr std::uint64_t much = 32 << 20;
  constexpr std::uint64_t growth = 200;
  char buffer[1 << 14];
  std::uint64_t total = 0;
  while (const std::size_t more = unpacked(buffer)) {
    total += more;
    if (total > much && total / growth > size_) {
      fail(0, "unpacks to more than ", growth,
           " times its size; if you trust it, unpack it with gunzip first");
    }
  }
  size_ = total;
  start_unpacking();
}

/// Fills `to` as far as the data go.
std::size_t Reader::unpacked(std::span<char> to) {
  Gzip& z = *gzip_;
  std::size_t done = 0;
  while (done < to.size()) {
    if (z.avail_in == 0) {
      z.avail_in = static_cast<uInt>(std::fread(z.packed, 1, sizeof z.packed, file_.get()));
      z.next_in = z.packed;
    }
    const auto offset = static_cast<std::uint64_t>(std::ftell(file_.get())) - z.avail_in;
    if (z.avail_in == 0 && z.member_ended) break;
    if (z.avail_in == 0) fail(offset, "the gzip data end early");
    if (std::exchange(z.member_ended, false)) inflateReset(&z);  // another one follows
    const std::size_t room = std::min<std::size_t>(to.size() - done, 1 << 30);
    z.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    z.avail_out = static_cast<uInt>(room);
    const int status = inflate(&z, Z_NO_FLUSH);
    done += room - z.avail_out;
    z.member_ended = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END) fail(offset, "the gzip data are damaged");
  }
  return done;
}

// ---- words --------------------------------------------------------------------------------------

std::span<char> bytes_of(const Tensor& x) {
  const TensorImpl& impl = x.impl();
  const std::int64_t size = itemsize(x.dtype());
  return {reinterpret_cast<char*>(impl.storage->data()) + impl.offset * size,
          static_cast<std::size_t>(x.numel() * size)};
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string out(text.substr(0, most));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text.size() > most ? out + "..." : out;
}

}  // namespace xgrad::detail
