#include "cuda/reduce/rows/cost.hpp"

#include <algorithm>

namespace sheaf::cuda {

double rows_read_seconds(std::uint64_t count, std::uint64_t row_bytes, std::uint64_t footprint, const machine& m) {
  if (count == 0 || row_bytes == 0) return 0;
  // Profiles have rates of records up to 1024 bytes; wider rows are read as fast as several of those.
  constexpr std::uint64_t widest = 1024;
  const std::uint64_t parts = (row_bytes + widest - 1) / widest;
  const double at_random = m.random_reads(count * parts, (row_bytes + parts - 1) / parts, footprint);
  return std::max(at_random, m.streamed(count * row_bytes, footprint));
}

double rows_written_seconds(std::uint64_t count, std::uint64_t row_bytes, bool reads_out, const machine& m) {
  const std::uint64_t moved = count * row_bytes * (reads_out ? 2 : 1);
  return moved == 0 ? 0 : m.streamed(moved, count * row_bytes);
}

}  // namespace sheaf::cuda
