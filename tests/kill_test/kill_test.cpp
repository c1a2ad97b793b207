#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <random>
#include <sstream>
#include <thread>

#include "plan.hpp"
#include "support/folder.hpp"
#include "xgrad/xgrad.hpp"

/// `xgrad train --checkpoint` killed at any moment, and on full disks: a checkpoint that loads is
/// always there, and the run that goes on ends as one that was never stopped.

namespace xg = xgrad;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using namespace std::chrono_literals;

namespace {

class Kill : public FolderTest {
 protected:
  Kill() {
    // Three features of two classes; 48 rows for training, in batches of 5.
    std::string rows;
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
      for (int k = 0; k < 3; ++k) rows += std::to_string(int(random() % 100) + 40 * (i % 2)) + ",";
      rows += std::to_string(i % 2) + "\n";
    }
    xg::write_file(path("data.csv"), rows);
    const int file = open(path("plan").c_str(), O_RDWR | O_CREAT, 0600);
    EXPECT_EQ(ftruncate(file, sizeof(Plan)), 0);
    void* memory = mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    plan = static_cast<Plan*>(memory);
    set(Plan::none);
    plan->last_step = -1;
  }
  ~Kill() override { munmap(plan, sizeof(Plan)); }

  void set(Plan::Fault fault, int at = 0, int number = 0) {
    plan->calls = 0;
    plan->inside = false;
    plan->fault = fault;
    plan->at = at;
    plan->number = number;
  }

  pid_t start(const Words& more) const {
    Words words = {XGRAD_TOOL, "train",     "--data",       path("data.csv"),
                   "--hidden", "8",         "--batch-size", "5",
                   "--norm",   "batch",     "--checkpoint", path("run"),
                   "--save",   path("net"), "--log",        path("log")};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    Words settings = {"LD_PRELOAD=" XGRAD_FAULTS, "XGRAD_FAULT_PLAN=" + path("plan"),
                      "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"};
    std::vector<char*> environment;
    for (std::string& word : settings) environment.push_back(word.data());
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    EXPECT_EQ(
        posix_spawn(&child, XGRAD_TOOL, &actions, nullptr, arguments.data(), environment.data()),
        0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }
  /// The exit status; -1: killed.
  static int end(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int run(const Words& more) const { return end(start(more)); }

  /// The weights, and the log without its times.
  std::string result() const {
    std::istringstream log(content(path("log")));
    std::string text;
    for (std::string line; std::getline(log, line);) {
      text += line.substr(0, line.find(",\"seconds\"")) + "\n";
    }
    return text + content(path("net"));
  }
  void start_anew() const {
    for (const char* name : {"run", "net", "log"}) fs::remove_all(path(name));
    plan->last_step = -1;
  }
  /// The last checkpoint that was saved, or a later one, can be loaded.
  void expect_checkpoint(const std::string& when) const {
    xg::StateDict tensors;
    xg::Metadata metadata;
    const xg::LoadedCheckpoint found = xg::read_checkpoint(path("run"), tensors, metadata);
    EXPECT_TRUE(found.damaged.empty()) << when;
    if (plan->last_step < 0) return;  // killed before the first was complete
    ASSERT_TRUE(found) << when;
    EXPECT_GE(find(tensors, "step")->item<std::int64_t>(), plan->last_step) << when;
  }
  bool has_temporary_files() const {
    for (const auto& entry : fs::directory_iterator(path("run"))) {
      if (entry.path().native().find(".tmp") != std::string::npos) return true;
    }
    return false;
  }

  Plan* plan;
};

TEST_F(Kill, AfterEachCallOfASave) {
  const Words words = {"--epochs", "2", "--checkpoint-every", "7"};  // 10 steps an epoch
  ASSERT_EQ(run(words), 0) << content(path("out"));
  const std::string wanted = result();
  const int calls = plan->calls;
  EXPECT_GT(calls, 100);
  Words resumed = words;
  resumed.push_back("--resume");
  int kills = 0;
  for (const Plan::Fault fault : {Plan::kill_after, Plan::kill_in_write}) {
    for (int at = 1; at <= calls; ++at) {
      // After every call of the first two saves; otherwise a sample.
      if (at % 6 != 0 && (fault == Plan::kill_in_write || at > calls / 2)) continue;
      start_anew();
      set(fault, at);
      const int status = run(words);
      if (fault == Plan::kill_in_write && status == 0) continue;  // that call was no write
      const std::string when = "fault " + std::to_string(fault) + " at call " + std::to_string(at);
      ASSERT_EQ(status, -1) << when << content(path("out"));
      expect_checkpoint(when);
      ++kills;
      if (at % 5 != 0) continue;
      set(Plan::none);
      ASSERT_EQ(run(resumed), 0) << content(path("out"));
      EXPECT_EQ(result(), wanted) << when;
      EXPECT_FALSE(has_temporary_files()) << when;
    }
  }
  EXPECT_GT(kills, calls / 2);
}

TEST_F(Kill, TwoHundredTimesHalfOfThemInsideASave) {
  const Words words = {"--epochs", "1500", "--checkpoint-every", "200", "--resume"};
  ASSERT_EQ(run(words), 0) << content(path("out"));
  const std::string wanted = result();
  std::mt19937 random(3);
  int inside = 0, outside = 0, ends = 0;
  start_anew();
  while (inside < 100 || inside + outside < 200) {
    ASSERT_LT(inside + outside, 500);
    set(Plan::none);
    const pid_t child = start(words);
    if (random() % 2 == 0) {
      const auto begin = std::chrono::steady_clock::now();
      const auto first = 1 + random() % 3;  // how many saves to let begin
      for (unsigned seen = 0; seen < first && std::chrono::steady_clock::now() - begin < 1s;) {
        while (!plan->inside && std::chrono::steady_clock::now() - begin < 1s) {
          std::this_thread::sleep_for(20us);
        }
        if (++seen == first) break;
        while (plan->inside && std::chrono::steady_clock::now() - begin < 1s) {
          std::this_thread::sleep_for(20us);
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    }
    kill(child, SIGKILL);
    const int status = end(child);
    ASSERT_LE(status, 0) << content(path("out"));
    if (status == 0) {  // it had come to its end
      ++ends;
      EXPECT_EQ(result(), wanted);
      start_anew();
      continue;
    }
    ++(plan->inside ? inside : outside);
    expect_checkpoint("kill " + std::to_string(inside + outside));
  }
  set(Plan::none);
  ASSERT_EQ(run(words), 0) << content(path("out"));
  EXPECT_EQ(result(), wanted);
  EXPECT_FALSE(has_temporary_files());
  EXPECT_GE(outside, 20);
  std::printf("%d kills inside a save, %d outside, %d runs to the end\n", inside, outside,
              ends + 1);
}

TEST_F(Kill, AFullOrReadOnlyDiskLosesNothing) {
  const Words words = {"--epochs", "2", "--checkpoint-every", "7", "--resume"};
  ASSERT_EQ(run(words), 0);
  const std::string wanted = result();
  // Four saves, the first a little shorter: from the middle on, the calls of the third.
  const int calls = plan->calls;
  for (const int number : {ENOSPC, EROFS, EIO}) {
    for (int at = calls / 2; at < calls * 2 / 3; at += 5) {
      start_anew();
      set(Plan::error, at, number);
      EXPECT_EQ(run(words), 2);
      const std::string out = content(path("out"));
      EXPECT_NE(out.find(std::strerror(number)), std::string::npos) << out;
      EXPECT_NE(out.find("/step-"), std::string::npos) << out;
      EXPECT_EQ(plan->last_step, 7);
      expect_checkpoint(std::strerror(number));
      EXPECT_FALSE(has_temporary_files());
    }
    set(Plan::none);
    ASSERT_EQ(run(words), 0) << content(path("out"));
    EXPECT_EQ(result(), wanted);
  }
}

}  // namespace
