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
///
/// The team has all threads, however few the tasks: GCC's OpenMP ends the threads that a smaller team leaves over and
/// starts them again for the next larger one, some 100 us each, so the loops of one call have teams of one size.
template <class Work>
void for_each_task(std::uint64_t tasks, std::uint64_t threads, Work work) {
  if (threads <= 1 || tasks <= 1) {
    for (std::uint64_t task = 0; task < tasks; ++task) work(task);
    return;
  }
  kept_exception exception;
#pragma omp parallel for num_threads(core::startable(static_cast <int>(threads))) schedule(dynamic, 1)
  for (std::uint64_t task = 0; task < tasks; ++task) exception.run(work, task);
  exception.rethrow();
}

}  // namespace sheaf::core
