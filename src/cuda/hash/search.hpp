#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/hash/slot_index.hpp"

// What searches share (He et al. 2007, section 4.2): steps 1 and 2, look-ups; steps 3 and 4 of a search for matches, a
// prefix sum of the numbers of matches, and the record numbers.
namespace sheaf::cuda {

/// The scratch of a search for matches; other searches have none.
struct match_arrays {
  std::byte* found = nullptr;  ///< what look-ups leave: found_bytes() for each probe
  std::byte* sums = nullptr;   ///< of steps 3 and 4

  match_arrays(const primitives::hash_search_problem& problem, core::scratch_arrays& arrays);
};

/// Steps 3 and 4: writes offsets and record numbers. `found` holds what look-ups left. Waits for the number of matches.
void write_matches(const context& ctx, const primitives::hash_search_problem& problem, const slot_index& index,
                   const primitives::hash_search_buffers& buffers, const std::byte* found, std::byte* sums);

/// All steps. look_up(index, out) queues the look-ups.
template <class LookUp>
void run_search(const context& ctx, const primitives::hash_search_problem& problem,
                const primitives::hash_search_buffers& buffers, const match_arrays& at, LookUp look_up) {
  const device_scope scope(ctx.device());
  const auto& index = static_cast<const slot_index&>(*buffers.table);
  if (problem.output != primitives::hash_output::matches) return look_up(index, static_cast<std::byte*>(buffers.out));
  refuse_capture(ctx, "hash_search");
  look_up(index, at.found);
  write_matches(ctx, problem, index, buffers, at.found, at.sums);
}

/// Queues the look-ups in the order of the probes; not if the verdict of a sample is "scattered".
void queue_if_skewed(const context& ctx, const primitives::hash_search_problem& problem, const slot_index& index,
                     const_records probes, std::byte* verdict, std::byte* out);

}  // namespace sheaf::cuda
