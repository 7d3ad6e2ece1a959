#include <atomic>

#include "core/cpu_state.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/spmm.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

/// Values of a row that a thread takes at least, a line of f32.
constexpr std::uint64_t least_values = 16;

std::uint64_t parts_of_row(const spmm_problem& p, std::uint64_t threads) {
  const std::uint64_t worth = parts_worth(p.matrix.entries * p.x_row_bytes(), threads);
  return std::min(worth, (p.values_per_row + least_values - 1) / least_values);
}

// Adds to the values [first, end) of all rows of Y, entry by entry of the matrix.
bool multiply_part(const spmm_problem& p, const spmm_buffers& b, std::byte* sums, std::uint64_t sum_stride,
                   std::uint64_t first, std::uint64_t end) {
  const std::uint64_t width = end - first;
  const reduction_kernels kernels = kernels_of_rows(p.x, p.y, reduction::add, true, width);
  const host_rows rows(p.matrix, b.a);
  const auto* const x = static_cast<const std::byte*>(b.x.data) + first * bytes(p.x);
  std::byte* const part = sums + first * kernels.sum_bytes;
  bool has_faults = false;
  for (std::uint64_t c = 0; c < p.matrix.columns; ++c) {
    kernels.combine(part + c * sum_stride, nullptr, nullptr, nullptr, 0, width, true);
  }
  with_entries(b.a.column_indices, [&](const auto* column_of) {
    for (std::uint64_t row = 0; row < p.matrix.rows; ++row) {
      if (!rows.is_row(row)) {
        has_faults = true;
        continue;
      }
      const std::uint64_t offset = row * p.x_stride_bytes;
      for (std::uint64_t place = rows.begin(row); place < rows.end(row); ++place) {
        const auto column = static_cast<std::uint64_t>(column_of[place]);  // extends the sign
        if (column >= p.matrix.columns) {
          has_faults = true;
          continue;
        }
        double weight = 0;
        convert_weights(b.a.values, place, 1, p.sum(), &weight);
        kernels.combine(part + column * sum_stride, x, &offset, &weight, 1, width, false);
      }
    }
  });
  for (std::uint64_t c = 0; c < p.matrix.columns; ++c) {
    std::byte* const y = static_cast<std::byte*>(b.y.data) + c * p.y_stride_bytes + first * bytes(p.y);
    kernels.scale(y, part + c * sum_stride, width, b.alpha, b.beta);
  }
  return has_faults;
}

}  // namespace

std::uint64_t by_value_scratch_bytes(const spmm_problem& p) {
  return core::scratch_aligned(p.matrix.y_count() * p.sum_row_bytes());
}

bool multiply_by_value(const context& ctx, const spmm_problem& p, const spmm_buffers& b, std::byte* scratch) {
  std::atomic<bool> has_faults = false;
  const std::uint64_t parts = parts_of_row(p, static_cast<std::uint64_t>(core::cpu(ctx).threads));
  for_each_range(p.values_per_row, parts, [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
    if (multiply_part(p, b, scratch, p.sum_row_bytes(), first, end)) has_faults.store(true, std::memory_order_relaxed);
  });
  return has_faults.load();
}

namespace {

// Owner computes, by columns of Y: each thread owns some values of all rows. No sort, but the matrix is read by every
// thread, and rows of Y where its columns say.
plan::planned plan_by_value(const spmm_problem& p, const plan::scope& scope) {
  if (!p.matrix.transposed) return plan::rejected("multiplies by columns, but the product is not transposed");
  const machine& m = scope.machine;
  plan::planned plan;
  plan.scratch_bytes = by_value_scratch_bytes(p);
  movement scatter = gather_of_columns(p.matrix);
  scatter.record_bytes = scatter.indexed_stride_bytes = p.sum_row_bytes();
  scatter.sequential_stride_bytes = 0;
  scatter.indexed_count = p.matrix.columns;
  const memory_cost writes = p.matrix.entries > 0 ? scatter_cost(scatter, m) : memory_cost{};
  const std::uint64_t parts = parts_of_row(p, m.parallelism);
  const double share = static_cast<double>(m.parallelism) / static_cast<double>(parts);
  const std::uint64_t streamed =
      p.matrix.matrix_bytes() * parts + p.matrix.rows * p.x_row_bytes() + 3 * p.matrix.columns * p.sum_row_bytes();
  constexpr double digits_per_entry = 4;
  constexpr double digits_per_value = 0.1;
  plan.add("latency", m.launch_seconds + m.step_seconds);
  plan.add_overlapped(
      overlap_exponent,
      {{"streamed", m.streamed(streamed, streamed)},
       {"random write", share * writes.indexed_random},
       {"steps", shared_digit_seconds(p.matrix.entries, digits_per_entry, m, 1) +
                     shared_digit_seconds(p.matrix.entries, digits_per_value * static_cast<double>(p.values_per_row), m,
                                          parts)}});
  return plan;
}

void run_by_value(const context& ctx, const spmm_problem& p, const plan::planned&, const spmm_buffers& b,
                  std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  if (multiply_by_value(ctx, p, b, scratch)) state.keep_first(find_fault(p.matrix, b.a, csr_call::spmm, call));
}

}  // namespace

extern constinit const spmm_variant spmm_by_value{"cpu.by_value", backend_kind::cpu, plan_by_value, run_by_value};

}  // namespace sheaf::cpu
