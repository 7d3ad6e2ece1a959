#pragma once

#include "cuda/block/tile_tickets.cuh"
#include "cuda/movement/order_sample.cuh"
#include "cuda/movement/word_copy.cuh"

// The first kernel of a clustered movement whose list is of unknown order: if the list turns out to be in some order
// it moves all of it as cuda.direct does, if it jumps about it leaves all but the beginning to the kernels that follow.
namespace sheaf::cuda {

struct unless_scattered {
  order_sample sample;
  std::uint32_t* tickets;  ///< counters of block/walk.cuh, zero before
  std::uint64_t tiles;
  std::uint64_t ahead;  ///< tiles that move whatever the verdict says
};

/// As many blocks as run at once draw tiles in the order of the list, so that what is worked on at any time is one
/// stretch of it: blocks that walk by themselves drift apart, and lines leave the cache between the first record that
/// wants them and the last (gathers inside windows of 8 MB took 2.1 times as long, scatters inside 32 KB 1.7 times).
/// Tiles are short for the same reason; a tile is drawn two turns ahead and loaded one turn ahead, so that nobody
/// waits.
template <direction Direction, class Word, class Index, int Items, int Step>
__global__ void __launch_bounds__(sample_block)
    move_words_unless_scattered(const __grid_constant__ word_arguments<Index> a,
                                const __grid_constant__ unless_scattered s) {
  constexpr std::uint32_t tile_records = sample_block * Items;
  __shared__ std::uint32_t drawn[2];
  bool asks = s.ahead < s.tiles;
  std::uint64_t limit = s.tiles;  // of what moves here, as far as is known
  if (blockIdx.x == 0 && asks) give_verdict(a.index, s.sample);
  std::uint32_t counter = blockIdx.x % ticket_counters;
  const auto draw = [&](std::uint32_t& to) {
    if (threadIdx.x == 0) to = atomicAdd(s.tickets + counter * ticket_step, 1U) * ticket_counters + counter;
    counter = (counter + 1) % ticket_counters;
  };
  draw(drawn[0]);
  draw(drawn[1]);
  __syncthreads();
  std::uint32_t tile = drawn[0];
  std::uint64_t first = first_of_tile<Items, Step>(std::uint64_t{tile} * tile_records);
  tile_in_flight<Word, Index, Items> now;
  if (first < a.count) load_tile<Direction, Word, Index, Items, Step>(a, first, now);
  // One counter may come to the limit some turns before the others do.
  for (std::uint32_t turn = 0, misses = 0; misses < ticket_counters; turn ^= 1) {
    if (asks && tile >= s.ahead) {
      if (is_scattered(a.index, s.sample)) limit = s.ahead;
      asks = false;
    }
    const bool moves = tile < limit;
    misses = moves ? 0 : misses + 1;
    const std::uint32_t next = drawn[turn ^ 1];
    __syncthreads();
    draw(drawn[turn]);
    const std::uint64_t next_first = first_of_tile<Items, Step>(std::uint64_t{next} * tile_records);
    tile_in_flight<Word, Index, Items> then;
    if (next < limit && next_first < a.count) load_tile<Direction, Word, Index, Items, Step>(a, next_first, then);
    if (moves && first < a.count) finish_tile<Direction, Word, Index, Items, Step>(a, first, now);
    __syncthreads();
    tile = next;
    first = next_first;
    now = then;
  }
}

/// What the kernels that follow need to know.
struct begun_movement {
  order_sample sample;
  std::uint64_t moved = 0;  ///< positions that have moved whatever the verdict says
  bool asks = false;        ///< otherwise all have
};

template <direction Direction, class Word, int Items, int Step>
begun_movement begin_words(const context& ctx, const char* what, const primitives::movement& p,
                           const move_arguments& arguments, std::uint32_t* tickets) {
  const order_verdict verdict = state_of(ctx).new_verdict();  // without a place for it, all goes as if in order
  constexpr std::uint64_t resident = 2048 / sample_block;
  const std::uint64_t blocks = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * resident;
  const std::uint64_t tile = std::uint64_t{sample_block} * Items;
  const std::uint64_t tiles = ceil_div(p.count, tile);
  // Few enough that a list at random loses little by them, enough to keep memory busy until the verdict is there.
  constexpr std::uint64_t turns_ahead = 2;
  const std::uint64_t ahead = verdict.place == nullptr ? tiles : std::min(blocks * turns_ahead, tiles);
  const unless_scattered s{sample_of(ctx, p, verdict), tickets, tiles, ahead};
  require(cudaMemsetAsync(tickets, 0, ticket_counters * ticket_step * sizeof(*tickets), ctx.stream()), what);
  const auto with_index = [&](auto index) {
    using index_value = decltype(index);
    launch_blocks(ctx, what, move_words_unless_scattered<Direction, Word, index_value, Items, Step>,
                  std::min(blocks, tiles), sample_block, word_arguments_of<index_value>(arguments), s);
  };
  arguments.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  return {s.sample, std::min(p.count, ahead * tile), ahead < tiles};
}

/// The same for the record's width; `tickets` is scratch for the counters. Instantiated in gather_unless_scattered.cu
/// and scatter_unless_scattered.cu.
begun_movement begin_gather(const context& ctx, const char* what, const primitives::movement& p,
                            const move_arguments& a, std::uint32_t* tickets);
begun_movement begin_scatter(const context& ctx, const char* what, const primitives::movement& p,
                             const move_arguments& a, std::uint32_t* tickets);

}  // namespace sheaf::cuda
