#include "plan/store/temporary_names.hpp"

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace sheaf::io {
namespace {

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};

// What a signal handler can look through: slots without a lock. The outputs of a command are few.
constexpr std::size_t most_names = 64;
constinit std::atomic<const char*> names[most_names]{};

constinit std::atomic<int> steps_under_way{0};
constinit std::atomic<bool> is_ending{false};
// A child that was forked has the notes, and the files are its parent's.
constinit std::atomic<pid_t> owner{0};

// A step is a few system calls, which take long only where a file system hangs. Then files stay behind.
constexpr int most_waits = 5000;  // of a millisecond

sigset_t signals_that_end() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : ending_signals) sigaddset(&signals, signal);
  return signals;
}

void replace_name(const char* from, const char* to) noexcept {
  for (auto& name : names) {
    const char* expected = from;
    if (name.compare_exchange_strong(expected, to)) return;
  }
}

// Only async-signal-safe calls are allowed here. The signal is blocked while its handler runs: raised, it ends the
// process when the handler returns, so that a shell sees which it was.
extern "C" void end_by_signal(int signal) {
  const int reason = errno;
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  raise(signal);
  errno = reason;
}

}  // namespace

whole_step::whole_step() noexcept {
  const sigset_t ending = signals_that_end();
  pthread_sigmask(SIG_BLOCK, &ending, &signals_before_);
  steps_under_way.fetch_add(1);
  if (!is_ending.load()) return;
  steps_under_way.fetch_sub(1);
  for (;;) pause();  // another thread is about to end the process
}

whole_step::~whole_step() {
  steps_under_way.fetch_sub(1);
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

void note_temporary(const char* path) noexcept { replace_name(nullptr, path); }
void forget_temporary(const char* path) noexcept { replace_name(path, nullptr); }

void remove_temporaries_on_signals() noexcept {
  owner.store(getpid());
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  action.sa_mask = signals_that_end();
  for (const int signal : ending_signals) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

void remove_temporaries() noexcept {
  if (owner.load() != getpid()) return;
  is_ending.store(true);
  for (int waits = 0; steps_under_way.load() > 0; ++waits) {
    if (waits == most_waits) return;
    poll(nullptr, 0, 1);
  }
  for (const auto& name : names) {
    if (const char* const path = name.load()) unlink(path);
  }
}

}  // namespace sheaf::io
