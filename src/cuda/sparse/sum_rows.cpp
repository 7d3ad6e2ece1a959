#include "cuda/sparse/sum_rows.hpp"

#include <algorithm>

#include "cuda/movement/memory_cost.hpp"

namespace sheaf::cuda {

using primitives::spmv_problem;

namespace {

/// Lanes of a row of average length: each takes four places at once.
std::uint32_t lanes_of(const spmv_problem& p) noexcept {
  const std::uint64_t average = (p.entries + p.rows - 1) / std::max<std::uint64_t>(1, p.rows);
  return average <= 4 ? 1 : average <= 8 ? 2 : average <= 16 ? 4 : average <= 40 ? 8 : average <= 96 ? 16 : 32;
}

}  // namespace

rows_decision decide_rows(const spmv_problem& p, core::scratch_offsets& place) noexcept {
  constexpr std::uint64_t most_chunks_of_a_lane = 32;
  constexpr std::uint64_t log2_most_long_rows = 22;
  rows_decision d;
  d.lanes = lanes_of(p);
  d.long_entries = std::max(std::uint64_t{4} * d.lanes * most_chunks_of_a_lane, (p.entries >> log2_most_long_rows) + 1);
  if (p.has_row_ends) return d;
  // Rows that do not overlap are at most as many as their least length goes into the entries.
  d.most_long_rows = std::min(p.rows, p.entries / d.long_entries);
  if (!d.has_list()) return d;
  constexpr std::uint64_t bytes_of_a_row = 40;
  d.most_pieces = p.entries / piece_entries + d.most_long_rows;
  d.count_at = place.take(sizeof(std::uint64_t));
  d.list_at = place.take(d.most_long_rows * bytes_of_a_row);
  d.sums_at = place.take(d.most_pieces * p.sum_bytes());
  return d;
}

void multiply_rows(const context& ctx, const char* operation, const spmv_problem& p, const rows_decision& d,
                   const primitives::spmv_buffers& b, const csr_guard& guard, const x_source& from,
                   std::byte* scratch) {
  const auto multiply = p.value == value_type::f64 ? multiply_rows_as<double, double>
                        : p.sums == spmv_sums::f64 ? multiply_rows_as<float, double>
                                                   : multiply_rows_as<float, float>;
  multiply(ctx, operation, p, d, b, guard, from, scratch);
}

void price_rows(const spmv_problem& p, const machine& m, bool is_gathered, double spread, plan::planned& plan) {
  const std::uint64_t streamed = p.matrix_bytes() + p.y_bytes() + (is_gathered ? p.entries * p.value_bytes() : 0);
  plan.add("latency", m.launch_seconds + 2 * m.step_seconds);
  if (is_gathered || p.entries == 0) {
    plan.add("streamed", spread * m.streamed(streamed, streamed));
    return;
  }
  const memory_cost x = gather_cost(gather_of_columns(p), m);
  plan.add_overlapped(x.overlap_exponent, {{"streamed", spread * m.streamed(streamed, streamed) + x.indexed_bus},
                                           {"random read", x.access}});
}

}  // namespace sheaf::cuda
