#pragma once

#include "cuda/device/launch.cuh"
#include "cuda/split/passes.hpp"
#include "cuda/split/run_offsets.cuh"

// The scatter kernel of a pass over keys and values in separate arrays. Keys are ranked, sorted in shared memory and
// written as in scatter_kernel.cuh; then the values take the same positions. Values are loaded when keys are ranked,
// and staged after them in the same shared memory.
namespace sheaf::cuda {

constexpr int pair_threads = 512;
/// Pairs of a thread: keys and values must fit its registers.
template <class Value>
constexpr int pairs_per_thread = sizeof(Value) == 16 ? 8 : 16;

struct pair_scatter_arguments {
  const std::uint32_t* keys_in;  ///< null in the first pass, which reads `key`
  std::uint32_t* keys_out;       ///< null: nobody reads the keys after this pass
  const void* values_in;         ///< null: record numbers
  void* values_out;
  std::uint64_t count;  ///< pairs
  std::uint32_t digit_shift;
  std::uint32_t digit_mask;
  std::uint32_t drops_bad_keys;  ///< not 0: values of keys from first_bad_key on are not written
  std::uint32_t first_bad_key;
  key_arguments key;  ///< the caller's keys; a bad one is read as key.bad_bin
  run_offsets runs;
};

/// Whether a pass reads the caller's keys, or the keys that the pass before it wrote.
enum class pass_position { first, later };

template <class Value>
__device__ __forceinline__ Value value_at(const void* values, std::uint64_t i) {
  if (values != nullptr) return __ldcs(static_cast<const Value*>(values) + i);
  if constexpr (sizeof(Value) == 4) {
    return static_cast<Value>(i);
  } else if constexpr (sizeof(Value) == 8) {
    return {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32)};
  } else {
    return {};
  }
}

/// Dynamic shared memory of a block: counters, then staged keys, then staged values, in one space.
template <class Value, record_order Order>
constexpr std::size_t pair_shared_bytes() {
  const std::size_t staged = pair_threads * pairs_per_thread<Value> * sizeof(Value);
  const std::size_t counters = Order == record_order::stable ? pair_threads / 32 * narrow_bins * sizeof(warp_bin) : 0;
  return staged > counters ? staged : counters;
}

template <class Value, pass_position Position, record_order Order, tile_kind Kind>
__device__ __forceinline__ void scatter_pair_tile(const pair_scatter_arguments& a, std::uint64_t tile,
                                                  std::uint32_t pairs_in_tile, bin_tables<narrow_bins, Order>& tables) {
  constexpr bool is_full = Kind == tile_kind::full;
  constexpr bool is_stable = Order == record_order::stable;
  constexpr int items = pairs_per_thread<Value>;
  constexpr int warps = pair_threads / 32;
  extern __shared__ __align__(16) unsigned char shared[];
  warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(shared);
  std::uint32_t* const staged_key = reinterpret_cast<std::uint32_t*>(shared);
  Value* const staged_value = reinterpret_cast<Value*>(shared);

  // A warp takes consecutive pairs, a lane every 32nd of them: pairs are in the order of steps, then of lanes.
  const std::uint32_t begin = threadIdx.x / 32 * (32 * items);
  const std::uint32_t first = begin + threadIdx.x % 32;
  const int pairs_from_first = static_cast<int>(pairs_in_tile) - static_cast<int>(first);

  // Past the end of the list keys are all ones: a stable pass sorts them to the end of the last bin, behind all that is
  // written.
  std::uint32_t key[items];
  if constexpr (Position == pass_position::first) {
    if (is_full || begin < pairs_in_tile) {
      const std::uint32_t share = is_full ? 32U * items : min(pairs_in_tile - begin, 32U * items);
      load_bins<items>(a.key, tile + begin, threadIdx.x % 32, 32, share, key);
    }
    if constexpr (!is_full) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (k * 32 >= pairs_from_first) key[k] = ~0U;
      }
    }
  } else {
    const std::uint32_t* const keys = a.keys_in + tile + first;
#pragma unroll
    for (int k = 0; k < items; ++k) key[k] = is_full || k * 32 < pairs_from_first ? __ldcs(keys + k * 32) : ~0U;
  }
  if constexpr (is_stable) {
    for (int i = threadIdx.x; i < warps * static_cast<int>(narrow_bins); i += pair_threads) warp_bins[i] = {0, 0};
  } else {
    for (int i = threadIdx.x; i < static_cast<int>(narrow_bins); i += pair_threads) tables.histogram[i] = 0;
  }
  __syncthreads();

  constexpr bool every_pair_has_bin = is_full || is_stable;
  const auto bin = [&](int k) {
    const std::uint32_t b = key[k] >> a.digit_shift & a.digit_mask;
    return every_pair_has_bin || k * 32 < pairs_from_first ? b : no_bin;
  };
  // Rank each pair in its bin, then find its position in the sorted tile.
  packed_numbers<items> rank;
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * narrow_bins;
  if constexpr (is_stable) {
    rank_in_warp<items, narrow_bins, every_pair_has_bin>(bin, own_bins, rank);
  } else {
    rank_unordered<items, narrow_bins, every_pair_has_bin>(bin, tables.histogram, rank);
  }
  __syncthreads();
  find_run_offsets<narrow_bins, Order, pair_threads>(a.runs, pairs_in_tile, warp_bins, tables);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t b = bin(k);
    if (every_pair_has_bin || b < narrow_bins)
      rank.add(k, is_stable ? own_bins[b].lanes_or_begin : tables.histogram[b]);
  }
  __syncthreads();

  // Sort the keys in shared memory and write their runs, while the values load.
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (every_pair_has_bin || k * 32 < pairs_from_first) staged_key[rank.get(k)] = key[k];
  }
  Value value[items];
#pragma unroll
  for (int k = 0; k < items; ++k) {
    value[k] = value_at<Value>(a.values_in, tile + (is_full ? first + k * 32 : min(first + k * 32, pairs_in_tile - 1)));
  }
  __syncthreads();
  packed_bytes<items> out_bin;
  std::uint32_t dropped = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t s = k * pair_threads + threadIdx.x;
    const std::uint32_t staged = is_full || s < pairs_in_tile ? staged_key[s] : 0;
    const std::uint32_t b = staged >> a.digit_shift & a.digit_mask;
    out_bin.set(k, b);
    const bool is_pair = is_full || s < pairs_in_tile;
    if (!is_pair || (a.drops_bad_keys != 0 && staged >= a.first_bad_key)) dropped |= 1U << k;
    if (is_pair && a.keys_out != nullptr) a.keys_out[tables.output_shift[b] + s] = staged;
  }
  __syncthreads();

  // Sort the values likewise, and write them to the positions of their keys.
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (every_pair_has_bin || k * 32 < pairs_from_first) staged_value[rank.get(k)] = value[k];
  }
  __syncthreads();
  Value* const out = static_cast<Value*>(a.values_out) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if ((dropped >> k & 1) != 0) continue;
    out[tables.output_shift[out_bin.get(k)] + k * pair_threads] = staged_value[k * pair_threads + threadIdx.x];
  }
}

template <class Value, pass_position Position, record_order Order>
__global__ void __launch_bounds__(pair_threads, 2)
    scatter_pair_tiles(const __grid_constant__ pair_scatter_arguments a) {
  wait_for_kernel_before();
  constexpr std::uint32_t tile_pairs = pair_threads * pairs_per_thread<Value>;
  __shared__ bin_tables<narrow_bins, Order> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_pairs;
  const auto pairs_in_tile = static_cast<std::uint32_t>(min(a.count - tile, std::uint64_t{tile_pairs}));
  if (pairs_in_tile == tile_pairs) {
    scatter_pair_tile<Value, Position, Order, tile_kind::full>(a, tile, pairs_in_tile, tables);
  } else {
    scatter_pair_tile<Value, Position, Order, tile_kind::partial>(a, tile, pairs_in_tile, tables);
  }
}

}  // namespace sheaf::cuda
