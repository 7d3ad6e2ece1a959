#include "cuda/sort/word_costs.hpp"

namespace sheaf::cuda {
namespace {

double gather_seconds(const machine& m, std::uint64_t count, std::uint64_t record_bytes, std::uint64_t stride_bytes) {
  const double written = static_cast<double>(count) * static_cast<double>(record_bytes);
  return 3 * m.step_seconds + m.random_reads(count, record_bytes, count * stride_bytes) +
         written / m.copy_bytes_per_second;
}

}  // namespace

double gather_seconds(const primitives::sort_problem& p, const machine& m) {
  double seconds = p.writes_rows ? gather_seconds(m, p.count, p.rows.record_bytes, p.rows.in_stride_bytes) : 0;
  for (std::uint32_t c = 0; c < p.column_count; ++c) {
    seconds += gather_seconds(m, p.count, p.columns[c].record_bytes, p.columns[c].in_stride_bytes);
  }
  return seconds;
}

}  // namespace sheaf::cuda
