#pragma once

#include <span>
#include <string>

#include <sheaf/machine.hpp>

#include "lab/harness/platform.hpp"
#include "lab/harness/report.hpp"

namespace sheaf::bench {

/// Writes the file that tests/lab/recorded_test.cpp judges the planner by: the profile that predictions were made
/// from, and for each problem the seconds of every variant. Whole or not at all. @throws error(io_failure)
void write_record(const std::string& path, std::span<const result> results, const machine& profile, const platform& p);

}  // namespace sheaf::bench
