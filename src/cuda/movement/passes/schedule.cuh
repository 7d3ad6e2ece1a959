#pragma once

#include "cuda/device/launch.cuh"
#include "primitives/movement/multipass.hpp"

// The schedule of a multi-pass kernel: which tiles of which pass each of its blocks takes.
namespace sheaf::cuda {

/// The work of one launch: segments of the index, in each segment all passes, in each pass all tiles.
struct pass_schedule {
  primitives::equal_parts segments;  ///< segments of the index and the sequential side
  primitives::equal_parts regions;   ///< regions of the indexed side, one for each pass
  std::uint32_t segment_count;
  std::uint32_t passes;
  std::uint64_t tiles;                      ///< tiles of the longest segment
  std::uint32_t tiles_per_block;            ///< tiles that a block takes one after another
  std::uint32_t keeps_index_in_cache;       ///< 1 if L2 holds a segment's index from pass to pass
  std::uint32_t keeps_sequential_in_cache;  ///< 1 if L2 holds a segment's index and sequential side
};

/// A block's position in the schedule. A block takes tiles_per_block tiles in a row. Blocks start in order, so passes
/// follow one another in time without any synchronization. If a grid of resident blocks went through the whole schedule
/// instead, its blocks would drift apart: a scatter of 2^28 bytes in 12 passes takes 1.8 times as long.
class pass_cursor {
 public:
  __device__ __forceinline__ explicit pass_cursor(const pass_schedule& schedule)
      : tiles_left_(schedule.tiles_per_block) {
    const std::uint64_t first_tile = std::uint64_t{blockIdx.x} * schedule.tiles_per_block;
    const std::uint64_t passes_before = first_tile / schedule.tiles;
    tile = first_tile % schedule.tiles;
    pass = static_cast<std::uint32_t>(passes_before % schedule.passes);
    segment = static_cast<std::uint32_t>(passes_before / schedule.passes);
  }
  __device__ __forceinline__ bool has_tile(const pass_schedule& s) const {
    return tiles_left_ > 0 && segment < s.segment_count;
  }
  __device__ __forceinline__ void advance(const pass_schedule& s) {
    --tiles_left_;
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
  std::uint32_t tiles_left_;
};

/// Whether L2 should keep the index lines of the current tile because another pass reads them.
__device__ __forceinline__ bool index_is_read_again(const pass_schedule& s, const pass_cursor& cursor) {
  return s.keeps_index_in_cache != 0 && cursor.pass + 1 < s.passes;
}

/// Tiles of all passes of all segments. The product saturates, because 2^30 passes of 2^30 segments would overflow.
inline std::uint64_t total_tiles(std::uint64_t passes, std::uint64_t segments, std::uint64_t tiles) {
  constexpr std::uint64_t most_tiles_in_all = std::uint64_t{1} << 60;
  const std::uint64_t segment_passes = passes * segments;
  return segment_passes > most_tiles_in_all / std::max<std::uint64_t>(1, tiles) ? most_tiles_in_all
                                                                                : segment_passes * tiles;
}

/// The schedule for a plan's passes and segments with tiles of `tile_records` records.
inline pass_schedule schedule_of(const context& ctx, const primitives::movement& problem, const plan::planned& plan,
                                 std::uint64_t tile_records) {
  const auto [passes, segments] = plan.decided.get<primitives::multipass_decision>();
  const primitives::equal_parts index_segments(problem.count, segments);
  const std::uint64_t tiles = ceil_div(index_segments.count(0), tile_records);
  const std::uint64_t cache_half = ctx.profile().cache_bytes / 2;  // the other half is left to the region
  // A block takes one tile while multiprocessors need blocks, then up to eight, and more only where a grid's width
  // would not do otherwise.
  constexpr std::uint64_t most_tiles = 8;
  constexpr std::uint64_t most_blocks = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t balanced_tiles = tiles / (static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 16);
  const std::uint64_t least_tiles = ceil_div(total_tiles(passes, segments, tiles), most_blocks);
  return {.segments = index_segments,
          .regions = {primitives::reachable_records(problem), passes},
          .segment_count = segments,
          .passes = passes,
          .tiles = tiles,
          .tiles_per_block = static_cast<std::uint32_t>(
              std::max(least_tiles, std::clamp<std::uint64_t>(balanced_tiles, 1, most_tiles))),
          .keeps_index_in_cache = problem.index_bytes() / segments <= cache_half ? 1U : 0U,
          .keeps_sequential_in_cache =
              (problem.index_bytes() + problem.sequential_bytes()) / segments <= cache_half ? 1U : 0U};
}

inline std::uint64_t blocks_of(const pass_schedule& s) {
  return ceil_div(total_tiles(s.passes, s.segment_count, s.tiles), s.tiles_per_block);
}

}  // namespace sheaf::cuda
