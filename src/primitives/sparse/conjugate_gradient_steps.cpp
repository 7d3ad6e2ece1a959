#include "primitives/sparse/conjugate_gradient_steps.hpp"

#include <algorithm>
#include <cmath>

namespace sheaf::primitives {

conjugate_gradient_steps::conjugate_gradient_steps(const conjugate_gradient_goals& goals, double b_squared) noexcept
    : goals_(goals), b_norm_(std::sqrt(b_squared)) {
  target_ = std::max(goals.tolerance * b_norm_, goals.absolute_tolerance);
}

void conjugate_gradient_steps::end(stop_reason reason) noexcept {
  is_done_ = true;
  reason_ = reason;
}

void conjugate_gradient_steps::start(double b_squared, double residual_squared, double residual_z) noexcept {
  norm_ = last_confirmed_ = best_norm_ = std::sqrt(residual_squared);
  residual_z_ = residual_z;
  is_confirmed_ = true;
  const bool is_usable = b_squared > 0 && std::isfinite(b_squared);
  if (!is_usable || !std::isfinite(residual_squared) || !std::isfinite(residual_z)) return end(stop_reason::breakdown);
  if (norm_ <= target_) return end(stop_reason::converged);
  if (goals_.limit == 0) end(stop_reason::limit);
}

bool conjugate_gradient_steps::take_curvature(double curvature) noexcept {
  if (curvature <= 0) {
    end(stop_reason::not_positive_definite);
    return false;
  }
  alpha_ = residual_z_ / curvature;
  // A comparison with NaN is false.
  if (!std::isfinite(curvature) || !std::isfinite(alpha_)) end(stop_reason::breakdown);
  return !is_done_;
}

bool conjugate_gradient_steps::take_residual(double residual_squared, double residual_z) noexcept {
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
  wants_confirmation_ = norm_ <= target_;
  ++iterations_;
  const bool is_best = goals_.keeps_last || norm_ < best_norm_;
  next_ = is_best || current_ != best_ ? current_ : 1 - current_;
  if (is_best) {
    best_ = next_;
    best_norm_ = norm_;
  }
  return true;
}

void conjugate_gradient_steps::confirm(double residual_squared, double residual_z) noexcept {
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

void conjugate_gradient_steps::end_step() noexcept {
  current_ = next_;
  if (!is_done_ && iterations_ >= goals_.limit) end(stop_reason::limit);
}

conjugate_gradient_result conjugate_gradient_steps::summary(double residual) const {
  conjugate_gradient_result r;
  r.reason = reason_;
  r.iterations = iterations_;
  r.residual = residual;
  r.target = target_;
  r.b_norm = b_norm_;
  return r;
}

void conjugate_gradient_watch::report(std::uint64_t iterations, double residual, double target) noexcept {
  try {
    if (options_.history != nullptr) options_.history->push_back(residual);
    if (options_.progress && !options_.progress({iterations, residual, target})) asks_to_stop_ = true;
  } catch (...) {
    thrown_ = std::current_exception();
    asks_to_stop_ = true;
  }
}

}  // namespace sheaf::primitives
