#pragma once

#include <sheaf/machine_profile.hpp>

namespace sheaf::cpu {

/// Seconds in which one thread moves a word by a digit in its cache: the unit in which plans state work that does not
/// wait for memory. The constants were fitted to two threads of a Xeon of family 6 model 207, which takes 2.6 ns
/// (lab/results/xeon-2-threads/model.json and sort-model.json). Profiles that were stored before this
/// was measured have only the rate at which a thread copies in its cache: 72 bytes in that time.
inline double digit_seconds(const machine& m) noexcept {
  constexpr double bytes_copied_meanwhile = 72;
  return m.digit_seconds > 0 ? m.digit_seconds : bytes_copied_meanwhile * m.parallelism / m.cached_bytes_per_second;
}

}  // namespace sheaf::cpu
