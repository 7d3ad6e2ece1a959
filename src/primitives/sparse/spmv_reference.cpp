#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

/// A sum of products in twice the precision of double (Dekker 1971). Where it overflows or has a NaN it is what double
/// makes of it.
class double_double {
 public:
  void add_product(double a, double b) {
    const double product = a * b;
    plain_ += product;
    add(product, std::fma(a, b, -product));
  }
  double value() const { return std::isfinite(plain_) ? high_ + low_ : plain_; }

 private:
  void add(double term, double term_error) {
    const double sum = high_ + term;
    const double part = sum - high_;
    const double error = (high_ - (sum - part)) + (term - part);
    const double rest = low_ + error + term_error;
    high_ = sum + rest;
    low_ = rest - (high_ - sum);
  }

  double plain_ = 0;
  double high_ = 0;
  double low_ = 0;
};

double number(const void* data, value_type type, std::uint64_t i) {
  return type == value_type::f32 ? static_cast<double>(static_cast<const float*>(data)[i])
                                 : static_cast<const double*>(data)[i];
}

// Row after row, entry after entry, with one sum for each value of y.
plan::planned plan_serial(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan::serial(static_cast<double>(p.entries + p.rows), scope);
  plan.scratch_bytes = p.transposed ? core::scratch_aligned(p.columns * sizeof(double_double)) : 0;
  return plan;
}

/// alpha sum + beta y, rounded once to the type of the values.
void write(const spmv_problem& p, const spmv_buffers& buffers, std::uint64_t i, const double_double& sum) {
  double_double whole;
  whole.add_product(buffers.alpha, sum.value());
  if (p.reads_y) whole.add_product(buffers.beta, number(buffers.y, p.value, i));
  if (p.value == value_type::f32) {
    static_cast<float*>(buffers.y)[i] = static_cast<float>(whole.value());
  } else {
    static_cast<double*>(buffers.y)[i] = whole.value();
  }
}

void run_serial(const context& ctx, const spmv_problem& problem, const plan::planned&, const spmv_buffers& buffers,
                std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const host_rows rows(problem, buffers.a);
  const index_reader columns(buffers.a.column_indices, problem.columns);
  bool has_faults = false;
  auto* const sums = reinterpret_cast<double_double*>(scratch);
  if (problem.transposed) {
    for (std::uint64_t c = 0; c < problem.columns; ++c) new (sums + c) double_double;
  }
  for (std::uint64_t row = 0; row < problem.rows; ++row) {
    double_double sum;
    const bool is_row = rows.is_row(row);
    has_faults |= !is_row;
    const std::uint64_t end = is_row ? rows.end(row) : 0;
    for (std::uint64_t place = is_row ? rows.begin(row) : 0; place < end; ++place) {
      const double value = number(buffers.a.values.data, problem.value, place);
      if (!columns.in_range(place)) {
        has_faults = true;
      } else if (problem.transposed) {
        sums[columns.bits(place)].add_product(value, number(buffers.x, problem.value, row));
      } else {
        sum.add_product(value, number(buffers.x, problem.value, columns.bits(place)));
      }
    }
    if (!problem.transposed) write(problem, buffers, row, sum);
  }
  if (problem.transposed) {
    for (std::uint64_t c = 0; c < problem.columns; ++c) write(problem, buffers, c, sums[c]);
  }
  if (has_faults) state.keep_first(find_fault(problem, buffers.a, problem.call, call));
}

}  // namespace

extern constinit const spmv_variant spmv_serial{"reference.serial", backend_kind::cpu, plan_serial, run_serial};

}  // namespace sheaf::reference
