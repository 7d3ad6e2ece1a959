#pragma once

#include "cuda/hash/slot_index.hpp"

// Searches that look probes up in their own order: cuda.direct in one pass, cuda.multipass in several.
namespace sheaf::cuda {

/// What both decide.
struct look_ups_decision {
  std::uint64_t passes;   ///< over the probes, each for a part of the index
  std::uint64_t found;    ///< of a search for matches: what look-ups leave, in bytes of scratch
  std::uint64_t matches;  ///< scratch of steps 3 and 4
};

/// Takes scratch, stores the decision, and adds what comes behind the look-ups.
void plan_look_ups(const primitives::hash_search_problem& p, std::uint64_t passes, const machine& m,
                   plan::planned& plan);
void run_look_ups(const context& ctx, const primitives::hash_search_problem& p, const plan::planned& plan,
                  const primitives::hash_search_buffers& b, std::byte* scratch);

/// Queues the look-ups alone, in the order of the probes; not if the verdict of a sample is "scattered".
void queue_if_skewed(const context& ctx, const primitives::hash_search_problem& p, const slot_index& index,
                     const_records probes, std::byte* verdict, std::byte* out);

}  // namespace sheaf::cuda
