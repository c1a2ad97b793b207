#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "detail/message.hpp"
#include "xgrad/io.hpp"

namespace xgrad {

namespace detail {

namespace fs = std::filesystem;

AtomicFile::AtomicFile(const char* op, const std::string& path) : op_(op), path_(path) {
  std::error_code failed;
  fs::path followed = path;  // also a link that leads to nothing yet
  for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(followed, failed)); ++links) {
    followed = followed.parent_path() / fs::read_symlink(followed, failed);
  }
  target_ = fs::weakly_canonical(followed, failed);
  if (failed) target_ = path;
  const fs::file_status before = fs::status(target_, failed);
  throw_if<FileError>(fs::exists(before) && !fs::is_regular_file(before), op, ": ", path,
                      ": is not a regular file");
  static std::atomic<int> count = 0;
  temporary_ = message(target_, ".tmp", getpid(), ".", ++count);
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail();
  if (fs::exists(before)) fs::permissions(temporary_, before.permissions(), failed);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void AtomicFile::fail() const {
  throw FileError(message(op_, ": ", path_, ": ", std::strerror(errno)));
}

void AtomicFile::write(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), bytes.size());
    if (done < 0 && errno != EINTR) fail();
    if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::commit() {
  if (fsync(file_) != 0) fail();
  if (close(std::exchange(file_, -1)) != 0) fail();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
  if (!flush_folder(fs::path(target_).parent_path())) fail();
}

bool flush_folder(const std::string& path) {
  const int folder = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) return true;  // writable but not readable: the system flushes it some time
  const bool flushed = fsync(folder) == 0 || errno == EINVAL;  // not every file system can
  const int reason = errno;
  close(folder);
  errno = reason;
  return flushed;
}

}  // namespace detail

void write_file(const std::string& path, std::string_view bytes) {
  detail::AtomicFile file("write_file", path);
  file.write(bytes);
  file.commit();
}

}  // namespace xgrad
