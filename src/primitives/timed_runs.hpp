#pragma once

#include <chrono>
#include <limits>

#include "plan/choose.hpp"
#include "primitives/executor.hpp"

// What all preparations do: the cheapest makes an executor; its runs are timed, and the call that each would be without
// it; the faster is kept, and the report says what that took.
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

/// The least seconds of some runs of each kind, which take turns.
template <class... Runs>
std::array<double, sizeof...(Runs)> least_seconds_of_runs(const context& ctx, const Runs&... runs) {
  constexpr int most_rounds = 10 * sizeof...(Runs);
  constexpr int least_rounds = 3;
  constexpr double enough_seconds = 0.01;
  std::array<double, sizeof...(Runs)> least;
  least.fill(std::numeric_limits<double>::infinity());
  double spent = 0;
  for (int round = 0; round < most_rounds && (round < least_rounds || spent < enough_seconds); ++round) {
    const std::array now{seconds_of_run(ctx, runs)...};
    for (std::size_t i = 0; i < now.size(); ++i) {
      least[i] = std::min(least[i], now[i]);
      spent += now[i];
    }
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
inline bool is_unprepared_faster(double unprepared_seconds, double prepared_seconds, preparation_report& report) {
  if (!std::isfinite(unprepared_seconds)) return false;
  report.unprepared_seconds = unprepared_seconds;
  report.run_seconds = std::min(unprepared_seconds, prepared_seconds);
  return unprepared_seconds < prepared_seconds;
}

/// The variant of every preparation whose runs are unprepared calls.
constexpr std::string_view kept_name = "kept";

/// Puts the executor of unprepared calls in the place of the one that was made if it was the faster, and says whether
/// it was.
template <class Executor, class Report>
bool keep_the_faster(made_executor<Executor, Report>& made, std::shared_ptr<Executor> unprepared,
                     double unprepared_seconds, double prepared_seconds) {
  if (!is_unprepared_faster(unprepared_seconds, prepared_seconds, made.report)) return false;
  made.work = std::move(unprepared);
  made.report.variant = kept_name;
  return true;
}

/// Runs once what an executor of unprepared calls planned. Does nothing and returns false if it has no plan, or there
/// is no scratch for that plan.
template <class Problem, class Buffers>
bool run_as_planned(const context& ctx, const plan::choice<plan::variant<Problem, Buffers>>& chosen,
                    const Problem& problem, const Buffers& buffers) {
  const std::uint64_t scratch_bytes = chosen.plan.scratch_bytes;
  if (chosen.variant == nullptr || scratch_bytes > ctx.scratch_limit()) return false;
  const core::scratch scratch(ctx.state(), scratch_bytes);
  if (!scratch.is_taken()) return false;
  chosen.variant->run(ctx, problem, chosen.plan, buffers, scratch.data());
  return true;
}

/// A preparation under way, step by step: inspect(), then try_runs(), unless runs are unprepared calls, and finish().
template <class Executor, class Report>
class preparing : public made_executor<Executor, Report> {
 public:
  /// Time counts from here on. Waits for ctx, because errors and time of earlier calls do not count as this one's.
  preparing(const context& ctx, std::string_view call, std::string_view asked)
      : ctx_(ctx), call_(call), asked_(asked), begin_((ctx.wait(), std::chrono::steady_clock::now())) {}

  /// Whether a name, and not the planner, decides what is made.
  bool is_forced() const { return !plan::forced_name(call_, asked_, &ctx_.state()).empty(); }

  /// Makes the executor by the variant that was asked for or is the cheapest, and waits for it.
  /// @param b  where the executor goes is `work`
  template <class Problem, class Buffers>
  plan::choice<plan::variant<Problem, Buffers>> inspect(std::span<const plan::variant<Problem, Buffers>> variants,
                                                        const Problem& p, const std::type_identity_t<Buffers>& b) {
    auto taken = plan::execute(call_, variants, p, ctx_, asked_, b);
    ctx_.wait();
    this->report.variant = taken.variant->name;
    return taken;
  }

  /// Calls `keep_the_faster`, which times runs on arrays of its own, unless the variant was forced or runs may not be
  /// timed. What was predicted stays where these arrays have no memory.
  template <class Trial>
  void try_runs(std::uint64_t expected_runs, std::uint64_t array_bytes, const Trial& keep_the_faster) {
    if (is_forced() || !may_time_runs(ctx_, expected_runs, array_bytes)) return;
    const auto begin = std::chrono::steady_clock::now();
    try {
      keep_the_faster();
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
    }
    this->report.trial_seconds = seconds_since(begin);
  }

  /// What was made. The report says how long that took, without trial runs, and how many runs make up for it. Trial
  /// runs do not count, because the library chooses to make them, and they take longer than many a preparation.
  made_executor<Executor, Report> finish() {
    Report& r = this->report;
    r.kept_bytes = this->work->kept_bytes();
    r.preparation_seconds = std::max(0.0, seconds_since(begin_) - r.trial_seconds);
    const double saved = r.unprepared_seconds - r.run_seconds;
    if (saved > 1e-9) r.pays_after_runs = static_cast<std::uint64_t>(std::ceil(r.preparation_seconds / saved));
    return std::move(*this);
  }

 private:
  const context& ctx_;
  std::string_view call_;
  std::string_view asked_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace sheaf::primitives
