#pragma once

#include <sheaf/machine.hpp>

#include "plan/microbenchmarks.hpp"

namespace sheaf::plan {

/// Seconds of a monotonic clock.
using clock_function = std::function<double()>;

/// What a context of a profile's device and threads goes by without a profile of its own.
machine shipped_beside(const machine& measured);

/// Measures every curve of a profile with a microbenchmarks. calibrate() calls it with the backend's microbenchmarks
/// and the system's clock; tests bring their own.
machine measure(microbenchmarks& device, const calibrate_options& options, const clock_function& now);

}  // namespace sheaf::plan
