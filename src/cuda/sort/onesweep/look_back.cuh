#pragma once

#include "cuda/sort/words/payload.cuh"

// Decoupled look-back (Merrill and Garland 2016): tiles publish how many words of each bin they have, and a tile adds
// up what the tiles before it published, so that it learns where its bins continue while those tiles are still moved.
namespace sheaf::cuda {

/// State of a tile for one bin: 0 until something is published, then a number of words with a flag.
using tile_state = std::uint32_t;
constexpr tile_state aggregate_flag = 1U << 30;         ///< the number is the tile's own count
constexpr tile_state inclusive_prefix_flag = 1U << 31;  ///< the number is where the bin continues behind this tile
constexpr tile_state count_mask = aggregate_flag - 1;

/// Publishes the state of bin threadIdx.x of a tile. A state is one word and complete by itself, so no fence has to
/// order it after other stores.
__device__ __forceinline__ void publish(tile_state* states, std::uint32_t tile, tile_state state) {
  volatile tile_state* const published = states;
  published[tile * radix_bins + threadIdx.x] = state;
}

/// The exclusive prefix of bin threadIdx.x for a tile other than the first: adds up the aggregates of the tiles before
/// it, from the nearest on, to the first of them that has an inclusive prefix.
__device__ __forceinline__ std::uint32_t look_back(const tile_state* states, std::uint32_t tile) {
  std::uint32_t prefix = 0;
  const volatile tile_state* state = states + (tile - 1) * radix_bins + threadIdx.x;
  for (;;) {
    const tile_state seen = *state;
    if (seen == 0) continue;
    prefix += seen & count_mask;
    if ((seen & inclusive_prefix_flag) != 0) return prefix;
    state -= radix_bins;
  }
}

}  // namespace sheaf::cuda
