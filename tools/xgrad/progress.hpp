#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tool {

/// Seconds since its construction.
class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Shows how far a training run is: on a terminal one line that is drawn again a few times a
/// second, elsewhere some ten plain lines.
class Progress {
 public:
  /// `first_step`: those that an earlier run has made.
  Progress(std::string title, std::int64_t epochs, std::int64_t steps_per_epoch,
           std::int64_t first_step = 0);
  /// For something else than training: only `show` is called.
  explicit Progress(std::string title) : Progress(std::move(title), 1, 1) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After each step; loss and accuracy are averages over the epoch so far.
  void step(std::int64_t steps_done, std::int64_t batch_size, double loss, double accuracy);
  void epoch(std::int64_t epoch, double loss, double accuracy, double test_accuracy);
  /// Draws the line now, on a terminal.
  void show(double share, const std::string& text);

 private:
  void erase();

  std::string title_;
  std::int64_t epochs_;
  std::int64_t steps_;
  std::int64_t first_step_;
  bool terminal_;
  bool drawn_ = false;
  Clock clock_;
  double next_draw_ = 0;
};

/// Lets Ctrl-C and SIGTERM end training after the current step; a second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  static const char* requested();  ///< by what: "Ctrl-C", "SIGTERM"; null: not at all

 private:
  void (*before_int_)(int);
  void (*before_term_)(int);
};

}  // namespace tool
