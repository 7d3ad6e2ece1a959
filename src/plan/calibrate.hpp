#pragma once

#include <sheaf/machine.hpp>

#include "plan/microbenchmarks.hpp"

namespace sheaf::plan {

/// Seconds of a monotonic clock.
using clock_function = std::function<double()>;

/// Measures every curve of a profile with a microbenchmarks. calibrate() calls it with the backend's microbenchmarks
/// and the system's clock; tests bring their own.
machine measure(microbenchmarks& device, const calibrate_options& options, const clock_function& now);

}  // namespace sheaf::plan
