#pragma once

#include <chrono>
#include <cstdint>

namespace sheaf::bench {

/// Seconds of a clock that only goes forward.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs that a prepared call is told to expect, so many that any preparation pays.
constexpr std::uint64_t expected_runs = 1000;

}  // namespace sheaf::bench
