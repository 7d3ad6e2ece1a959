#pragma once

#include <cstdint>
#include <exception>
#include <limits>

#include <sheaf/conjugate_gradient.hpp>

// What conjugate gradient decides between its passes over vectors: scalars, and when to end. Backends share it.
namespace sheaf::primitives {

/// What of the options decides when an iteration ends.
struct conjugate_gradient_goals {
  double tolerance = 0;
  double absolute_tolerance = 0;
  std::uint64_t limit = 0;
  bool keeps_last = false;
};

/// The scalars of an iteration, and what comes next. It has no state but its own, so that each thread of a team may
/// have one: with the same sums all come to the same decisions.
///
/// An iteration gives it in turn r.r and r.z of the start value, p.Ap (take_curvature), and r.r and r.z of the residual
/// r - alpha Ap (take_residual). x + alpha p is made where that succeeds, in place if updates_in_place(). Where the
/// residual is small enough, wants_confirmation() asks for r.r and r.z of b - A x (confirm), which replaces the
/// residual that the recurrence has, if it is not done (van der Vorst and Ye 2000). end_step() ends an iteration.
class conjugate_gradient_steps {
 public:
  conjugate_gradient_steps(const conjugate_gradient_goals& goals, double b_squared) noexcept;

  /// The residual of the start value, which is a true one; b is not 0, but its square may be.
  void start(double b_squared, double residual_squared, double residual_z) noexcept;
  /// False if the iteration ends without a step.
  bool take_curvature(double curvature) noexcept;
  /// False if the iteration ends without a step.
  bool take_residual(double residual_squared, double residual_z) noexcept;
  void confirm(double residual_squared, double residual_z) noexcept;
  void end_step() noexcept;
  void end(stop_reason reason) noexcept;

  bool is_done() const noexcept { return is_done_; }
  bool wants_confirmation() const noexcept { return wants_confirmation_; }
  /// Whether the residual of x is known to be norm(), with no recurrence in between.
  bool is_confirmed() const noexcept { return is_confirmed_; }
  double alpha() const noexcept { return alpha_; }
  double beta() const noexcept { return beta_; }
  double norm() const noexcept { return norm_; }
  double target() const noexcept { return target_; }
  double b_norm() const noexcept { return b_norm_; }
  stop_reason reason() const noexcept { return reason_; }
  std::uint64_t iterations() const noexcept { return iterations_; }

  // Two arrays hold x, number 0 the caller's: the x of now, and the best one. A step that makes the residual larger
  // leaves the best one where it is and writes to the other array, which costs no pass over vectors.
  int current() const noexcept { return current_; }
  /// Where x + alpha p goes, after take_residual() and until end_step() or confirm().
  int next() const noexcept { return next_; }
  /// The array with the x that is the result, once the iteration is done.
  int result() const noexcept { return best_; }

  /// All but the variant. @param residual  of the x that is the result
  conjugate_gradient_result summary(double residual) const;

 private:
  conjugate_gradient_goals goals_;
  double target_;
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

/// Tells history and progress function about iterations, on the thread that called the library. A team's other threads
/// read asks_to_stop() behind a barrier.
class conjugate_gradient_watch {
 public:
  explicit conjugate_gradient_watch(const conjugate_gradient_options& options) : options_(options) {}

  /// What the caller's functions throw is kept for rethrow(), and asks to stop.
  void report(std::uint64_t iterations, double residual, double target) noexcept;
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
