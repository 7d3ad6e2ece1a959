#pragma once

#include <utility>

#include "core/parallel_tasks.hpp"
#include "core/startable.hpp"

namespace sheaf::cpu {

/// Bytes below which a second thread costs more than it saves: some 3 us of streaming against a barrier of 1 to 2.
constexpr std::uint64_t bytes_per_thread = 32 * 1024;

/// Number of parts for work over `bytes` of memory: one per thread, but none with less than bytes_per_thread.
inline std::uint64_t parts_worth(std::uint64_t bytes, std::uint64_t threads) noexcept {
  return std::clamp<std::uint64_t>(bytes / bytes_per_thread, 1, std::max<std::uint64_t>(1, threads));
}

/// As parts_worth(), for a loop beside others of a call that have `threads` parts: all of them, or one. Teams of
/// several sizes would have their threads ended and started again (core::for_each_task).
inline std::uint64_t parts_of_team(std::uint64_t bytes, std::uint64_t threads) noexcept {
  return parts_worth(bytes, threads) > 1 ? threads : 1;
}

using core::for_each_task;

/// Calls work(part) for every part in [0, parts), in parallel. The bounds of a part do not depend on the number of
/// threads that run, so two loops over the same parts see the same records. Throws what a part throws, after all ran.
template <class Work>
void for_each_part(std::uint64_t parts, Work work) {
  if (parts == 1) return work(std::uint64_t{0});
  core::kept_exception exception;
#pragma omp parallel for num_threads(core::startable(static_cast <int>(parts))) schedule(static, 1)
  for (std::uint64_t part = 0; part < parts; ++part) exception.run(work, part);
  exception.rethrow();
}

/// First item of a part of [0, count); the next part begins where this one ends.
inline std::uint64_t part_begin(std::uint64_t count, std::uint64_t parts, std::uint64_t part) noexcept {
  return count / parts * part + std::min(part, count % parts);
}

/// Calls work(begin, end, part) for every part of [0, count), as for_each_part() does.
template <class Work>
void for_each_range(std::uint64_t count, std::uint64_t parts, Work work) {
  for_each_part(parts, [&](std::uint64_t part) {
    work(part_begin(count, parts, part), part_begin(count, parts, part + 1), part);
  });
}

/// Replaces each value by the sum of those before it, in parallel, and returns the sum of all.
/// @param sums  memory for one value of each part
inline std::uint64_t exclusive_scan(std::uint64_t* values, std::uint64_t count, std::uint64_t parts,
                                    std::uint64_t* sums) {
  for_each_range(count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = begin; i < end; ++i) sum += values[i];
    sums[part] = sum;
  });
  std::uint64_t all = 0;
  for (std::uint64_t part = 0; part < parts; ++part) all += std::exchange(sums[part], all);
  for_each_range(count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    std::uint64_t sum = sums[part];
    for (std::uint64_t i = begin; i < end; ++i) sum += std::exchange(values[i], sum);
  });
  return all;
}

}  // namespace sheaf::cpu
