#pragma once

#include "plan/variant.hpp"

// What calibration learned of each variant by running it, applied to every prediction.
namespace sheaf::plan {

/// Where a problem lies among those that calibration runs. A problem whose variants are corrected has a function
/// measured_place place_of(const Problem&) beside it.
struct measured_place {
  std::string_view primitive;
  access_pattern::kind order = access_pattern::kind::unknown;
  std::uint64_t record_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t range = 0;  ///< as in variant_correction
};

/// The factor of a variant at a place: the geometric mean of those measured for this primitive, variant and order,
/// weighted by the inverse fourth power of their distance in doublings of width, bytes and range. A variant that was
/// not measured is taken to be as far off as the median of those that were, or its prediction would be compared with
/// others in another unit. Of an order at which none was measured, a variant has the geometric mean of its factors at
/// all orders. 1 where the primitive was not measured.
double correction_at(const machine& machine, std::string_view variant, const measured_place& place) noexcept;

template <class Problem>
concept has_measured_place = requires(const Problem& p) {
  {place_of(p)};
};

/// The variant's plan as this machine is known to keep it: time and terms multiplied by the correction.
template <class Problem, class Buffers>
planned corrected_plan(const variant<Problem, Buffers>& v, const Problem& p, const scope& in) {
  planned plan = v.plan(p, in);
  if constexpr (has_measured_place<Problem>) {
    if (in.machine.corrections.empty() || !plan.applicable()) return plan;
    const double factor = correction_at(in.machine, v.name, place_of(p));
    plan.seconds *= factor;
    for (std::uint32_t i = 0; i < plan.term_count; ++i) plan.terms[i].seconds *= factor;
  }
  return plan;
}

}  // namespace sheaf::plan
