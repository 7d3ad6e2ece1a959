#include "primitives/sparse/conjugate_gradient_steps.hpp"

#include <new>

#include <fmt/format.h>

#include "primitives/sparse/conjugate_gradient.hpp"

namespace sheaf::primitives {
namespace {

void remember(std::vector<double>& history, double residual) {
  try {
    history.push_back(residual);
  } catch (const std::bad_alloc&) {
    throw error(error_code::out_of_memory, fmt::format("{}: there is no memory for a history of more than {} residuals",
                                                       conjugate_gradient_call, history.size()));
  }
}

}  // namespace

conjugate_gradient_result conjugate_gradient_steps::summary(double residual) const {
  conjugate_gradient_result result;
  result.reason = reason_;
  result.iterations = iterations_;
  result.residual = residual;
  result.target = target_;
  result.b_norm = b_norm_;
  mark_unknown_norms(result);
  return result;
}

void mark_unknown_norms(conjugate_gradient_result& result) {
  if (result.reason != stop_reason::breakdown) return;
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const auto is_known = [](double norm) { return std::isfinite(norm) && norm >= least_norm; };
  if (!is_known(result.residual)) result.residual = unknown;
  if (!is_known(result.b_norm)) result.b_norm = result.target = unknown;
}

void conjugate_gradient_watch::report(std::uint64_t iterations, double residual, double target) noexcept {
  try {
    if (options_.history != nullptr) remember(*options_.history, residual);
    const bool is_given = options_.progress && iterations % options_.progress_interval == 0;
    if (is_given && !options_.progress({iterations, residual, target})) asks_to_stop_ = true;
  } catch (...) {
    thrown_ = std::current_exception();
    asks_to_stop_ = true;
  }
}

}  // namespace sheaf::primitives
