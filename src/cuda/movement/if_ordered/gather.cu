#include "cuda/block/tile_scheduler.cuh"
#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/if_ordered/direct.hpp"

namespace sheaf::cuda {
namespace {

struct if_ordered_arguments {
  order_sample sample;
  std::uint32_t* tile_counters;  ///< parallel counters of block/tile_scheduler.cuh, zero before
  std::uint64_t tiles;
  std::uint64_t unconditional_tiles;  ///< first tiles, which move whatever the verdict
};

/// Dynamic tile scheduling: as many blocks as are resident draw tiles in the order of the list, so that all of them
/// work on one stretch of it. Under a static schedule blocks drift apart, and lines leave the cache between the first
/// record that uses them and the last (gathers inside windows of 8 MB took 2.1 times as long, scatters inside 32 KB 1.7
/// times). Tiles are short for the same reason. Software pipelining hides latencies: a tile is drawn two turns before
/// it moves and loaded one turn before.
template <class Tile>
__global__ void __launch_bounds__(sample_threads)
    gather_words_if_ordered(const __grid_constant__ word_arguments<typename Tile::index> args,
                            const __grid_constant__ if_ordered_arguments schedule) {
  constexpr std::uint32_t tile_records = sample_threads * Tile::items;
  __shared__ std::uint32_t drawn[2];
  bool asks_for_verdict = schedule.unconditional_tiles < schedule.tiles;
  std::uint64_t limit = schedule.tiles;  // tiles below this move here, as far as is known
  if (blockIdx.x == 0 && asks_for_verdict) publish_verdict(args.index, schedule.sample);
  std::uint32_t counter = blockIdx.x % parallel_counters;
  const auto draw = [&](std::uint32_t& drawn_tile) {
    if (threadIdx.x == 0)
      drawn_tile = atomicAdd(schedule.tile_counters + counter * counter_stride, 1U) * parallel_counters + counter;
    counter = (counter + 1) % parallel_counters;
  };
  draw(drawn[0]);
  draw(drawn[1]);
  __syncthreads();
  std::uint32_t tile = drawn[0];
  std::uint64_t first = Tile::first_of(std::uint64_t{tile} * tile_records);
  Tile current;
  if (first < args.count) current.load(args, first);
  // One counter may reach the limit some turns before the others: the loop ends after a miss on each of them.
  for (std::uint32_t turn = 0, misses = 0; misses < parallel_counters; turn ^= 1) {
    if (asks_for_verdict && tile >= schedule.unconditional_tiles) {
      if (order_is_scattered(args.index, schedule.sample)) limit = schedule.unconditional_tiles;
      asks_for_verdict = false;
    }
    const bool moves = tile < limit;
    misses = moves ? 0 : misses + 1;
    const std::uint32_t next = drawn[turn ^ 1];
    __syncthreads();
    draw(drawn[turn]);
    const std::uint64_t next_first = Tile::first_of(std::uint64_t{next} * tile_records);
    Tile following;
    if (next < limit && next_first < args.count) following.load(args, next_first);
    if (moves && first < args.count) current.finish(args, first);
    __syncthreads();
    tile = next;
    first = next_first;
    current = following;
  }
}

template <class Word, int Items>
direct_attempt launch_if_ordered(const context& ctx, const primitives::movement& problem, const move_arguments& args,
                                 std::uint32_t* tile_counters) {
  const order_verdict verdict = state_of(ctx).new_order_verdict();
  constexpr std::uint64_t resident = 2048 / sample_threads;
  const std::uint64_t blocks = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * resident;
  const std::uint64_t tile = std::uint64_t{sample_threads} * Items;
  const std::uint64_t tiles = ceil_div(problem.count, tile);
  // Turns that do not wait for the verdict: few enough that a random list loses little by them, enough to keep memory
  // busy until the verdict is published.
  constexpr std::uint64_t turns_ahead = 2;
  const std::uint64_t unconditional_tiles =
      can_sample(problem, verdict) ? std::min(blocks * turns_ahead, tiles) : tiles;
  const if_ordered_arguments schedule{order_sample_of(ctx, problem, false, verdict), tile_counters, tiles,
                                      unconditional_tiles};
  require(cudaMemsetAsync(tile_counters, 0, parallel_counters * counter_stride * sizeof(*tile_counters), ctx.stream()),
          ctx);
  const auto with_index = [&](auto index) {
    using index_value = decltype(index);
    launch_blocks(ctx, gather_words_if_ordered<gather_tile<Word, index_value, Items>>, std::min(blocks, tiles),
                  sample_threads, word_arguments_of<index_value>(args), schedule);
  };
  args.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  return {schedule.sample, std::min(problem.count, unconditional_tiles * tile), unconditional_tiles < tiles};
}

}  // namespace

// Steps are those of cuda.direct. Items are a compromise: lists in order gain from many records in flight, clustered
// lists from lines that are used again soon.
direct_attempt gather_if_ordered(const context& ctx, const primitives::movement& problem, const move_arguments& args,
                                 std::uint32_t* tile_counters) {
  switch (problem.record_bytes) {
    case 1: return launch_if_ordered<std::uint8_t, 4>(ctx, problem, args, tile_counters);
    case 2: return launch_if_ordered<std::uint16_t, 4>(ctx, problem, args, tile_counters);
    case 4: return launch_if_ordered<std::uint32_t, 6>(ctx, problem, args, tile_counters);
    case 8: return launch_if_ordered<uint2, 4>(ctx, problem, args, tile_counters);
    default: return launch_if_ordered<uint4, 2>(ctx, problem, args, tile_counters);
  }
}

}  // namespace sheaf::cuda
