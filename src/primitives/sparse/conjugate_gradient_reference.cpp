#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

namespace sheaf::reference {
namespace {

using primitives::conjugate_gradient_buffers;
using primitives::conjugate_gradient_problem;
using primitives::csr_fault;
using primitives::spmv_problem;

const core::index_words& words(csr_fault fault) {
  return primitives::words_of(primitives::csr_call::conjugate_gradient, fault);
}

/// What is wrong with a matrix, the worst first.
core::index_report fault_of(const spmv_problem& p, const csr_view& a, std::uint64_t call) {
  const index_reader begins(a.row_begins, p.entries + 1);
  const index_reader ends(a.has_row_ends ? a.row_ends : a.row_begins, p.entries + 1);
  const std::uint64_t shift = a.has_row_ends ? 0 : 1;
  const index_reader columns(a.column_indices, p.columns);
  const auto report_of = [&](std::uint64_t row, csr_fault fault) {
    core::index_report r = begins.report(call, row, words(fault));
    r.limit = fault == csr_fault::backwards ? ends.bits(row + shift) : p.entries;
    if (fault == csr_fault::row_end) r.value = ends.bits(row + shift);
    return r;
  };
  for (std::uint64_t row = 0; row < p.rows; ++row) {
    if (!begins.in_range(row)) return report_of(row, csr_fault::row_begin);
    if (!ends.in_range(row + shift)) return report_of(row, csr_fault::row_end);
    if (begins.bits(row) > ends.bits(row + shift)) return report_of(row, csr_fault::backwards);
  }
  core::index_report lowest;
  for (std::uint64_t row = 0; row < p.rows; ++row) {
    for (std::uint64_t place = begins.bits(row); place < ends.bits(row + shift); ++place) {
      if (columns.in_range(place) || (lowest.found() && lowest.position <= place)) continue;
      lowest = columns.report(call, place, words(csr_fault::column));
      lowest.row = row;
    }
  }
  return lowest;
}

/// The textbook's loop, one vector after another, with dot products of long double. Value is that of the vectors.
template <class Value>
class serial_solver {
 public:
  serial_solver(const context& ctx, const conjugate_gradient_problem& p, const conjugate_gradient_buffers& b,
                std::byte* scratch)
      : ctx_(ctx), p_(p), b_(b), n_(p.product.rows), right_(static_cast<const Value*>(b.b)) {
    x_ = static_cast<Value*>(b.x);
    for (Value** const vector : {&direction_, &product_, &residual_, &scaled_, &best_}) {
      *vector = reinterpret_cast<Value*>(scratch);
      scratch += core::scratch_aligned(n_ * sizeof(Value));
    }
  }

  static std::uint64_t scratch_bytes(std::uint64_t n) { return 5 * core::scratch_aligned(n * sizeof(Value)); }

  void run() {
    result().b_norm = std::sqrt(dot(right_, right_));
    result().target = b_.goals.target(result().b_norm);
    if (std::all_of(right_, right_ + n_, [](Value value) { return value == 0; })) {
      std::fill(x_, x_ + n_, Value{0});
      b_.watch->report(0, 0, result().target);
      return end(stop_reason::converged, 0);
    }
    std::copy(x_, x_ + n_, best_);
    try {
      iterate();
    } catch (...) {
      std::copy(best_, best_ + n_, x_);
      throw;
    }
  }

 private:
  conjugate_gradient_result& result() const { return *b_.result; }

  void end(stop_reason reason, double residual) const {
    result().reason = reason;
    result().residual = residual;
    primitives::mark_unknown_norms(result());
  }

  void iterate() {
    set_true_residual();
    double norm = std::sqrt(dot(residual_, residual_));
    double best_norm = norm;
    double confirmed = norm;
    int in_vain = 0;
    b_.watch->report(0, norm, result().target);
    const bool is_usable =
        result().b_norm > 0 && std::isfinite(result().b_norm) && b_.goals.can_be_met(result().b_norm);
    if (!is_usable || !std::isfinite(norm)) return end(stop_reason::breakdown, norm);
    if (norm <= result().target) return end(stop_reason::converged, norm);
    if (!diagonal_is_positive()) return end(stop_reason::not_positive_definite, norm);
    scale_residual();
    std::copy(scaled_, scaled_ + n_, direction_);
    double size = dot(residual_, scaled_);
    double beta = 0;
    bool is_confirmed = true;
    while (true) {
      if (b_.watch->asks_to_stop()) return end_with_best(stop_reason::stopped);
      if (result().iterations >= b_.goals.limit) return end_with_best(stop_reason::limit);
      apply(direction_, product_);
      const double curvature = dot(direction_, product_);
      if (size == 0) return end_with_best(stop_reason::breakdown);
      if (curvature <= 0) {
        // A true residual and an older direction may cancel: a direction of 0 says nothing of the matrix.
        const bool may_have_vanished = curvature == 0 && is_confirmed && beta != 0;
        return end_with_best(may_have_vanished ? stop_reason::stagnated : stop_reason::not_positive_definite);
      }
      const double alpha = size / curvature;
      if (!std::isfinite(curvature) || !std::isfinite(alpha)) return end_with_best(stop_reason::breakdown);
      for (std::uint64_t i = 0; i < n_; ++i) {
        residual_[i] = static_cast<Value>(static_cast<double>(residual_[i]) - alpha * static_cast<double>(product_[i]));
      }
      norm = std::sqrt(dot(residual_, residual_));
      if (!std::isfinite(norm)) return end_with_best(stop_reason::breakdown);
      for (std::uint64_t i = 0; i < n_; ++i) {
        x_[i] = static_cast<Value>(static_cast<double>(x_[i]) + alpha * static_cast<double>(direction_[i]));
      }
      ++result().iterations;
      b_.watch->report(result().iterations, norm, result().target);
      is_confirmed = false;
      bool begins_anew = false;
      const bool is_best = norm < best_norm || p_.keeps_last;
      if (norm <= result().target || (is_best && norm < b_.goals.lowest(result().b_norm))) {
        const double by_recurrence = norm;
        set_true_residual();
        is_confirmed = true;
        norm = std::sqrt(dot(residual_, residual_));
        begins_anew = norm > 10 * by_recurrence;
        if (norm <= result().target) return end(stop_reason::converged, norm);
        best_norm = std::numeric_limits<double>::infinity();
        if (norm >= confirmed) ++in_vain;
        confirmed = std::min(confirmed, norm);
      }
      if (norm < best_norm || p_.keeps_last) {
        best_norm = norm;
        std::copy(x_, x_ + n_, best_);
      }
      constexpr int most_in_vain = 2;
      if (in_vain == most_in_vain) return end_with_best(stop_reason::stagnated);
      scale_residual();
      const double next_size = dot(residual_, scaled_);
      beta = begins_anew ? 0 : next_size / size;
      if (!std::isfinite(beta)) return end_with_best(stop_reason::breakdown);
      size = next_size;
      for (std::uint64_t i = 0; i < n_; ++i) {
        direction_[i] = static_cast<Value>(static_cast<double>(scaled_[i]) + beta * static_cast<double>(direction_[i]));
      }
    }
  }

  void end_with_best(stop_reason reason) {
    std::copy(best_, best_ + n_, x_);
    set_true_residual();
    end(reason, std::sqrt(dot(residual_, residual_)));
  }

  void set_true_residual() {
    apply(x_, residual_);
    for (std::uint64_t i = 0; i < n_; ++i) residual_[i] = right_[i] - residual_[i];
  }

  /// The diagonal's value in a row. Entries that occur several times are added.
  double diagonal_of(std::uint64_t row) const {
    if (p_.is_operator) return static_cast<double>(static_cast<const Value*>(b_.diagonal)[row]);
    double sum = 0;
    for_row(row, [&](std::uint64_t column, double value) { sum += column == row ? value : 0; });
    return sum;
  }

  bool diagonal_is_positive() const {
    for (std::uint64_t row = 0; p_.has_jacobi && row < n_; ++row) {
      if (!(diagonal_of(row) > 0)) return false;
    }
    return true;
  }

  void scale_residual() {
    for (std::uint64_t i = 0; i < n_; ++i) {
      const auto value = static_cast<double>(residual_[i]);
      scaled_[i] = static_cast<Value>(p_.has_jacobi ? value / diagonal_of(i) : value);
    }
  }

  template <class Take>
  void for_row(std::uint64_t row, Take take) const {
    const index_reader begins(b_.a.row_begins, 0);
    const index_reader columns(b_.a.column_indices, 0);
    const std::uint64_t end =
        b_.a.has_row_ends ? index_reader(b_.a.row_ends, 0).bits(row) : index_reader(b_.a.row_begins, 0).bits(row + 1);
    for (std::uint64_t place = begins.bits(row); place < end; ++place) {
      take(columns.bits(place), static_cast<double>(static_cast<const Value*>(b_.a.values.data)[place]));
    }
  }

  void apply(const Value* in, Value* out) const {
    if (p_.is_operator) {
      (*b_.apply)(ctx_, const_values(in, n_, p_.product.value), values(out, n_, p_.product.value));
      return;
    }
    for (std::uint64_t row = 0; row < n_; ++row) {
      long double sum = 0;
      for_row(row, [&](std::uint64_t column, double value) {
        sum += static_cast<long double>(value) * static_cast<long double>(in[column]);
      });
      out[row] = static_cast<Value>(sum);
    }
  }

  double dot(const Value* a, const Value* b) const {
    long double sum = 0;
    for (std::uint64_t i = 0; i < n_; ++i) sum += static_cast<long double>(a[i]) * static_cast<long double>(b[i]);
    return static_cast<double>(sum);
  }

  const context& ctx_;
  const conjugate_gradient_problem& p_;
  const conjugate_gradient_buffers& b_;
  std::uint64_t n_;
  const Value* right_;
  Value* x_;
  Value* direction_ = nullptr;
  Value* product_ = nullptr;
  Value* residual_ = nullptr;
  Value* scaled_ = nullptr;
  Value* best_ = nullptr;
};

// The method as textbooks have it, in one thread.
plan::planned plan_serial(const conjugate_gradient_problem& p, const plan::scope& scope) {
  plan::planned plan;
  plan.by_name_only = true;
  plan.scratch_bytes = p.product.value == value_type::f32 ? serial_solver<float>::scratch_bytes(p.product.rows)
                                                          : serial_solver<double>::scratch_bytes(p.product.rows);
  plan.add("latency", static_cast<double>(p.product.entries + 6 * p.product.rows) * scope.machine.access_seconds);
  return plan;
}

void run_serial(const context& ctx, const conjugate_gradient_problem& p, const plan::planned&,
                const conjugate_gradient_buffers& b, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  if (!p.is_operator) {
    const core::index_report fault = fault_of(p.product, b.a, call);
    if (fault.found()) return state.keep_first(fault);
  }
  if (p.product.value == value_type::f32) {
    serial_solver<float>(ctx, p, b, scratch).run();
  } else {
    serial_solver<double>(ctx, p, b, scratch).run();
  }
}

}  // namespace

extern constinit const primitives::conjugate_gradient_variant conjugate_gradient_serial{
    "reference.serial", backend_kind::cpu, plan_serial, run_serial};

}  // namespace sheaf::reference
