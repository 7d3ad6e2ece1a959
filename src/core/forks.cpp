#include "core/forks.hpp"

#include <pthread.h>

#include <atomic>

namespace sheaf::core {
namespace {

constinit std::atomic<std::uint32_t> forks{0};

void count_fork() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint32_t forks_so_far() noexcept {
  // Asking for the process id would take a system call where a small call plans in some 100 ns.
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace sheaf::core
