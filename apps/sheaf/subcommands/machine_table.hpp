#pragma once

#include <string>

#include <sheaf/machine.hpp>

namespace sheaf::cli {

/// The curves of a profile as tables with bars: streams and latencies by footprint, random accesses by footprint and
/// width.
std::string curve_tables(const machine& m);

}  // namespace sheaf::cli
