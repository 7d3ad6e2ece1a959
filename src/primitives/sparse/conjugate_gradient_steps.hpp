#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <sheaf/conjugate_gradient.hpp>

#include "core/host_device.hpp"

// What conjugate gradient decides between its passes over vectors: scalars, and when to end. Backends share it, and
// kernels call it.
namespace sheaf::primitives {

/// The least norm whose square is a normal number. Squares of less lose digits, and then vanish.
constexpr double least_norm = 0x1p-511;
static_assert(least_norm * least_norm == std::numeric_limits<double>::min());

/// What decides when an iteration ends: options, and what values of the system's type can tell.
struct conjugate_gradient_goals {
  double tolerance = 0;
  double absolute_tolerance = 0;
  std::uint64_t limit = 0;
  bool keeps_last = false;
  double precision = std::numeric_limits<double>::epsilon();  ///< of values
  double least = least_norm;      ///< below it a residual's square or its values lose digits, and 0 proves nothing
  double vanishing = least_norm;  ///< `least` for each value: below it they have lost digits in the mean

  SHEAF_HOST_DEVICE double target(double b_norm) const noexcept {
    return std::max(tolerance * b_norm, absolute_tolerance);
  }
  /// Whether a residual as small as the target, or as rounding leaves it if that is more, is told from 0.
  SHEAF_HOST_DEVICE bool can_be_met(double b_norm) const noexcept {
    return std::max(target(b_norm), precision * b_norm) >= least;
  }
  /// The residual down to which a recurrence is followed. Further down its rounding may be as large as itself, so that
  /// it never gets to 0: with f32, residuals stand still at a few times 2^-149. The true one is far above.
  SHEAF_HOST_DEVICE double lowest(double b_norm) const noexcept { return std::min(vanishing, precision * b_norm); }
};

/// The scalars of an iteration, and what comes next. It has no state but its own, so that each thread of a team may
/// have one: with the same sums all come to the same decisions.
///
/// An iteration gives it in turn r.r and r.z of the start value, p.Ap (take_curvature), and r.r and r.z of the residual
/// r - alpha Ap (take_residual). x + alpha p is made where that succeeds, in place if updates_in_place(). Where the
/// residual is small enough, or too small to be followed, wants_confirmation() asks for r.r and r.z of b - A x
/// (confirm), which replaces the residual that the recurrence has, if it is not done (van der Vorst and Ye 2000).
/// end_step() ends an iteration.
class conjugate_gradient_steps {
 public:
  SHEAF_HOST_DEVICE conjugate_gradient_steps(const conjugate_gradient_goals& goals, double b_squared) noexcept;

  /// The residual of the start value, which is a true one; b is not 0, but its square may be.
  SHEAF_HOST_DEVICE void start(double b_squared, double residual_squared, double residual_z) noexcept;
  /// False if the iteration ends without a step.
  SHEAF_HOST_DEVICE bool take_curvature(double curvature) noexcept;
  /// False if the iteration ends without a step.
  SHEAF_HOST_DEVICE bool take_residual(double residual_squared, double residual_z) noexcept;
  SHEAF_HOST_DEVICE void confirm(double residual_squared, double residual_z) noexcept;
  SHEAF_HOST_DEVICE void end_step() noexcept;
  SHEAF_HOST_DEVICE void end(stop_reason reason) noexcept;

  SHEAF_HOST_DEVICE bool is_done() const noexcept { return is_done_; }
  SHEAF_HOST_DEVICE bool wants_confirmation() const noexcept { return wants_confirmation_; }
  /// Whether the residual of x is known to be norm(), with no recurrence in between.
  SHEAF_HOST_DEVICE bool is_confirmed() const noexcept { return is_confirmed_; }
  SHEAF_HOST_DEVICE double alpha() const noexcept { return alpha_; }
  SHEAF_HOST_DEVICE double beta() const noexcept { return beta_; }
  SHEAF_HOST_DEVICE double norm() const noexcept { return norm_; }
  SHEAF_HOST_DEVICE double target() const noexcept { return target_; }
  SHEAF_HOST_DEVICE double b_norm() const noexcept { return b_norm_; }
  SHEAF_HOST_DEVICE stop_reason reason() const noexcept { return reason_; }
  SHEAF_HOST_DEVICE std::uint64_t iterations() const noexcept { return iterations_; }

  // Two arrays hold x, number 0 the caller's: the x of now, and the best one. A step that makes the residual larger
  // leaves the best one where it is and writes to the other array, which costs no pass over vectors.
  SHEAF_HOST_DEVICE int current() const noexcept { return current_; }
  /// Where x + alpha p goes, after take_residual() and until end_step() or confirm().
  SHEAF_HOST_DEVICE int next() const noexcept { return next_; }
  /// The array with the x that is the result, once the iteration is done.
  SHEAF_HOST_DEVICE int result() const noexcept { return best_; }

  /// All but the variant. @param residual  of the x that is the result
  conjugate_gradient_result summary(double residual) const;

 private:
  conjugate_gradient_goals goals_;
  double target_;
  double lowest_;
  double b_norm_;
  double alpha_ = 0;
  double beta_ = 0;
  double norm_ = 0;
  double residual_z_ = 0;
  double last_residual_z_ = 0;
  double best_norm_ = std::numeric_limits<double>::infinity();
  double last_confirmed_ = std::numeric_limits<double>::infinity();
  std::uint64_t iterations_ = 0;
  int current_ = 0;
  int next_ = 0;
  int best_ = 0;
  int confirmations_in_vain_ = 0;
  bool is_done_ = false;
  bool wants_confirmation_ = false;
  bool is_confirmed_ = false;
  stop_reason reason_ = stop_reason::converged;
};

SHEAF_HOST_DEVICE inline conjugate_gradient_steps::conjugate_gradient_steps(const conjugate_gradient_goals& goals,
                                                                            double b_squared) noexcept
    : goals_(goals), b_norm_(std::sqrt(b_squared)) {
  target_ = goals.target(b_norm_);
  lowest_ = goals.lowest(b_norm_);
}

SHEAF_HOST_DEVICE inline void conjugate_gradient_steps::end(stop_reason reason) noexcept {
  is_done_ = true;
  reason_ = reason;
}

SHEAF_HOST_DEVICE inline void conjugate_gradient_steps::start(double b_squared, double residual_squared,
                                                              double residual_z) noexcept {
  norm_ = last_confirmed_ = best_norm_ = std::sqrt(residual_squared);
  residual_z_ = residual_z;
  is_confirmed_ = true;
  const bool is_usable = b_squared > 0 && std::isfinite(b_squared) && goals_.can_be_met(b_norm_);
  if (!is_usable || !std::isfinite(residual_squared) || !std::isfinite(residual_z)) return end(stop_reason::breakdown);
  if (norm_ <= target_) return end(stop_reason::converged);
  if (goals_.limit == 0) end(stop_reason::limit);
}

SHEAF_HOST_DEVICE inline bool conjugate_gradient_steps::take_curvature(double curvature) noexcept {
  if (residual_z_ == 0) {  // though the residual is not: it vanished
    end(stop_reason::breakdown);
    return false;
  }
  if (curvature <= 0) {
    // A true residual and an older direction may cancel: a direction of 0 says nothing of the matrix.
    const bool may_have_vanished = curvature == 0 && is_confirmed_ && beta_ != 0;
    end(may_have_vanished ? stop_reason::stagnated : stop_reason::not_positive_definite);
    return false;
  }
  alpha_ = residual_z_ / curvature;
  // A comparison with NaN is false.
  if (!std::isfinite(curvature) || !std::isfinite(alpha_)) end(stop_reason::breakdown);
  return !is_done_;
}

SHEAF_HOST_DEVICE inline bool conjugate_gradient_steps::take_residual(double residual_squared,
                                                                      double residual_z) noexcept {
  const double beta = residual_z / residual_z_;
  if (!std::isfinite(residual_squared) || !std::isfinite(residual_z) || !std::isfinite(beta)) {
    end(stop_reason::breakdown);
    return false;
  }
  last_residual_z_ = residual_z_;
  residual_z_ = residual_z;
  beta_ = beta;
  norm_ = std::sqrt(residual_squared);
  is_confirmed_ = false;
  ++iterations_;
  const bool is_best = goals_.keeps_last || norm_ < best_norm_;
  wants_confirmation_ = norm_ <= target_ || (norm_ < lowest_ && is_best);
  next_ = is_best || current_ != best_ ? current_ : 1 - current_;
  if (is_best) {
    best_ = next_;
    best_norm_ = norm_;
  }
  return true;
}

SHEAF_HOST_DEVICE inline void conjugate_gradient_steps::confirm(double residual_squared, double residual_z) noexcept {
  constexpr int most_in_vain = 2;
  constexpr double far = 10;  // from a residual that is off by so much, directions begin anew
  const double by_recurrence = norm_;
  norm_ = std::sqrt(residual_squared);
  current_ = next_;
  is_confirmed_ = true;
  wants_confirmation_ = false;
  if (norm_ <= target_) return end(stop_reason::converged);
  beta_ = norm_ > far * by_recurrence ? 0 : residual_z / last_residual_z_;
  residual_z_ = residual_z;
  if (!std::isfinite(residual_squared) || !std::isfinite(beta_)) return end(stop_reason::breakdown);
  best_norm_ = norm_;  // the x of now was the best by the recurrence
  if (norm_ >= last_confirmed_ && ++confirmations_in_vain_ >= most_in_vain) return end(stop_reason::stagnated);
  last_confirmed_ = std::min(last_confirmed_, norm_);
}

SHEAF_HOST_DEVICE inline void conjugate_gradient_steps::end_step() noexcept {
  current_ = next_;
  if (!is_done_ && iterations_ >= goals_.limit) end(stop_reason::limit);
}

/// After a breakdown, norms whose squares overflow or lose digits are not known: NaN takes their place.
void mark_unknown_norms(conjugate_gradient_result& result);

/// Tells history and progress function about iterations, on the thread that called the library. A team's other threads
/// read asks_to_stop() behind a barrier.
class conjugate_gradient_watch {
 public:
  explicit conjugate_gradient_watch(const conjugate_gradient_options& options) : options_(options) {}

  /// What the caller's functions throw is kept for rethrow(), and asks to stop.
  void report(std::uint64_t iterations, double residual, double target) noexcept;
  /// The iterations after which a backend that works ahead waits for the caller's function; all ones: none is asked.
  std::uint64_t reports_every() const noexcept {
    return options_.progress ? options_.progress_interval : ~std::uint64_t{0};
  }
  bool wants_reports() const noexcept { return options_.history != nullptr || options_.progress; }
  bool asks_to_stop() const noexcept { return asks_to_stop_; }
  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  const conjugate_gradient_options& options_;
  std::exception_ptr thrown_;
  bool asks_to_stop_ = false;
};

}  // namespace sheaf::primitives
