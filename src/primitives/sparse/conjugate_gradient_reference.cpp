#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

/// The textbook's loop, one vector after another, with dot products of long double. Value is that of the vectors.
template <class Value>
class serial_solver {
 public:
  serial_solver(const context& ctx, const conjugate_gradient_problem& p, const conjugate_gradient_buffers& b,
                std::byte* scratch)
      : ctx_(ctx), problem_(p), buffers_(b), n_(p.product.rows), right_(static_cast<const Value*>(b.b)) {
    x_ = static_cast<Value*>(b.x);
    for (Value** const vector : {&direction_, &product_, &residual_, &scaled_, &best_}) {
      *vector = reinterpret_cast<Value*>(scratch);
      scratch += core::scratch_aligned(n_ * sizeof(Value));
    }
  }

  static std::uint64_t scratch_bytes(std::uint64_t n) { return 5 * core::scratch_aligned(n * sizeof(Value)); }

  void run() {
    result().b_norm = std::sqrt(dot(right_, right_));
    result().target = buffers_.goals.target(result().b_norm);
    if (std::all_of(right_, right_ + n_, [](Value value) { return value == 0; })) {
      std::fill(x_, x_ + n_, Value{0});
      buffers_.watch->report(0, 0, result().target);
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
  conjugate_gradient_result& result() const { return *buffers_.result; }

  void end(stop_reason reason, double residual) const {
    result().reason = reason;
    result().residual = residual;
    mark_unknown_norms(result());
  }

  void iterate() {
    if (const std::optional<stop_reason> reason = begin()) return end(*reason, norm_);
    while (true) {
      if (buffers_.watch->asks_to_stop()) return end_with_best(stop_reason::stopped);
      if (result().iterations >= buffers_.goals.limit) return end_with_best(stop_reason::limit);
      std::optional<stop_reason> reason = go_along_direction();
      if (!reason) reason = judge();
      if (reason == stop_reason::converged) return end(*reason, norm_);
      if (!reason) reason = turn();
      if (reason) return end_with_best(*reason);
    }
  }

  /// The first residual and direction, or why there is no iteration.
  std::optional<stop_reason> begin() {
    set_true_residual();
    norm_ = best_norm_ = confirmed_ = std::sqrt(dot(residual_, residual_));
    buffers_.watch->report(0, norm_, result().target);
    const bool is_usable =
        result().b_norm > 0 && std::isfinite(result().b_norm) && buffers_.goals.can_be_met(result().b_norm);
    if (!is_usable || !std::isfinite(norm_)) return stop_reason::breakdown;
    if (norm_ <= result().target) return stop_reason::converged;
    if (!diagonal_is_positive()) return stop_reason::not_positive_definite;
    scale_residual();
    std::copy(scaled_, scaled_ + n_, direction_);
    size_ = dot(residual_, scaled_);
    return {};
  }

  /// x and the residual at the lowest point along the direction, or why there is none.
  std::optional<stop_reason> go_along_direction() {
    apply(direction_, product_);
    const double curvature = dot(direction_, product_);
    if (size_ == 0) return stop_reason::breakdown;
    if (curvature <= 0) {
      // A true residual and an older direction may cancel: a direction of 0 says nothing of the matrix.
      const bool may_have_vanished = curvature == 0 && is_confirmed_ && beta_ != 0;
      return may_have_vanished ? stop_reason::stagnated : stop_reason::not_positive_definite;
    }
    const double alpha = size_ / curvature;
    if (!std::isfinite(curvature) || !std::isfinite(alpha)) return stop_reason::breakdown;
    add_scaled(residual_, -alpha, product_, residual_);
    norm_ = std::sqrt(dot(residual_, residual_));
    if (!std::isfinite(norm_)) return stop_reason::breakdown;
    add_scaled(x_, alpha, direction_, x_);
    ++result().iterations;
    buffers_.watch->report(result().iterations, norm_, result().target);
    return {};
  }

  /// Looks at the true residual where that of the recurrence is low enough, and keeps the best x.
  std::optional<stop_reason> judge() {
    is_confirmed_ = false;
    begins_anew_ = false;
    const bool is_best = norm_ < best_norm_ || problem_.keeps_last;
    if (norm_ <= result().target || (is_best && norm_ < buffers_.goals.lowest(result().b_norm))) {
      const double by_recurrence = norm_;
      set_true_residual();
      is_confirmed_ = true;
      norm_ = std::sqrt(dot(residual_, residual_));
      begins_anew_ = norm_ > 10 * by_recurrence;
      if (norm_ <= result().target) return stop_reason::converged;
      best_norm_ = std::numeric_limits<double>::infinity();
      if (norm_ >= confirmed_) ++in_vain_;
      confirmed_ = std::min(confirmed_, norm_);
    }
    if (norm_ < best_norm_ || problem_.keeps_last) {
      best_norm_ = norm_;
      std::copy(x_, x_ + n_, best_);
    }
    constexpr int most_in_vain = 2;
    if (in_vain_ == most_in_vain) return stop_reason::stagnated;
    return {};
  }

  /// The next direction.
  std::optional<stop_reason> turn() {
    scale_residual();
    const double next_size = dot(residual_, scaled_);
    beta_ = begins_anew_ ? 0 : next_size / size_;
    if (!std::isfinite(beta_)) return stop_reason::breakdown;
    size_ = next_size;
    add_scaled(scaled_, beta_, direction_, direction_);
    return {};
  }

  /// out = a + factor b
  void add_scaled(const Value* a, double factor, const Value* b, Value* out) const {
    for (std::uint64_t i = 0; i < n_; ++i) {
      out[i] = static_cast<Value>(static_cast<double>(a[i]) + factor * static_cast<double>(b[i]));
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
    if (problem_.is_operator) return static_cast<double>(static_cast<const Value*>(buffers_.diagonal)[row]);
    double sum = 0;
    for_row(row, [&](std::uint64_t column, double value) { sum += column == row ? value : 0; });
    return sum;
  }

  bool diagonal_is_positive() const {
    for (std::uint64_t row = 0; problem_.has_jacobi && row < n_; ++row) {
      if (!(diagonal_of(row) > 0)) return false;
    }
    return true;
  }

  void scale_residual() {
    for (std::uint64_t i = 0; i < n_; ++i) {
      const auto value = static_cast<double>(residual_[i]);
      scaled_[i] = static_cast<Value>(problem_.has_jacobi ? value / diagonal_of(i) : value);
    }
  }

  template <class Take>
  void for_row(std::uint64_t row, Take take) const {
    const host_rows rows(problem_.product, buffers_.a);
    const std::uint64_t end = rows.end(row);
    for (std::uint64_t place = rows.begin(row); place < end; ++place) {
      const std::uint64_t column = bits_at(buffers_.a.column_indices, place);
      take(column, static_cast<double>(static_cast<const Value*>(buffers_.a.values.data)[place]));
    }
  }

  void apply(const Value* in, Value* out) const {
    if (problem_.is_operator) {
      (*buffers_.apply)(ctx_, const_values(in, n_, problem_.product.value), values(out, n_, problem_.product.value));
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
  const conjugate_gradient_problem& problem_;
  const conjugate_gradient_buffers& buffers_;
  std::uint64_t n_;
  const Value* right_;
  Value* x_;
  Value* direction_ = nullptr;
  Value* product_ = nullptr;
  Value* residual_ = nullptr;
  Value* scaled_ = nullptr;
  Value* best_ = nullptr;

  double norm_ = 0;  // of the residual
  double best_norm_ = 0;
  double confirmed_ = 0;  // the lowest norm of a true residual
  int in_vain_ = 0;       // true residuals that were no lower
  double size_ = 0;
  double beta_ = 0;
  bool is_confirmed_ = true;
  bool begins_anew_ = false;
};

// The method as textbooks have it, in one thread.
plan::planned plan_serial(const conjugate_gradient_problem& p, const plan::scope& scope) {
  plan::planned plan = plan::serial(static_cast<double>(p.product.entries + 6 * p.product.rows), scope);
  plan.scratch_bytes = p.product.value == value_type::f32 ? serial_solver<float>::scratch_bytes(p.product.rows)
                                                          : serial_solver<double>::scratch_bytes(p.product.rows);
  return plan;
}

void run_serial(const context& ctx, const conjugate_gradient_problem& problem, const plan::planned&,
                const conjugate_gradient_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  if (!problem.is_operator) {
    const core::index_report fault = find_fault(problem.product, buffers.a, csr_call::conjugate_gradient, call);
    if (fault.found()) return state.keep_first(fault);
  }
  if (problem.product.value == value_type::f32) {
    serial_solver<float>(ctx, problem, buffers, scratch).run();
  } else {
    serial_solver<double>(ctx, problem, buffers, scratch).run();
  }
}

}  // namespace

extern constinit const conjugate_gradient_variant conjugate_gradient_serial{"reference.serial", backend_kind::cpu,
                                                                            plan_serial, run_serial};

}  // namespace sheaf::reference
