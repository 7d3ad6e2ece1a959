#pragma once

#include <sheaf/machine_profile.hpp>

#include "primitives/sort.hpp"

// What the plans of cuda.msd and cuda.onesweep are made of. Rates are those of an H200 that sorts 2^28 random words,
// and are scaled by the copy bandwidth of the profile.
namespace sheaf::cuda {

/// Copy bandwidth, in bytes per second, of the H200 on which the rates were measured.
constexpr double reference_bandwidth = 4.26e12;

/// What a phase takes for each word.
struct word_cost {
  double word;  ///< seconds a word, whatever its width
  double byte;  ///< seconds a byte of the word and of its value, on the reference device

  /// Seconds for a word and a value of `bytes` together, on a device whose bandwidth is `slowdown` times lower.
  double seconds(double bytes, double slowdown) const { return word + byte * bytes * slowdown; }
};

/// What kernels take however few words there are.
struct latency_cost {
  double any_order;  ///< seconds where equal keys may come in any order
  double stable;     ///< seconds where equal keys keep their order, or values move with the words
  double seconds(bool is_stable) const { return is_stable ? stable : any_order; }
};

/// Seconds of the gathers of rows and values by an order of rows (gather_by_order).
double gather_seconds(const primitives::sort_problem& p, const machine& m);

}  // namespace sheaf::cuda
