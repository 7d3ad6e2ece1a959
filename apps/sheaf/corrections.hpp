#pragma once

#include <functional>

#include <sheaf/machine_profile.hpp>

#include "lab/description/problem_spec.hpp"

namespace sheaf::jobs {

struct correction_settings {
  double seconds = 60;           ///< time that all runs may take; problems that come later are left out
  std::uint64_t most_bytes = 0;  ///< of the largest array of a problem; 0: what suits the backend
  std::function<void(std::string_view what, double done_share)> progress = {};
  /// Called with each primitive of which no variant could be run in time: its predictions have no corrections.
  std::function<void(std::string_view primitive)> without_runs = {};
  /// In place of the clock and of a run, for tests: seconds since some time, and what a variant takes.
  std::function<double()> now = {};
  std::function<double(const primitives::problem_spec& problem, std::string_view variant)> seconds_of = {};
};

/// A primitive for which the shipped profile chose better than the measured one. A loss is the mean, over the problems
/// that were run, of the time of the choice over that of the fastest variant.
struct better_shipped {
  std::string primitive;
  double loss = 1;          ///< of the profile that was measured
  double shipped_loss = 1;  ///< of the shipped profile
};

/// Runs the variants that compete for the calibrated problems of every job, from small to large, and keeps in
/// machine::corrections how far off each prediction was. `ctx` works on the machine that `machine` describes; it plans
/// by it from now on.
///
/// Then it judges the corrected profile by the same runs, each problem without its own corrections, beside `shipped`.
/// Where the shipped profile chose better, the corrections of that primitive become those that predict what it does.
/// @return  the primitives for which it did
std::vector<better_shipped> measure_corrections(context& ctx, machine& machine, const sheaf::machine& shipped,
                                                const correction_settings& settings);

}  // namespace sheaf::jobs
