#pragma once

#include <sheaf/machine_profile.hpp>

namespace sheaf::cpu {

/// Seconds in which one thread of the reference machine, a Xeon of family 6 model 207, moves a word by a digit in
/// cache. Plans of splits and sorts state the time of work in cache for this machine.
constexpr double digit_seconds_of_plans = 2.6e-9;

/// Core speed ratio: the factor by which work in cache takes a thread of machine m longer than one of the reference
/// machine.
inline double core_speed_ratio(const machine& m) noexcept {
  return m.digit_seconds > 0 ? m.digit_seconds / digit_seconds_of_plans : 1;
}

}  // namespace sheaf::cpu
