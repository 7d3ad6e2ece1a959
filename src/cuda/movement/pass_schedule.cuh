#pragma once

#include <algorithm>

#include "cuda/device/launch.cuh"
#include "primitives/multipass.hpp"

// What a multi-pass kernel has to do, and how its blocks walk through it.
namespace sheaf::cuda {

/// The work of such a launch: segments of the index, in each of them all passes, in each of them all tiles.
struct pass_schedule {
  primitives::equal_parts segments;  ///< of the index and the near side
  primitives::equal_parts regions;   ///< of the far side, one a pass
  std::uint32_t segment_count;
  std::uint32_t passes;
  std::uint64_t tiles;             ///< of the longest segment
  std::uint32_t tiles_per_block;   ///< that a block takes one after the other
  std::uint32_t keeps_index;       ///< L2 holds a segment's index from pass to pass
  std::uint32_t keeps_sequential;  ///< and its near side too
};

/// Where a block stands in the schedule: it takes tiles_per_block tiles in a row, and blocks start in order, so passes
/// follow one another in time without waiting. Blocks that walk the whole schedule drift apart: with as many as run at
/// once, a scatter of 2^28 bytes in 12 passes takes 1.8 times as long.
class pass_walk {
 public:
  __device__ __forceinline__ explicit pass_walk(const pass_schedule& s) : left_(s.tiles_per_block) {
    const std::uint64_t item = std::uint64_t{blockIdx.x} * s.tiles_per_block;
    const std::uint64_t row = item / s.tiles;
    tile = item % s.tiles;
    pass = static_cast<std::uint32_t>(row % s.passes);
    segment = static_cast<std::uint32_t>(row / s.passes);
  }
  __device__ __forceinline__ bool more(const pass_schedule& s) const { return left_ > 0 && segment < s.segment_count; }
  __device__ __forceinline__ void step(const pass_schedule& s) {
    --left_;
    if (++tile < s.tiles) return;
    tile = 0;
    if (++pass < s.passes) return;
    pass = 0;
    ++segment;
  }

  std::uint64_t tile;
  std::uint32_t pass;
  std::uint32_t segment;

 private:
  std::uint32_t left_;
};

/// Whether index lines should stay in L2: another pass reads them.
__device__ __forceinline__ bool is_read_again(const pass_schedule& s, const pass_walk& at) {
  return s.keeps_index != 0 && at.pass + 1 < s.passes;
}

/// Tiles of all passes of all segments. 2^30 passes of 2^30 segments are more than anybody waits for: saturates.
inline std::uint64_t all_tiles(std::uint64_t passes, std::uint64_t segments, std::uint64_t tiles) {
  constexpr std::uint64_t plenty = std::uint64_t{1} << 60;
  const std::uint64_t rows = passes * segments;
  return rows > plenty / std::max<std::uint64_t>(1, tiles) ? plenty : rows * tiles;
}

/// What a plan's passes and segments come to with tiles of this many records.
inline pass_schedule schedule_of(const context& ctx, const primitives::movement& p, const plan::planned& plan,
                                 std::uint64_t tile_records) {
  const std::uint32_t passes = primitives::rounds_of(plan, primitives::multipass_passes);
  const std::uint32_t segments = primitives::rounds_of(plan, primitives::multipass_segments);
  const primitives::equal_parts cuts(p.count, segments);
  const std::uint64_t tiles = ceil_div(cuts.count(0), tile_records);
  const std::uint64_t cache_half = ctx.profile().cache_bytes / 2;  // the other half is the region's
  // Enough blocks for every multiprocessor first, then as many tiles a block as grids are wide.
  constexpr std::uint64_t most_tiles = 8;
  constexpr std::uint64_t most_blocks = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t shared_out = tiles / (static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 16);
  const std::uint64_t least_tiles = ceil_div(all_tiles(passes, segments, tiles), most_blocks);
  return {.segments = cuts,
          .regions = {primitives::reachable_records(p), passes},
          .segment_count = segments,
          .passes = passes,
          .tiles = tiles,
          .tiles_per_block =
              static_cast<std::uint32_t>(std::max(least_tiles, std::clamp<std::uint64_t>(shared_out, 1, most_tiles))),
          .keeps_index = p.index_bytes() / segments <= cache_half ? 1U : 0U,
          .keeps_sequential = (p.index_bytes() + p.sequential_bytes()) / segments <= cache_half ? 1U : 0U};
}

inline std::uint64_t blocks_of(const pass_schedule& s) {
  return ceil_div(all_tiles(s.passes, s.segment_count, s.tiles), s.tiles_per_block);
}

}  // namespace sheaf::cuda
