#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::tests {

/// What work() returns in a child of this process, or the code and the words of the error that it throws. A child that
/// hangs is killed after a minute.
inline std::string in_a_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::string words;
    try {
      words = work();
    } catch (const error& e) {
      words = fmt::format("{}: {}", name(e.code()), e.what());
    }
    _exit(write(ends[1], words.data(), words.size()) == static_cast<ssize_t>(words.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string words(4096, '\0');
  const ssize_t bytes = read(ends[0], words.data(), words.size());
  close(ends[0]);
  words.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status)) : words;
}

}  // namespace sheaf::tests
