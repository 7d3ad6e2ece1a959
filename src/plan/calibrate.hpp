#pragma once

#include <sheaf/machine.hpp>

#include "plan/probe.hpp"

namespace sheaf::plan {

/// Seconds of a monotonic clock.
using clock_function = std::function<double()>;

/// Measures every curve of a profile with a probe. calibrate() calls it with the backend's probe and the system's
/// clock; tests bring their own.
machine measure(probe& device, const calibrate_options& options, const clock_function& now);

}  // namespace sheaf::plan
