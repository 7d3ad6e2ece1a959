#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/sparse/host_matrix.hpp"
#include "primitives/sparse/spmm.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

// Row after row, entry after entry, into f64 sums of all of Y.
plan::planned plan_spmm_serial(const spmm_problem& p, const plan::scope& scope) {
  const double values = static_cast<double>(p.matrix.entries + p.matrix.rows) * static_cast<double>(p.values_per_row);
  plan::planned plan = plan::serial(values, scope);
  plan.scratch_bytes = core::scratch_aligned(p.matrix.y_count() * p.values_per_row * sizeof(double));
  return plan;
}

double value_at(const void* first, value_type type, std::uint64_t i) {
  double value = 0;
  with_any_value(type, [&](auto as) { value = converted<double>(static_cast<const decltype(as)*>(first)[i]); });
  return value;
}

const void* row_at(const_value_rows rows, std::uint64_t row) {
  return static_cast<const std::byte*>(rows.data) + row * rows.stride_bytes;
}

void write_y(const spmm_problem& p, const spmm_buffers& b, const double* sums) {
  for (std::uint64_t row = 0; row < p.matrix.y_count(); ++row) {
    for (std::uint64_t k = 0; k < p.values_per_row; ++k) {
      double value = b.alpha * sums[row * p.values_per_row + k];
      if (b.beta != 0) value += b.beta * value_at(row_at(b.y, row), p.y, k);
      with_any_value(p.y, [&](auto as) {
        using T = decltype(as);
        static_cast<T*>(const_cast<void*>(row_at(b.y, row)))[k] = converted<T>(value);
      });
    }
  }
}

void run_spmm_serial(const context& ctx, const spmm_problem& p, const plan::planned&, const spmm_buffers& b,
                     std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const host_rows rows(p.matrix, b.a);
  const index_reader columns(b.a.column_indices, p.matrix.columns);
  auto* const sums = reinterpret_cast<double*>(scratch);
  std::fill_n(sums, p.matrix.y_count() * p.values_per_row, 0.0);
  bool has_faults = false;
  for (std::uint64_t row = 0; row < p.matrix.rows; ++row) {
    const bool is_row = rows.is_row(row);
    has_faults |= !is_row;
    for (std::uint64_t place = rows.begin(row); is_row && place < rows.end(row); ++place) {
      if (!columns.in_range(place)) {
        has_faults = true;
        continue;
      }
      const std::uint64_t column = columns.bits(place);
      const void* const from = row_at(b.x, p.matrix.transposed ? row : column);
      double* const to = sums + (p.matrix.transposed ? column : row) * p.values_per_row;
      const double value = value_at(b.a.values.data, p.matrix.value, place);
      for (std::uint64_t k = 0; k < p.values_per_row; ++k) to[k] += value * value_at(from, p.x, k);
    }
  }
  write_y(p, b, sums);
  if (has_faults) state.keep_first(find_fault(p.matrix, b.a, csr_call::spmm, call));
}

}  // namespace

extern constinit const spmm_variant spmm_serial{"reference.serial", backend_kind::cpu, plan_spmm_serial,
                                                run_spmm_serial};

}  // namespace sheaf::reference
