#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lab/harness/platform.hpp"

namespace sheaf::bench {

/// One implementation that is timed on a row: the planner's choice, a variant by name, or a peer.
struct contender {
  std::string who;                ///< "sheaf", "cuda.direct", "thrust"
  std::string variant = {};       ///< variant that runs; empty for a peer
  double predicted_seconds = 0;   ///< the plan's time; 0 where there is no prediction
  bool promises_less = false;     ///< a peer whose answer may vary where the call's may not, or is another: no factor
                                  ///< is over it
  bool order_is_unknown = false;  ///< the plan is for an index list of whose order the planner was told nothing
  double he2007_seconds = 0;      ///< time by the model of the 2007 paper; 0 where it does not apply
  std::uint64_t scratch_bytes = 0;
  std::uint64_t kept_bytes_of_copy = 0;                ///< memory that prepare() takes for each copy, until release()
  std::function<void(std::uint64_t copy)> queue = {};  ///< queues the call on this copy of the row's arrays
  std::function<void()> wait;                          ///< blocks until the queued work is done
  /// Called once after the arrays are filled and before anything is timed. For inspectors, whose calls are executors.
  std::function<void(std::uint64_t copies)> prepare = {};
  /// Called once after the row is measured and checked: gives back what prepare() took.
  std::function<void()> release = {};
  /// Runs in place of `queue`, on copy 0, where the answer is checked: with side outputs, which peers do not write.
  std::function<void()> queue_with_side_outputs = {};
  /// Of a peer whose answer is another than the call's: counts the mistakes in it, in place of the job's check. Such a
  /// peer promises less.
  std::function<std::uint64_t()> count_own_mistakes = {};

  bool is_peer() const noexcept { return variant.empty(); }
};

/// The contender whose call is run(made), on what make(copy) makes of each copy before anything is timed.
template <class Make, class Run>
contender with_made(contender contender, Make make, Run run) {
  const auto all = std::make_shared<std::vector<decltype(make(std::uint64_t{}))>>();
  contender.queue = [all, run](std::uint64_t copy) { run((*all)[copy]); };
  contender.prepare = [all, make](std::uint64_t copies) {
    for (std::uint64_t copy = 0; copy < copies; ++copy) all->push_back(make(copy));
  };
  contender.release = [all] { all->clear(); };
  return contender;
}

struct timing {
  double median_seconds = 0;
  double least_seconds = 0;
  double most_seconds = 0;
  std::uint64_t calls = 0;
};

/// The median and the ends of some times, at least one.
timing summary_of(std::vector<double> seconds);

/// How long a row is timed. Slow rows spread little, so that fewer rounds suffice.
struct timing_limits {
  double seconds = 1;  ///< time for all contenders of a row together, after the least number of rounds
  std::uint64_t least_rounds = 20;
  std::uint64_t least_slow_rounds = 5;
  double slow_seconds = 20e-3;
  std::uint64_t most_calls = 1024;
  /// A first call that takes so long loads code, too, but is not repeated before the rounds.
  double long_seconds = 1e300;
  /// A peer whose first call takes long_seconds, and so many times that of the fastest peer that promises as much, is
  /// not called again.
  double hopeless_factor = 3;
};

/// Times the contenders in turn. Every other round runs from the last to the first, so that none always follows the
/// same neighbour. Calls rotate among copies of the arrays. If the fastest contender takes less than 1 ms, the host's
/// clock times all of the row, from call to idle; otherwise events in the queue do.
std::vector<timing> measure(std::span<const contender> contenders, std::uint64_t copies, queue_clock* clock,
                            const timing_limits& limits);

/// Number of copies that a row's calls rotate among, so that no call finds its data in the cache: 1 where one copy is
/// at least twice as large as the cache.
std::uint64_t rotated_copies(std::uint64_t bytes, std::uint64_t cache_bytes, const timing_limits& limits) noexcept;

}  // namespace sheaf::bench
