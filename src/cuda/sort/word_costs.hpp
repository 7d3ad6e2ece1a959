#pragma once

#include "cuda/device/speeds.hpp"

// What the plans of cuda.msd and cuda.onesweep are made of, in multiples of profile values.
namespace sheaf::cuda {

/// What kernels take however few words there are, in steps of the profile.
struct latency_cost {
  double any_order;  ///< where equal keys may come in any order
  double stable;     ///< where equal keys keep their order, or values move with the words
  double seconds(bool is_stable, const machine& m) const { return (is_stable ? stable : any_order) * m.step_seconds; }
};

}  // namespace sheaf::cuda
