#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "core/startable.hpp"

namespace sheaf::core {

/// Keeps one of the exceptions that leave the tasks of a parallel loop, which must not leave the loop itself.
class kept_exception {
 public:
  template <class Work>
  void run(Work& work, std::uint64_t task) noexcept {
    try {
      work(task);
    } catch (...) {
      if (!is_kept_.exchange(true)) kept_ = std::current_exception();
    }
  }
  /// After the loop.
  void rethrow() const {
    if (kept_ != nullptr) std::rethrow_exception(kept_);
  }

 private:
  std::atomic<bool> is_kept_ = false;
  std::exception_ptr kept_;
};

/// Calls work(task) for every task in [0, tasks), dynamically scheduled over at most `threads` threads: for tasks of
/// unequal size that may run in any order. Throws what a task throws, after all ran; one thread stops at once.
template <class Work>
void for_each_task(std::uint64_t tasks, std::uint64_t threads, Work work) {
  if (threads <= 1) {
    for (std::uint64_t task = 0; task < tasks; ++task) work(task);
    return;
  }
  const auto most_threads = static_cast<int>(std::clamp<std::uint64_t>(tasks, 1, threads));
  kept_exception exception;
#pragma omp parallel for num_threads(core::startable(most_threads)) schedule(dynamic, 1)
  for (std::uint64_t task = 0; task < tasks; ++task) exception.run(work, task);
  exception.rethrow();
}

}  // namespace sheaf::core
