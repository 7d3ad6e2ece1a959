#pragma once

#include <omp.h>

#include <cstddef>
#include <cstdint>

#include "core/parallel_tasks.hpp"

namespace sheaf::io {

/// core::for_each_task, whose tasks are told their thread: calls work(part, thread) for every part below `parts`, with
/// a thread below `threads`.
template <class Work>
void for_each_part(int threads, std::size_t parts, Work&& work) {
  core::for_each_task(parts, static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    work(static_cast<std::size_t>(part), threads <= 1 ? 0 : omp_get_thread_num());
  });
}

}  // namespace sheaf::io
