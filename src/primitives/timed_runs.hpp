#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include <sheaf/context.hpp>
#include <sheaf/error.hpp>
#include <sheaf/machine_profile.hpp>

// A preparation times runs of the executor that it made, and the call that each run would be without it. Reports of all
// preparations have the members that are used here.
namespace sheaf::primitives {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The seconds of a run that is waited for; infinity where its memory is not to be had.
template <class Run>
double seconds_of_run(const context& ctx, const Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    run();
    ctx.wait();
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
    return std::numeric_limits<double>::infinity();
  }
  return seconds_since(begin);
}

/// The least seconds of some runs.
template <class Run>
double least_seconds_of_runs(const context& ctx, const Run& run) {
  constexpr int most_runs = 10;
  constexpr int least_runs = 3;
  constexpr double enough_seconds = 0.01;
  double least = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (int i = 0; i < most_runs && (i < least_runs || spent < enough_seconds); ++i) {
    const double seconds = seconds_of_run(ctx, run);
    least = std::min(least, seconds);
    spent += seconds;
  }
  return least;
}

/// Whether runs may be timed on arrays of their own: where they are few beside the runs to come, and the arrays are
/// small beside memory.
inline bool may_time_runs(const context& ctx, std::uint64_t expected_runs, std::uint64_t array_bytes) {
  constexpr std::uint64_t least_runs_to_come = 16;
  return expected_runs >= least_runs_to_come && array_bytes <= ctx.profile().memory_bytes / 8 &&
         array_bytes <= ctx.scratch_limit();
}

/// Whether the unprepared call was the faster, so that it takes the executor's place; an executor whose runs have no
/// memory is never the faster. The report gets both times, or keeps both predictions where the unprepared call could
/// not be timed, because a time and a prediction are not compared.
template <class Report>
bool is_unprepared_faster(double unprepared_seconds, double prepared_seconds, Report& report) {
  if (!std::isfinite(unprepared_seconds)) return false;
  report.unprepared_seconds = unprepared_seconds;
  report.run_seconds = std::min(unprepared_seconds, prepared_seconds);
  return unprepared_seconds < prepared_seconds;
}

/// Writes how long the preparation took, but for the runs that it timed, and the runs that make up for that. Trial runs
/// are no part of it: they are a choice of this library's, and longer than many a preparation.
template <class Report>
void report_preparation(std::chrono::steady_clock::time_point begin, Report& report) {
  report.preparation_seconds = std::max(0.0, seconds_since(begin) - report.trial_seconds);
  const double saved = report.unprepared_seconds - report.run_seconds;
  if (saved > 1e-9) report.pays_after_runs = static_cast<std::uint64_t>(std::ceil(report.preparation_seconds / saved));
}

}  // namespace sheaf::primitives
