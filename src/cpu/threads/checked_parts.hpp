#pragma once

#include <omp.h>

#include "core/cpu_state.hpp"
#include "core/startable.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/movement/problem.hpp"

namespace sheaf::cpu {

/// Lowest position of a bad index that one thread has found.
struct first_bad {
  std::uint64_t position = ~std::uint64_t{0};
  void note(std::uint64_t bad_position) noexcept { position = std::min(position, bad_position); }
  bool found() const noexcept { return position != ~std::uint64_t{0}; }
  /// The same where position 0 is position `begin` of a longer list.
  first_bad behind(std::uint64_t begin) const noexcept { return {found() ? begin + position : position}; }
};

/// The error report for index[position], with the index's value as the caller's type has it.
inline core::index_report report_of(index_span index, std::uint64_t position, std::uint64_t call, std::uint64_t limit,
                                    const core::index_wording& wording) {
  core::index_report report{.call = call, .position = position, .limit = limit, .wording = &wording};
  report.is_signed = index.type == index_type::i32 || index.type == index_type::i64;
  switch (index.type) {
    case index_type::u32: report.value = static_cast<const std::uint32_t*>(index.data)[position]; break;
    case index_type::i32:
      report.value = static_cast<std::uint64_t>(std::int64_t{static_cast<const std::int32_t*>(index.data)[position]});
      break;
    default: report.value = static_cast<const std::uint64_t*>(index.data)[position];
  }
  return report;
}

/// Runs work() -> first_bad under a new call number, and reports the bad index to the context.
template <class Work>
void run_checked(const context& ctx, const primitives::movement& movement, index_span index,
                 const core::index_wording& wording, Work work) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const first_bad bad = work();
  if (bad.found()) state.keep_first(report_of(index, bad.position, call, movement.indexed_count, wording));
}

/// Threads of this context that the bytes of a movement are worth.
inline std::uint64_t threads_worth(const context& ctx, const primitives::movement& movement) {
  return parts_worth(2 * movement.sequential_bytes() + movement.index_bytes(),
                     static_cast<std::uint64_t>(core::cpu(ctx).threads));
}

/// Cuts [0, count) into equal parts, one for each of some threads, and calls work(begin, end, part) -> first_bad for
/// each. Reports the first bad index of all parts to the context, under a new call number.
template <class Work>
void for_each_checked_part(const context& ctx, const primitives::movement& movement, std::uint64_t count,
                           index_span index, const core::index_wording& wording, std::uint64_t most_threads,
                           Work work) {
  const auto threads = static_cast<int>(most_threads);
  run_checked(ctx, movement, index, wording, [&]() -> first_bad {
    if (threads == 1) return work(std::uint64_t{0}, count, std::uint64_t{0});
    std::uint64_t position = ~std::uint64_t{0};
#pragma omp parallel num_threads(core::startable(threads)) reduction(min : position)
    {
      const auto part = static_cast<std::uint64_t>(omp_get_thread_num());
      const auto parts = static_cast<std::uint64_t>(omp_get_num_threads());
      position =
          std::min(position, work(part_begin(count, parts, part), part_begin(count, parts, part + 1), part).position);
    }
    return {position};
  });
}

}  // namespace sheaf::cpu
