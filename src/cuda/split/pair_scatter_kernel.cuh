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

/// Past the end of the list keys are all ones: a stable pass sorts them to the end of the last bin, behind all that is
/// written.
template <pass_position Position, tile_kind Kind, int Items>
__device__ __forceinline__ void load_keys(const pair_scatter_arguments& args, std::uint64_t tile,
                                          std::uint32_t pairs_in_tile, std::uint32_t first, int pairs_from_first,
                                          std::uint32_t (&key)[Items]) {
  constexpr bool is_full = Kind == tile_kind::full;
  if constexpr (Position == pass_position::first) {
    const std::uint32_t begin = threadIdx.x / 32 * (32 * Items);
    if (is_full || begin < pairs_in_tile) {
      const std::uint32_t share = is_full ? 32U * Items : min(pairs_in_tile - begin, 32U * Items);
      load_bins<Items>(args.key, tile + begin, threadIdx.x % 32, 32, share, key);
    }
    if constexpr (!is_full) {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        if (k * 32 >= pairs_from_first) key[k] = ~0U;
      }
    }
  } else {
    const std::uint32_t* const keys = args.keys_in + tile + first;
#pragma unroll
    for (int k = 0; k < Items; ++k) key[k] = is_full || k * 32 < pairs_from_first ? __ldcs(keys + k * 32) : ~0U;
  }
}

/// Sorts the keys or the values of a tile in shared memory.
template <bool EveryPairHasBin, class Word, int Items>
__device__ __forceinline__ void stage_words(const Word (&word)[Items], const packed_numbers<Items>& position,
                                            int pairs_from_first, Word* staged) {
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if (EveryPairHasBin || k * 32 < pairs_from_first) staged[position.get(k)] = word[k];
  }
}

/// Writes the runs of keys, says which bins the pairs have that the thread writes, and returns a bit for each that it
/// does not.
template <tile_kind Kind, int Items>
__device__ __forceinline__ std::uint32_t write_keys(const pair_scatter_arguments& args, std::uint32_t pairs_in_tile,
                                                    const std::uint32_t* staged_key, const std::uint64_t* output_shift,
                                                    packed_bytes<Items>& out_bin) {
  constexpr bool is_full = Kind == tile_kind::full;
  std::uint32_t dropped = 0;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t position = k * pair_threads + threadIdx.x;
    const std::uint32_t staged = is_full || position < pairs_in_tile ? staged_key[position] : 0;
    const std::uint32_t b = staged >> args.digit_shift & args.digit_mask;
    out_bin.set(k, b);
    const bool is_pair = is_full || position < pairs_in_tile;
    if (!is_pair || (args.drops_bad_keys != 0 && staged >= args.first_bad_key)) dropped |= 1U << k;
    if (is_pair && args.keys_out != nullptr) args.keys_out[output_shift[b] + position] = staged;
  }
  return dropped;
}

/// Writes the values to the positions of their keys.
template <class Value, int Items>
__device__ __forceinline__ void write_values(const pair_scatter_arguments& a, const Value* staged_value,
                                             const std::uint64_t* output_shift, const packed_bytes<Items>& out_bin,
                                             std::uint32_t dropped) {
  Value* const out = static_cast<Value*>(a.values_out) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if ((dropped >> k & 1) != 0) continue;
    out[output_shift[out_bin.get(k)] + k * pair_threads] = staged_value[k * pair_threads + threadIdx.x];
  }
}

/// Scatters one tile of pairs.
template <class Value, pass_position Position, record_order Order, tile_kind Kind>
__device__ __forceinline__ void scatter_pair_tile(const pair_scatter_arguments& args, std::uint64_t tile,
                                                  std::uint32_t pairs_in_tile, bin_tables<narrow_bins, Order>& tables) {
  constexpr bool is_full = Kind == tile_kind::full;
  constexpr bool every_pair_has_bin = is_full || Order == record_order::stable;
  constexpr int items = pairs_per_thread<Value>;
  extern __shared__ __align__(16) unsigned char shared[];
  std::uint32_t* const staged_key = reinterpret_cast<std::uint32_t*>(shared);
  Value* const staged_value = reinterpret_cast<Value*>(shared);

  // A warp takes consecutive pairs, a lane every 32nd of them: pairs are in the order of steps, then of lanes.
  const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  const int pairs_from_first = static_cast<int>(pairs_in_tile) - static_cast<int>(first);
  std::uint32_t key[items];
  load_keys<Position, Kind>(args, tile, pairs_in_tile, first, pairs_from_first, key);

  const auto bin = [&](int k) {
    const std::uint32_t b = key[k] >> args.digit_shift & args.digit_mask;
    return every_pair_has_bin || k * 32 < pairs_from_first ? b : no_bin;
  };
  packed_numbers<items> position;
  find_positions<items, narrow_bins, Order, pair_threads, every_pair_has_bin>(
      args.runs, pairs_in_tile, bin, reinterpret_cast<warp_bin*>(shared), tables, position);
  __syncthreads();

  stage_words<every_pair_has_bin>(key, position, pairs_from_first, staged_key);
  Value value[items];  // they load while the keys are sorted and written
#pragma unroll
  for (int k = 0; k < items; ++k) {
    value[k] =
        value_at<Value>(args.values_in, tile + (is_full ? first + k * 32 : min(first + k * 32, pairs_in_tile - 1)));
  }
  __syncthreads();
  packed_bytes<items> out_bin;
  const std::uint32_t dropped = write_keys<Kind>(args, pairs_in_tile, staged_key, tables.output_shift, out_bin);
  __syncthreads();

  stage_words<every_pair_has_bin>(value, position, pairs_from_first, staged_value);
  __syncthreads();
  write_values(args, staged_value, tables.output_shift, out_bin, dropped);
}

template <class Value, pass_position Position, record_order Order>
__global__ void __launch_bounds__(pair_threads, 2)
    scatter_pair_tiles(const __grid_constant__ pair_scatter_arguments args) {
  wait_for_kernel_before();
  constexpr std::uint32_t tile_pairs = pair_threads * pairs_per_thread<Value>;
  __shared__ bin_tables<narrow_bins, Order> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_pairs;
  const auto pairs_in_tile = static_cast<std::uint32_t>(min(args.count - tile, std::uint64_t{tile_pairs}));
  if (pairs_in_tile == tile_pairs) {
    scatter_pair_tile<Value, Position, Order, tile_kind::full>(args, tile, pairs_in_tile, tables);
  } else {
    scatter_pair_tile<Value, Position, Order, tile_kind::partial>(args, tile, pairs_in_tile, tables);
  }
}

}  // namespace sheaf::cuda
