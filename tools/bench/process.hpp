#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// A program with a pipe to its input and one from its output.
class Process {
 public:
  struct Usage {
    double seconds = 0;    ///< processor time of it and its children
    double wall = 0;       ///< from start to end
    double megabytes = 0;  ///< peak memory of the largest of them
    bool failed = false;
  };

  /// `variables` ("NAME=value", or "NAME" to remove it) change its environment.
  Process(const std::vector<std::string>& command, const std::vector<std::string>& variables);
  ~Process() { end(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Sends a line and waits for the answer, without its newline; nothing once the program has
  /// ended. In between the program stands still: OpenBLAS's threads, for one, look for work for a
  /// tenth of a second after the last, on a processor that another program's turn needs.
  std::optional<std::string> ask(const std::string& line);
  /// Closes its input and waits until it ends.
  Usage end();

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  double start_ = 0;
  Usage usage_;
};

}  // namespace bench
