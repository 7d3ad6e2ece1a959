#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/threads/parallel.hpp"

namespace sheaf::cpu {

/// Parts to cut work over `bytes` of memory into: one per thread that is worth its while.
inline std::uint64_t parts_worth(std::uint64_t bytes, std::uint64_t threads) noexcept {
  return std::clamp<std::uint64_t>(bytes / bytes_per_thread, 1, std::max<std::uint64_t>(1, threads));
}

/// Calls work(part) for each of them, side by side. What a part is does not depend on how many threads there are, so
/// two loops over the same parts see the same ones.
template <class Work>
void for_each_part(std::uint64_t parts, Work work) {
  if (parts == 1) return work(std::uint64_t{0});
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (std::uint64_t part = 0; part < parts; ++part) work(part);
}

/// The same for jobs of unlike size, in any order, by at most `threads` at a time.
template <class Work>
void for_each_job(std::uint64_t jobs, std::uint64_t threads, Work work) {
  if (threads == 1) {
    for (std::uint64_t job = 0; job < jobs; ++job) work(job);
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(threads)) schedule(dynamic, 1)
  for (std::uint64_t job = 0; job < jobs; ++job) work(job);
}

/// Where a part of [0, count) begins; the next one begins where it ends.
inline std::uint64_t part_begin(std::uint64_t count, std::uint64_t parts, std::uint64_t part) noexcept {
  return count / parts * part + std::min(part, count % parts);
}

}  // namespace sheaf::cpu
