#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <atomic>
#include <chrono>

#include "support/folder.hpp"
#include "xgrad/xgrad.hpp"

/// Files that nobody vouches for: whatever is wrong with one, it is refused with a FileError that
/// names it and the offset, soon, before much memory is taken, and with nothing left behind.

extern std::atomic<std::size_t> allocated;  // bytes, ever, by operator new

namespace xg = xgrad;
namespace data = xg::data;

using Strings = std::vector<std::string>;

/// The number in so many bytes, the low one first.
inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}
inline std::string big(std::initializer_list<std::uint64_t> words) {
  std::string text;
  for (std::uint64_t w : words) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(w >> shift);
  }
  return text;
}
inline std::string zeros(std::size_t size) { return std::string(size, '\0'); }

class Malformed : public FolderTest {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string packed(const std::string& bytes) const {
    const gzFile out = gzopen(path("packed").c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    return content(path("packed"));
  }
  static void refused(const auto& read, const std::string& place, const std::string& what) {
    using Clock = std::chrono::steady_clock;
    const std::int64_t tensors = xg::live_bytes();
    const std::size_t before = allocated;
    const Clock::time_point start = Clock::now();
    std::string error = "it is read";
    std::size_t taken = 0;
    try {
      read();
    } catch (const xg::FileError& e) {
      taken = allocated - before;
      error = e.what();
    }
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(1)) << what;
    EXPECT_LT(taken, std::size_t{1} << 20) << what;
    EXPECT_EQ(xg::live_bytes(), tensors) << what;
    EXPECT_NE(error.find(place), error.npos) << what << "\n" << error;
  }
  /// Each of them, written to a file.
  void refused(const auto& read, const Strings& files) const {
    EXPECT_GE(files.size(), 30U);
    for (const std::string& bytes : files) {
      const std::string file = write("malformed", bytes);
      refused([&] { read(file); }, file + ", offset ", bytes.substr(0, 200));
    }
  }
  /// Each beginning of a file that is read as it is.
  void prefixes_refused(const auto& read, const std::string& bytes) const {
    read(write("whole", bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string file = write("prefix", bytes.substr(0, size));
      refused([&] { read(file); }, file + ", offset ", "the first " + std::to_string(size));
    }
  }
  /// What is no file at all.
  void others_refused(const auto& read) const {
    refused([&] { read(path("nowhere")); }, "nowhere: No such file", "nowhere");
    refused([&] { read(path("")); }, "a folder", "a folder");
    refused([&] { read("/dev/zero"); }, "/dev/zero: is not a regular file", "/dev/zero");
    std::filesystem::remove(path("pipe"));
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    refused([&] { read(path("pipe")); }, "pipe: is not a regular file", "a pipe without a writer");
  }
};
