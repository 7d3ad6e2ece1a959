#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/platform.hpp"

namespace sheaf::bench {

/// One way to do a row's work: ours, a variant of ours, or the peer.
struct contender {
  std::string who;               ///< "sheaf", "cuda.direct", "thrust"
  std::string variant = {};      ///< what ours runs; empty for a peer
  double predicted_seconds = 0;  ///< 0: nobody predicts it
  double he2007_seconds = 0;     ///< the same from the model of the 2007 paper
  std::uint64_t scratch_bytes = 0;
  std::function<void(std::uint64_t copy)> queue;  ///< the call, on this copy of the row's arrays
  std::function<void()> wait;                     ///< until the work is done
  /// Called once, untimed, when the arrays are filled: what is done ahead of all calls.
  std::function<void(std::uint64_t copies)> prepare = {};
  /// Queued on copy 0 in place of `queue` where an answer is checked: a split's offsets, which peers do not give.
  std::function<void()> queue_with_offsets = {};
};

struct timing {
  double median_seconds = 0;
  double least_seconds = 0;
  double most_seconds = 0;
  std::uint64_t calls = 0;
};

/// How long to go on. Slow rows spread little, so fewer rounds tell as much.
struct effort {
  double seconds = 1;  ///< of all contenders together, once the rounds below are done
  std::uint64_t least_rounds = 20;
  std::uint64_t least_slow_rounds = 5;
  double slow_seconds = 20e-3;
  std::uint64_t most_calls = 1024;
};

/// Times the contenders in turn, first to last and then last to first, on copies of the arrays in rotation. Calls
/// under 1 ms are timed by the host, from call to idle; longer ones by marks in the queue. All in a row the same way.
std::vector<timing> measure(std::span<const contender> contenders, std::uint64_t copies, queue_clock* clock,
                            const effort& limits);

/// Copies of a row's arrays that its calls rotate among, so that none finds its data in cache; 1 where one copy
/// alone is far larger than the cache.
std::uint64_t rotated_copies(std::uint64_t bytes, std::uint64_t cache_bytes, const effort& limits) noexcept;

}  // namespace sheaf::bench
