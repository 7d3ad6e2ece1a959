#pragma once

#include <functional>

#include <sheaf/machine.hpp>

#include "plan/probe.hpp"

namespace sheaf::plan {

/// Seconds of a monotonic clock.
using clock_function = std::function<double()>;

/// Measures every curve of a profile with a probe. calibrate() calls it with the backend's probe and the system's
/// clock; tests bring their own.
machine measure(probe& device, const calibrate_options& options, const clock_function& now);

/// Throws error(device_failure), naming the point and its value, unless a machine can reach every figure and every
/// figure fits those at the neighbouring footprints.
void require_plausible(const machine& m);

}  // namespace sheaf::plan
