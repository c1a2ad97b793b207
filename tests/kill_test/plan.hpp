#pragma once

#include <atomic>

/// What faults.cpp does in the program under test, and what it saw; in memory that both programs
/// share, so that it can still be read when the program has been killed.
struct Plan {
  enum Fault { none, kill_after, kill_in_write, error };

  std::atomic<int> calls;       ///< open, write, fsync and rename of files that are being saved
  std::atomic<bool> inside;     ///< a save has begun and is not yet complete and on the disk
  std::atomic<long> last_step;  ///< of the last checkpoint that is; -1: none
  Fault fault;
  int at;      ///< at this call, counted from 1; errors go on from there
  int number;  ///< errno
};
