#pragma once

#include <sheaf/machine_profile.hpp>

// What the plans of cuda.msd and cuda.onesweep are made of, in multiples of profile values.
namespace sheaf::cuda {

/// What a phase takes for each word, in bytes that could be moved in that time.
struct word_cost {
  double cached_bytes;  ///< of the L2 cache, for the word's instructions, whatever its width
  double copied_bytes;  ///< of memory, for each byte of the word and of its value

  /// Seconds for a word and a value of `bytes` together.
  double seconds(double bytes, const machine& m) const {
    return cached_bytes / m.cached_bytes_per_second + copied_bytes * bytes / m.copy_bytes_per_second;
  }
};

/// What kernels take however few words there are, in steps of the profile.
struct latency_cost {
  double any_order;  ///< where equal keys may come in any order
  double stable;     ///< where equal keys keep their order, or values move with the words
  double seconds(bool is_stable, const machine& m) const { return (is_stable ? stable : any_order) * m.step_seconds; }
};

}  // namespace sheaf::cuda
