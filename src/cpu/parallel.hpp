#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include <sheaf/records.hpp>

#include "core/index_report.hpp"

namespace sheaf::cpu {

/// Below this many records a second thread costs more than it saves.
constexpr std::uint64_t records_per_thread = 4096;

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

/// Calls chunk(begin, end) -> first_bad on equal parts of [0, count), one per thread, and describes the first bad index
/// of all. A count of 0 still runs one empty chunk.
template <class Chunk, class Describe>
core::index_report parallel_chunks(int threads, std::uint64_t count, Chunk chunk, Describe describe) {
  const auto useful = static_cast<int>(std::clamp<std::uint64_t>(count / records_per_thread, 1, static_cast<std::uint64_t>(threads)));
  std::uint64_t first = ~std::uint64_t{0};
#pragma omp parallel num_threads(useful) if (useful > 1) reduction(min : first)
  {
    const auto part = static_cast<std::uint64_t>(omp_get_thread_num());
    const auto parts = static_cast<std::uint64_t>(omp_get_num_threads());
    const std::uint64_t begin = count / parts * part + std::min(part, count % parts);
    const std::uint64_t end = begin + count / parts + (part < count % parts ? 1 : 0);
    first = std::min(first, chunk(begin, end).position);
  }
  return first == ~std::uint64_t{0} ? core::index_report{} : describe(first);
}

}  // namespace sheaf::cpu
