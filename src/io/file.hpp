#pragma once

#include <span>
#include <string>

namespace xgrad::detail {

/// A file that appears under its name when it is complete and on the disk, and not before: whoever
/// reads, and whenever the machine stops, there is the whole new file or the whole old one.
/// `op` stands first in its errors, all of them FileError.
class AtomicFile {
 public:
  /// Writes into a temporary file in the same folder. A link is followed; in the place of anything
  /// but a regular file nothing is put.
  AtomicFile(const char* op, const std::string& path);
  ~AtomicFile();  ///< without commit(): nothing has happened
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const char> bytes);
  /// Flushes, renames, and flushes the folder.
  void commit();

 private:
  [[noreturn]] void fail() const;  ///< with the reason in errno

  const char* op_;
  std::string path_;       // as given
  std::string target_;     // where a link leads
  std::string temporary_;  // empty once it is renamed
  int file_ = -1;
};

/// What was renamed and made in a folder is then on the disk. False: see errno.
bool flush_folder(const std::string& path);

}  // namespace xgrad::detail
