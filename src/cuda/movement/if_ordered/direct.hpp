#pragma once

#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/if_ordered/sample.cuh"

// Direct if ordered: the first kernel of a bucketed movement whose list is of unknown order. If the order sample says
// that the list is ordered, the kernel moves all of it as cuda.direct does. If the list is scattered, it leaves all but
// the beginning to the bucketing kernels, which end at once in the other case.
namespace sheaf::cuda {

/// What direct-if-ordered leaves to the kernels that follow it.
struct direct_attempt {
  order_sample sample;
  std::uint64_t records_moved = 0;  ///< first positions, which have moved whatever the verdict
  bool asks_for_verdict = false;    ///< true if the verdict decides about the rest; false if all positions have moved
};

/// Queue the kernel for the record's width. A gather draws its tiles from parallel counters (block/tile_scheduler.cuh)
/// in scratch.
direct_attempt gather_if_ordered(const context& ctx, const primitives::movement& problem, const move_arguments& args,
                                 std::uint32_t* tile_counters);
direct_attempt scatter_if_ordered(const context& ctx, const primitives::movement& problem, const move_arguments& args);
/// The records are their positions (row_position), to slots of 4 bytes.
direct_attempt scatter_positions_if_ordered(const context& ctx, const primitives::movement& problem,
                                            const move_arguments& args);

}  // namespace sheaf::cuda
