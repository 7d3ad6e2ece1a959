#pragma once

#include <array>

#include "lab/harness/now.hpp"
#include "papers/run.hpp"

// The time of each step of a call that tells a listener when its steps are done.
namespace sheaf::bench::papers {

/// Seconds of the steps of a call, numbered from 0, and of the whole call.
template <std::size_t Count>
struct step_seconds {
  std::array<double, Count> steps = {};
  double total = 0;
  std::array<timing, Count> spread = {};  ///< of the steps, where several calls were measured
};

/// Adds up the time of each step of one call: by events in the queue where there is one, else by the host's clock.
template <class Step, std::size_t Count>
class step_clock {
 public:
  explicit step_clock(const session& s) : has_queue_(s.clock != nullptr), ctx_(s.ctx) { begin(); }

  /// What a listener calls, with the clock as its state.
  static void step_done(void* clock, Step step) { static_cast<step_clock*>(clock)->end(step); }

  /// Waits for the call.
  step_seconds<Count> times() {
    if (has_queue_) current_->stop();
    const double end_of_call = now();
    ctx_.wait();
    step_seconds<Count> found;
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      const double seconds = has_queue_ ? clocks_[i]->seconds() : host_seconds_[i];
      found.steps[static_cast<std::size_t>(ended_[i])] += seconds;
      found.total += seconds;
    }
    // What comes after the last step: the end of the call.
    found.total += has_queue_ ? current_->seconds() : end_of_call - begin_;
    return found;
  }

 private:
  void begin() {
    begin_ = now();
    if (!has_queue_) return;
    current_ = make_queue_clock(ctx_);
    current_->start();
  }

  void end(Step step) {
    ended_.push_back(step);
    host_seconds_.push_back(now() - begin_);
    if (has_queue_) {
      current_->stop();
      clocks_.push_back(std::move(current_));
    }
    begin();
  }

  bool has_queue_;
  const context& ctx_;
  double begin_ = 0;
  std::unique_ptr<queue_clock> current_;
  std::vector<std::unique_ptr<queue_clock>> clocks_;
  std::vector<Step> ended_;
  std::vector<double> host_seconds_;
};

/// Medians of several calls, after one that warms up; each step and the whole has its own, so that steps need not add
/// up. @param call  call(clock) makes the call
template <class Step, std::size_t Count, class Call>
step_seconds<Count> median_steps(const session& s, Call call, int calls_each = 5) {
  const auto timing_of = [](std::vector<double> values) {
    std::ranges::sort(values);
    return timing{values[values.size() / 2], values.front(), values.back(), values.size()};
  };
  std::array<std::vector<double>, Count> steps;
  std::vector<double> totals;
  for (int i = 0; i <= calls_each; ++i) {
    step_clock<Step, Count> clock(s);
    call(clock);
    const step_seconds<Count> times = clock.times();
    if (i == 0) continue;  // not yet warm
    for (std::size_t k = 0; k < Count; ++k) steps[k].push_back(times.steps[k]);
    totals.push_back(times.total);
  }
  step_seconds<Count> found;
  for (std::size_t k = 0; k < Count; ++k) {
    found.spread[k] = timing_of(steps[k]);
    found.steps[k] = found.spread[k].median_seconds;
  }
  found.total = timing_of(totals).median_seconds;
  return found;
}

}  // namespace sheaf::bench::papers
