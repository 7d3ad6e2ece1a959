#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include <sheaf/context.hpp>

#include "core/cpu_state.hpp"
#include "core/index_report.hpp"
#include "primitives/movement.hpp"

namespace sheaf::cpu {

/// Below this many bytes a second thread costs more than it saves: some 3 us of streaming against a barrier of 1 to 2.
constexpr std::uint64_t bytes_per_thread = 32 * 1024;

/// The lowest position of a bad index that one thread met.
struct first_bad {
  std::uint64_t position = ~std::uint64_t{0};
  void see(std::uint64_t i) noexcept { position = std::min(position, i); }
  bool found() const noexcept { return position != ~std::uint64_t{0}; }
};

/// The report of index[i] as it stands.
inline core::index_report report_of(index_span index, std::uint64_t i, std::uint64_t call, std::uint64_t limit,
                                    core::index_role role) {
  core::index_report report{.call = call, .position = i, .limit = limit, .role = role};
  report.is_signed = index.type == index_type::i32 || index.type == index_type::i64;
  switch (index.type) {
    case index_type::u32: report.value = static_cast<const std::uint32_t*>(index.data)[i]; break;
    case index_type::i32:
      report.value = static_cast<std::uint64_t>(std::int64_t{static_cast<const std::int32_t*>(index.data)[i]});
      break;
    default: report.value = static_cast<const std::uint64_t*>(index.data)[i];
  }
  return report;
}

/// Calls chunk(begin, end, thread) -> first_bad on equal parts of [0, parts_of), one per thread that is worth its
/// while, and leaves the first bad index of all with the context, as one of a new call.
template <class Chunk>
void for_each_chunk(const context& ctx, const primitives::movement& m, std::uint64_t parts_of, index_span index,
                    core::index_role role, Chunk chunk) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const std::uint64_t worth = (2 * m.sequential_bytes() + m.index_bytes()) / bytes_per_thread;
  const auto threads = static_cast<int>(std::clamp<std::uint64_t>(worth, 1, static_cast<std::uint64_t>(state.threads)));
  first_bad first;
  if (threads == 1) {
    first = chunk(std::uint64_t{0}, parts_of, std::uint64_t{0});
  } else {
    std::uint64_t position = ~std::uint64_t{0};
#pragma omp parallel num_threads(threads) reduction(min : position)
    {
      const auto part = static_cast<std::uint64_t>(omp_get_thread_num());
      const auto parts = static_cast<std::uint64_t>(omp_get_num_threads());
      const std::uint64_t begin = parts_of / parts * part + std::min(part, parts_of % parts);
      const std::uint64_t end = begin + parts_of / parts + (part < parts_of % parts ? 1 : 0);
      position = std::min(position, chunk(begin, end, part).position);
    }
    first.position = position;
  }
  if (first.found()) state.keep_first(report_of(index, first.position, call, m.indexed_count, role));
}

}  // namespace sheaf::cpu
