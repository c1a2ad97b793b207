#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <cmath>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "text.hpp"

namespace tool {

namespace {

std::string duration(double seconds) {
  const auto s = std::int64_t{std::lround(seconds)};
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

Progress::Progress(std::string title, std::int64_t epochs, std::int64_t steps_per_epoch,
                   std::int64_t first_step)
    : title_(std::move(title)),
      epochs_(epochs),
      steps_(std::max<std::int64_t>(1, epochs * steps_per_epoch)),
      first_step_(first_step),
      terminal_(isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (drawn_) fmt::print("\r\033[K");
  std::fflush(stdout);
  drawn_ = false;
}

void Progress::step(std::int64_t steps_done, std::int64_t batch_size, double loss,
                    double accuracy) {
  const double now = clock_.seconds();
  if (!terminal_ || (now < next_draw_ && steps_done < steps_)) return;
  next_draw_ = now + 0.1;
  const double share = static_cast<double>(steps_done) / static_cast<double>(steps_);
  const double rate = static_cast<double>(steps_done - first_step_) / now;  // steps a second
  show(share, fmt::format(" {:3.0f} %  loss {:.4f}  accuracy {:5.2f} %  {:.0f} samples/s  {} left",
                          100 * share, loss, 100 * accuracy, rate * static_cast<double>(batch_size),
                          duration(static_cast<double>(steps_ - steps_done) / rate)));
}

void Progress::show(double share, const std::string& text) {
  if (!terminal_) return;
  const int room =
      static_cast<int>(terminal_width()) - static_cast<int>(title_.size() + text.size()) - 4;
  std::string bar;
  if (room >= 8) {
    const auto width = static_cast<std::size_t>(std::min(room, 30));
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
    bar = " [" + std::string(full, '=') + std::string(width - full, ' ') + "]";
  }
  fmt::print("\r\033[K{}{}{}", title_, bar, text);
  std::fflush(stdout);
  drawn_ = true;
}

void Progress::epoch(std::int64_t epoch, double loss, double accuracy, double test_accuracy) {
  // Ten lines tell the story of a run of any length; --log has every epoch.
  const std::int64_t every = (epochs_ + 9) / 10;
  if (terminal_ || (epoch % every != 0 && epoch != 1 && epoch != epochs_)) return;
  fmt::print("{}  epoch {:>3}/{}  loss {:.4f}  accuracy: train {:6.2f} %, test {:>8}\n", title_,
             epoch, epochs_, loss, 100 * accuracy, percent(test_accuracy));
  std::fflush(stdout);
}

namespace {
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int number) {
  interrupted = number;
  std::signal(number, SIG_DFL);
}
}  // namespace

InterruptGuard::InterruptGuard()
    : before_int_(std::signal(SIGINT, on_interrupt)),
      before_term_(std::signal(SIGTERM, on_interrupt)) {
  interrupted = 0;
}
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
}
const char* InterruptGuard::requested() {
  return interrupted == 0 ? nullptr : interrupted == SIGINT ? "Ctrl-C" : "SIGTERM";
}

}  // namespace tool
