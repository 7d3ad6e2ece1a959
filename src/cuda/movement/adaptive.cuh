#pragma once

#include "cuda/movement/multipass.cuh"
#include "cuda/movement/order_sample.cuh"

// For a list of unknown order, in one launch. The first blocks move their tiles as cuda.direct does, while block 0
// samples the list. By the time that the next blocks start its verdict is there: if the list is in some order they go
// on as the first did; if it jumps about, they share the passes of cuda.multipass over the rest out among themselves,
// in the order in which blocks start. What is not wanted never starts.
namespace sheaf::cuda {

struct sampled_schedule {
  order_sample sample;
  primitives::equal_parts regions;
  std::uint64_t first_blocks;  ///< that do not ask for the verdict
  std::uint64_t blocks_per_pass;
  std::uint32_t rounds;  ///< tiles that a block takes of a list in order
  std::uint32_t passes;
  std::uint32_t asks;  ///< whether any block does
};

/// Blocks that a multiprocessor must hold, 0 for as many as come of it: words of 4 bytes in order need all eight (1.02
/// of cuda.direct's time, 1.10 with six), though that leaves the passes too few registers (1.25 of cuda.multipass's).
template <direction Direction, class Word, class Index>
constexpr int least_resident = Direction == direction::scatter && sizeof(Word) == 4 && sizeof(Index) == 4 ? 8 : 0;

template <direction Direction, class Word, class Index, int Items, int Step>
__global__ void __launch_bounds__(sample_block, least_resident<Direction, Word, Index>)
    move_words_by_sample(const __grid_constant__ word_arguments<Index> a, const __grid_constant__ sampled_schedule s) {
  constexpr std::uint32_t tile = sample_block * Items;
  const std::uint32_t chunk = tile * s.rounds;
  if (blockIdx.x == 0 && s.asks != 0) give_verdict(a.index, s.sample);
  std::uint64_t first = first_of_tile<Items, Step>(std::uint64_t{blockIdx.x} * chunk);
  tile_in_flight<Word, Index, Items> t;
  if (blockIdx.x < s.first_blocks || !is_scattered(a.index, s.sample)) {
#pragma unroll 1
    for (std::uint32_t round = 0; round < s.rounds; ++round, first += tile) {
      if (first >= a.count) return;
      load_tile<Direction, Word, Index, Items, Step>(a, first, t);
      finish_tile<Direction, Word, Index, Items, Step>(a, first, t);
    }
    return;
  }
  constexpr int pass_items = 4;  // as many registers as a tile in order wants
  constexpr std::uint32_t pass_tile = sample_block * pass_items;
  const std::uint64_t block = blockIdx.x - s.first_blocks;
  const auto pass = static_cast<std::uint32_t>(block / s.blocks_per_pass);
  const std::uint64_t region_count = s.regions.count(pass);
  if (region_count == 0) return;
  const pass_part<Index> part{static_cast<Index>(s.regions.begin(pass)), static_cast<Index>(region_count - 1),
                              pass == 0, false, false};
  const std::uint64_t share = std::uint64_t{chunk} * s.passes;
  const std::uint64_t begin = s.first_blocks * chunk + block % s.blocks_per_pass * share;
  const std::uint64_t end = min(begin + share, a.count);
#pragma unroll 1
  for (first = begin + threadIdx.x; first < end; first += pass_tile) {
    const auto left = static_cast<std::uint32_t>(min(end - first, std::uint64_t{pass_tile}));
    move_tile_in_pass<Direction, Word, Index, pass_items, sample_block>(a, first, left, part);
  }
}

template <direction Direction, class Word, int Items, int Step>
void launch_sampled_words(const context& ctx, const char* what, const primitives::movement& p, std::uint32_t rounds,
                          std::uint32_t passes, const move_arguments& arguments) {
  const order_verdict verdict = state_of(ctx).new_verdict();  // without a place for it, all goes as if in order
  const std::uint64_t chunk = std::uint64_t{sample_block} * Items * rounds;
  // Few enough that a list at random loses little by them, enough to keep memory busy until the verdict is there.
  constexpr std::uint64_t blocks_ahead = 2;
  const std::uint64_t all_blocks = ceil_div(p.count, chunk);
  const std::uint64_t ahead = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_ahead;
  const std::uint64_t first_blocks = verdict.place == nullptr ? all_blocks : std::min(ahead, all_blocks);
  const std::uint64_t left = p.count - std::min(p.count, first_blocks * chunk);
  const std::uint64_t blocks_per_pass = std::max<std::uint64_t>(1, ceil_div(left, chunk * passes));
  const sampled_schedule s{.sample = sample_of(ctx, p, verdict),
                           .regions = {primitives::reachable_records(p), passes},
                           .first_blocks = first_blocks,
                           .blocks_per_pass = blocks_per_pass,
                           .rounds = rounds,
                           .passes = passes,
                           .asks = left > 0 ? 1U : 0U};
  const auto with_index = [&](auto index) {
    using index_value = decltype(index);
    launch_blocks(ctx, what, move_words_by_sample<Direction, Word, index_value, Items, Step>,
                  first_blocks + (left > 0 ? blocks_per_pass * passes : 0), sample_block,
                  word_arguments_of<index_value>(arguments), s);
  };
  arguments.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
}

/// Why a movement is not sampled, or null.
inline const char* sampling_rejection(const primitives::movement& p, std::uint64_t widest) {
  if (const char* reason = words_rejection(p)) return reason;
  if (p.record_bytes > widest) return "records as wide as this gain nothing from passes";
  return nullptr;
}

}  // namespace sheaf::cuda
