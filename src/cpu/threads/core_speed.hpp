#pragma once

#include <sheaf/machine_profile.hpp>

namespace sheaf::cpu {

/// Plans have what work in cache takes from a core of a Xeon of family 6 model 207, which moved a word by a digit in
/// this time.
constexpr double digit_seconds_of_plans = 2.6e-9;

/// How many times as long such work takes a thread of this machine.
inline double core_speed_ratio(const machine& m) noexcept {
  return m.digit_seconds > 0 ? m.digit_seconds / digit_seconds_of_plans : 1;
}

}  // namespace sheaf::cpu
