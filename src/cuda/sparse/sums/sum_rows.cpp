#include "cuda/sparse/sums/sum_rows.hpp"

#include "cuda/movement/memory_cost.hpp"

namespace sheaf::cuda {

namespace {

// What decides the order of sums: the sizes of the whole matrix.
std::uint64_t whole_rows(const spmv_problem& p) noexcept { return p.is_part() ? p.whole.rows : p.rows; }
std::uint64_t whole_entries(const spmv_problem& p) noexcept { return p.is_part() ? p.whole.entries : p.entries; }

std::uint64_t mean_length(const spmv_problem& p) noexcept {
  return (whole_entries(p) + whole_rows(p) - 1) / std::max<std::uint64_t>(1, whole_rows(p));
}

/// Rows that a warp takes at once, by the mean length of rows: a power of two that have about one to two windows of
/// places together; 0 where rows are a warp's each, or where the matrix has fewer places than a window. The bounds are
/// measured (docs/experiments/sparse.md): with 32 rows each is one lane's, which is too slow for more than 13 places.
std::uint32_t rows_of_warp(const spmv_problem& p) noexcept {
  const std::uint64_t mean = mean_length(p);
  if (mean > 160 || whole_entries(p) < window_places) return 0;
  return mean <= 13 ? 32 : mean <= 28 ? 16 : mean <= 64 ? 8 : 4;
}

}  // namespace

std::uint64_t whole_warp_entries(const spmv_problem& p) noexcept {
  const std::uint32_t rows = rows_of_warp(p);
  return rows == 0 ? ~std::uint64_t{0} : 32 / rows * most_of_a_lane + 1;
}

std::uint32_t lanes_of_row(const spmv_problem& p) noexcept {
  const std::uint64_t mean = mean_length(p);
  return mean <= 4 ? 1 : mean <= 8 ? 2 : mean <= 16 ? 4 : mean <= 40 ? 8 : mean <= 96 ? 16 : 32;
}

rows_decision decide_rows(const spmv_problem& problem, core::scratch_offsets& place,
                          std::uint64_t longest_row) noexcept {
  constexpr std::uint64_t least_long_entries = 1024;
  constexpr std::uint64_t least_long_entries_of_warps = 4096;
  constexpr std::uint64_t log2_most_long_rows = 22;
  rows_decision decision;
  constexpr std::uint64_t l1_bytes = 256 << 10;
  decision.rows_of_warp = rows_of_warp(problem);
  decision.has_random_columns =
      problem.pattern.shape == access_pattern::kind::random && problem.columns * problem.value_bytes() > l1_bytes;
  decision.long_entries = std::max(decision.rows_of_warp == 0 ? least_long_entries_of_warps : least_long_entries,
                                   (whole_entries(problem) >> log2_most_long_rows) + 1);
  if (problem.is_part()) {
    longest_row = problem.whole.longest_row;
    decision.has_few_places = decision.rows_of_warp > 0 && problem.whole.places < window_places;
  }
  decision.has_long_rows = std::min(problem.entries, longest_row) >= decision.long_entries;
  if (problem.has_row_ends || !decision.has_long_rows) return decision;
  // Rows that do not overlap are at most as many as their least length goes into the entries.
  decision.most_long_rows = std::min(problem.rows, problem.entries / decision.long_entries);
  constexpr std::uint64_t bytes_of_a_row = 40;
  decision.most_pieces = problem.entries / piece_entries + decision.most_long_rows;
  decision.count_at = place.take(sizeof(std::uint64_t));
  decision.list_at = place.take(decision.most_long_rows * bytes_of_a_row);
  decision.sums_at = place.take(decision.most_pieces * problem.sum_bytes());
  return decision;
}

void multiply_rows(const context& ctx, const spmv_problem& problem, const rows_decision& decision,
                   const spmv_buffers& buffers, const csr_guard& guard, const x_source& from, std::byte* scratch,
                   const std::uint32_t* skips) {
  const auto multiply = problem.value == value_type::f64 ? rows_of_types<double, double>::multiply
                        : problem.sums == spmv_sums::f64 ? rows_of_types<float, double>::multiply
                                                         : rows_of_types<float, float>::multiply;
  multiply(ctx, problem, decision, buffers, guard, from, scratch, skips);
}

void add_reads(const spmv_problem& problem, const machine& machine, double streamed_seconds, plan::planned& plan) {
  if (problem.entries == 0) {
    plan.add("streamed", streamed_seconds);
    return;
  }
  const memory_cost x = gather_cost(gather_of_columns(problem), machine);
  plan.add_overlapped(x.overlap_exponent, {{"streamed", streamed_seconds + x.indexed_bus}, {"random read", x.access}});
}

void price_rows(const spmv_problem& p, const machine& m, bool is_gathered, double spread, plan::planned& plan) {
  const std::uint64_t streamed = p.matrix_bytes() + p.y_bytes() + (is_gathered ? p.entries * p.value_bytes() : 0);
  plan.add("latency", m.launch_seconds + 2 * m.step_seconds);
  if (!is_gathered) return add_reads(p, m, spread * m.streamed(streamed, streamed), plan);
  plan.add("streamed", spread * m.streamed(streamed, streamed));
}

}  // namespace sheaf::cuda
