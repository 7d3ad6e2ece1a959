#pragma once

#include "cuda/sort/words/payload.cuh"

// Decoupled look-back (Merrill and Garland 2016): tiles publish how many words of each bin they have, and a tile adds
// up what the tiles before it published, so that it learns where its bins continue while those tiles are still moved.
namespace sheaf::cuda {

/// State of a tile for one bin: 0 until something is published, then the tile's own count plus 1, or, with the flag,
/// where the bin continues behind this tile. The first tile publishes the latter alone.
using tile_state = std::uint32_t;
constexpr tile_state inclusive_prefix_flag = 1U << 31;

__device__ __forceinline__ std::uint32_t count_of(tile_state s) {
  return s >= inclusive_prefix_flag ? s - inclusive_prefix_flag : s - 1;
}

/// Publishes the state of bin threadIdx.x of a tile. A state is one number and complete by itself, so no fence has to
/// order it after other stores.
__device__ __forceinline__ void publish(tile_state* states, std::uint32_t tile, tile_state state) {
  volatile tile_state* const published = states;
  published[tile * radix_bins + threadIdx.x] = state;
}

/// The exclusive prefix of bin threadIdx.x for a tile other than the first; whole warps call this. Adds up the
/// aggregates of the tiles before it, from the nearest on, until one of them has an inclusive prefix, which is added
/// last.
__device__ __forceinline__ std::uint32_t look_back(const tile_state* states, std::uint32_t tile) {
  std::uint32_t prefix = 0;
  unsigned looking = ~0U;
  const volatile tile_state* state = states + (tile - 1) * radix_bins + threadIdx.x;
  for (;;) {
    tile_state seen = *state;
    while (seen == 0) seen = *state;
    prefix += count_of(seen);
    const bool is_found = seen >= inclusive_prefix_flag;
    // The lanes of a warp wait for each other, so that they read the states of one tile at once.
    looking = __ballot_sync(looking, !is_found);
    if (is_found) return prefix;
    state -= radix_bins;
  }
}

/// Likewise where all tiles are moved at once, and the nearest inclusive prefix is far: reads the states of several
/// earlier tiles at once.
__device__ __forceinline__ std::uint32_t look_back_far(const tile_state* states, std::uint32_t tile) {
  constexpr int at_once = 8;
  std::uint32_t prefix = 0;
  const volatile tile_state* const state = states + threadIdx.x;
  for (std::uint32_t end = tile;;) {
    tile_state seen[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      seen[k] = state[(end - 1 - min(end - 1, static_cast<std::uint32_t>(k))) * radix_bins];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if (seen[k] == 0) break;
      prefix += count_of(seen[k]);
      if (seen[k] >= inclusive_prefix_flag) return prefix;
      --end;
    }
  }
}

}  // namespace sheaf::cuda
