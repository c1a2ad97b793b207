#include "process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace bench {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds(const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); }

}  // namespace

Process::Process(const std::vector<std::string>& command,
                 const std::vector<std::string>& variables) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::signal(SIGPIPE, SIG_IGN);
  start_ = now();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (const std::string& v : variables) {
      const std::size_t equal = v.find('=');
      const std::string name = v.substr(0, equal);
      equal == v.npos ? unsetenv(name.c_str()) : setenv(name.c_str(), v.c_str() + equal + 1, 1);
    }
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  in_ = to[1];
  out_ = from[0];
}

std::optional<std::string> Process::ask(const std::string& line) {
  kill(pid_, SIGCONT);
  const std::string text = line + "\n";
  if (write(in_, text.data(), text.size()) < 0) return std::nullopt;
  std::string answer;
  for (char c = 0; read(out_, &c, 1) == 1; answer += c) {
    if (c != '\n') continue;
    kill(pid_, SIGSTOP);
    return answer;
  }
  return std::nullopt;
}

Process::Usage Process::end() {
  if (pid_ < 0) return usage_;
  kill(pid_, SIGCONT);
  close(in_);
  int status = 0;
  rusage use{};
  wait4(pid_, &status, 0, &use);
  close(out_);
  pid_ = -1;
  return usage_ = {seconds(use.ru_utime) + seconds(use.ru_stime), now() - start_,
                   double(use.ru_maxrss) / 1024, status != 0};
}

}  // namespace bench
