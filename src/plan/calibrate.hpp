#pragma once

#include <functional>

#include <sheaf/machine.hpp>

#include "plan/probe.hpp"

namespace sheaf::plan {

/// Seconds on a clock that only goes forward.
using clock_function = std::function<double()>;

/// Measures every curve of a profile with a probe. What calibrate() does, apart from where probe and clock come from.
machine measure(probe& device, const calibrate_options& options, const clock_function& now);

/// Throws error(device_failure), naming the point and its value, unless every figure is one that a machine can reach
/// and fits its neighbours.
void require_plausible(const machine& m);

}  // namespace sheaf::plan
