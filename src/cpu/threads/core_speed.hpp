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

/// Seconds of threads that share `digits` of such work for each of `count` items.
inline double shared_digit_seconds(std::uint64_t count, double digits, const machine& m,
                                   std::uint64_t threads) noexcept {
  return static_cast<double>(count) * digits * digit_seconds(m) / static_cast<double>(threads);
}

/// How streams, accesses at random and steps overlap on a core, as in planned::add_overlapped().
constexpr double overlap_exponent = 2;

/// Bytes of the second-level cache, which each core has to itself.
inline std::uint64_t own_cache_bytes(const machine& m) noexcept {
  return m.cache_levels.size() > 1 ? m.cache_levels[1] : std::uint64_t{1} << 20;
}

}  // namespace sheaf::cpu
