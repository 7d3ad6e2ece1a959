#pragma once

#include "cuda/split/pass.cuh"

// One pass over keys and values in arrays of their own: keys are ranked and moved as in split_pass.cuh, then the values
// take the same places.
namespace sheaf::cuda {

/// Pairs of a thread: keys and values must fit its registers.
template <class Value>
constexpr int pair_items = sizeof(Value) == 16 ? 8 : 16;
constexpr int pair_threads = 512;

struct pair_pass_arguments {
  const std::uint32_t* keys_in;
  std::uint32_t* keys_out;  ///< null: keys are not wanted any more
  const void* values_in;    ///< null: record numbers
  void* values_out;
  std::uint64_t count;
  std::uint32_t shift;  ///< of the digit
  std::uint32_t mask;
  std::uint32_t drops;  ///< values of keys from `limit` on are not written
  std::uint32_t limit;
  key_arguments key;  ///< for the first pass: the caller's keys; a bad one becomes key.bad_bin
  run_begins runs;
};

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

template <class Value, bool Stable>
constexpr std::size_t pair_shared_bytes() {
  const std::size_t staged = pair_threads * pair_items<Value> * sizeof(Value);
  const std::size_t counters = Stable ? pair_threads / 32 * narrow_bins * sizeof(warp_bin) : 0;
  return staged > counters ? staged : counters;
}

template <class Value, bool First, bool Stable, bool Full>
__device__ __forceinline__ void split_one_pair_tile(const pair_pass_arguments& a, std::uint64_t tile,
                                                    std::uint32_t left, split_tables<narrow_bins, Stable>& tables) {
  constexpr int items = pair_items<Value>;
  constexpr int warps = pair_threads / 32;
  extern __shared__ __align__(16) unsigned char shared[];
  warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(shared);
  std::uint32_t* const staged_key = reinterpret_cast<std::uint32_t*>(shared);
  Value* const staged_value = reinterpret_cast<Value*>(shared);

  // A warp's pairs lie side by side, a lane's 32 apart: the order of steps and lanes is that of the pairs.
  const std::uint32_t begin = threadIdx.x / 32 * (32 * items);
  const std::uint32_t first = begin + threadIdx.x % 32;
  const int room = static_cast<int>(left) - static_cast<int>(first);

  // Past the end of the list keys are all ones: in order they come last in the last bin, past all that is written.
  std::uint32_t key[items];
  if constexpr (First) {
    if (Full || begin < left) {
      const std::uint32_t share = Full ? 32U * items : min(left - begin, 32U * items);
      load_bins<items>(a.key, tile + begin, threadIdx.x % 32, 32, share, key);
    }
    if constexpr (!Full) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (k * 32 >= room) key[k] = ~0U;
      }
    }
  } else {
    const std::uint32_t* const from = a.keys_in + tile + first;
#pragma unroll
    for (int k = 0; k < items; ++k) key[k] = Full || k * 32 < room ? __ldcs(from + k * 32) : ~0U;
  }
  if constexpr (Stable) {
    for (int i = threadIdx.x; i < warps * static_cast<int>(narrow_bins); i += pair_threads) warp_bins[i] = {0, 0};
  } else {
    for (int i = threadIdx.x; i < static_cast<int>(narrow_bins); i += pair_threads) tables.histogram[i] = 0;
  }
  __syncthreads();

  constexpr bool skips_none = Full || Stable;
  const auto bin = [&](int k) {
    const std::uint32_t b = key[k] >> a.shift & a.mask;
    return skips_none || k * 32 < room ? b : no_bin;
  };
  packed_numbers<items> rank;
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * narrow_bins;
  if constexpr (Stable) {
    rank_in_warp<items, narrow_bins, skips_none>(bin, own_bins, rank);
  } else {
    rank_unordered<items, narrow_bins, skips_none>(bin, tables.histogram, rank);
  }
  __syncthreads();
  place_runs<narrow_bins, Stable, pair_threads>(a.runs, left, warp_bins, tables);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t b = bin(k);
    if (skips_none || b < narrow_bins) rank.add(k, Stable ? own_bins[b].lanes : tables.histogram[b]);
  }
  __syncthreads();

#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (skips_none || k * 32 < room) staged_key[rank.get(k)] = key[k];
  }
  Value value[items];
#pragma unroll
  for (int k = 0; k < items; ++k) {
    value[k] = value_at<Value>(a.values_in, tile + (Full ? first + k * 32 : min(first + k * 32, left - 1)));
  }
  __syncthreads();
  packed_bytes<items> out_bin;
  std::uint32_t dropped = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t s = k * pair_threads + threadIdx.x;
    const std::uint32_t moved = Full || s < left ? staged_key[s] : 0;
    const std::uint32_t b = moved >> a.shift & a.mask;
    out_bin.set(k, b);
    const bool here = Full || s < left;
    if (!here || (a.drops != 0 && moved >= a.limit)) dropped |= 1U << k;
    if (here && a.keys_out != nullptr) a.keys_out[tables.place[b] + s] = moved;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (skips_none || k * 32 < room) staged_value[rank.get(k)] = value[k];
  }
  __syncthreads();
  Value* const out = static_cast<Value*>(a.values_out) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if ((dropped >> k & 1) != 0) continue;
    out[tables.place[out_bin.get(k)] + k * pair_threads] = staged_value[k * pair_threads + threadIdx.x];
  }
}

template <class Value, bool First, bool Stable>
__global__ void __launch_bounds__(pair_threads, 2) split_pair_tiles(const __grid_constant__ pair_pass_arguments a) {
  constexpr std::uint32_t most = pair_threads * pair_items<Value>;
  __shared__ split_tables<narrow_bins, Stable> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * most;
  const auto left = static_cast<std::uint32_t>(min(a.count - tile, std::uint64_t{most}));
  if (left == most) {
    split_one_pair_tile<Value, First, Stable, true>(a, tile, left, tables);
  } else {
    split_one_pair_tile<Value, First, Stable, false>(a, tile, left, tables);
  }
}

}  // namespace sheaf::cuda
