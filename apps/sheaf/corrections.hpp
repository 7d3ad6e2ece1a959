#pragma once

#include <functional>

#include <sheaf/machine_profile.hpp>

namespace sheaf::jobs {

struct correction_settings {
  double seconds = 60;           ///< time that all runs may take; problems that come later are left out
  std::uint64_t most_bytes = 0;  ///< of the largest array of a problem; 0: what suits the backend
  std::function<void(std::string_view what, double done_share)> progress = {};
};

/// Runs the variants that compete for the calibrated problems of every job, from small to large, and keeps in
/// machine::corrections how far off each prediction was. `ctx` works on the machine that `machine` describes; it plans
/// by it from now on.
void measure_corrections(context& ctx, machine& machine, const correction_settings& settings);

}  // namespace sheaf::jobs
