#include "data/file.hpp"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "detail/message.hpp"

namespace xgrad::data {

std::string read_file(const char* reader, const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  throw_if<FileError>(error.value() != 0, reader, ": ", path, ": ", error.message());
  std::string bytes(size, '\0');
  std::ifstream in(path, std::ios::binary);
  throw_if<FileError>(!in.read(bytes.data(), static_cast<std::streamsize>(size)), reader, ": ",
                      path, ": cannot be read");
  return unpacked(reader, path, std::move(bytes));
}

std::string unpacked(const char* reader, const std::string& path, std::string bytes) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  struct Stream : z_stream {
    Stream() : z_stream{} { inflateInit2(this, 15 + 16); }  // gzip with the greatest window
    ~Stream() { inflateEnd(this); }
  } z;
  z.next_in = reinterpret_cast<Bytef*>(bytes.data());
  z.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int status = bytes.size() > std::numeric_limits<uInt>::max() ? Z_DATA_ERROR : Z_OK;
  while (status == Z_OK) {
    const std::size_t done = out.size();
    out.resize(done + std::clamp<std::size_t>(done, 1 << 16, 1 << 28));
    z.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    z.avail_out = static_cast<uInt>(out.size() - done);
    status = inflate(&z, Z_NO_FLUSH);
    out.resize(out.size() - z.avail_out);
    if (status == Z_STREAM_END && z.avail_in > 0) status = inflateReset(&z);  // the next member
  }
  if (status != Z_STREAM_END) {
    throw FileError(message(reader, ": ", path, ", offset ", bytes.size() - z.avail_in,
                            ": the gzip data end early or are damaged"));
  }
  return out;
}

}  // namespace xgrad::data
