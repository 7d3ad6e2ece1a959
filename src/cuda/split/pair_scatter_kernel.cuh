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

/// Scatters one tile of pairs.
template <class Value, pass_position Position, record_order Order, tile_kind Kind>
class pair_tile_scatter {
 public:
  __device__ __forceinline__ pair_tile_scatter(const pair_scatter_arguments& a, std::uint64_t tile,
                                               std::uint32_t pairs_in_tile, bin_tables<narrow_bins, Order>& tables)
      : a_(a),
        tables_(tables),
        tile_(tile),
        pairs_in_tile_(pairs_in_tile),
        pairs_from_first_(static_cast<int>(pairs_in_tile) - static_cast<int>(first_)) {}

  __device__ __forceinline__ void run() {
    extern __shared__ __align__(16) unsigned char shared[];
    std::uint32_t key[items];
    load_keys(key);
    packed_numbers<items> position;
    find_positions<items, narrow_bins, Order, pair_threads, every_pair_has_bin>(
        a_.runs, pairs_in_tile_,
        [&](int k) { return every_pair_has_bin || k * 32 < pairs_from_first_ ? bin_of(key[k]) : no_bin; },
        reinterpret_cast<warp_bin*>(shared), tables_, position);
    __syncthreads();
    stage(reinterpret_cast<std::uint32_t*>(shared), key, position);
    Value value[items];
    load_values(value);  // while the keys are sorted and written
    __syncthreads();
    packed_bytes<items> out_bin;
    const std::uint32_t dropped = write_keys(reinterpret_cast<const std::uint32_t*>(shared), out_bin);
    __syncthreads();
    stage(reinterpret_cast<Value*>(shared), value, position);
    __syncthreads();
    write_values(reinterpret_cast<const Value*>(shared), out_bin, dropped);
  }

 private:
  static constexpr bool is_full = Kind == tile_kind::full;
  static constexpr bool every_pair_has_bin = is_full || Order == record_order::stable;
  static constexpr int items = pairs_per_thread<Value>;

  __device__ __forceinline__ std::uint32_t bin_of(std::uint32_t key) const {
    return key >> a_.digit_shift & a_.digit_mask;
  }

  /// Past the end of the list keys are all ones: a stable pass sorts them to the end of the last bin, behind all that
  /// is written.
  __device__ __forceinline__ void load_keys(std::uint32_t (&key)[items]) const {
    if constexpr (Position == pass_position::first) {
      const std::uint32_t begin = threadIdx.x / 32 * (32 * items);
      if (is_full || begin < pairs_in_tile_) {
        const std::uint32_t share = is_full ? 32U * items : min(pairs_in_tile_ - begin, 32U * items);
        load_bins<items>(a_.key, tile_ + begin, threadIdx.x % 32, 32, share, key);
      }
      if constexpr (!is_full) {
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (k * 32 >= pairs_from_first_) key[k] = ~0U;
        }
      }
    } else {
      const std::uint32_t* const keys = a_.keys_in + tile_ + first_;
#pragma unroll
      for (int k = 0; k < items; ++k) key[k] = is_full || k * 32 < pairs_from_first_ ? __ldcs(keys + k * 32) : ~0U;
    }
  }

  __device__ __forceinline__ void load_values(Value (&value)[items]) const {
#pragma unroll
    for (int k = 0; k < items; ++k) {
      value[k] =
          value_at<Value>(a_.values_in, tile_ + (is_full ? first_ + k * 32 : min(first_ + k * 32, pairs_in_tile_ - 1)));
    }
  }

  /// Sorts keys or values in shared memory.
  template <class Word>
  __device__ __forceinline__ void stage(Word* staged, const Word (&word)[items],
                                        const packed_numbers<items>& position) const {
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (every_pair_has_bin || k * 32 < pairs_from_first_) staged[position.get(k)] = word[k];
    }
  }

  /// Writes the runs of keys, says which bins the pairs have that the thread writes, and returns a bit for each that it
  /// does not.
  __device__ __forceinline__ std::uint32_t write_keys(const std::uint32_t* staged_key,
                                                      packed_bytes<items>& out_bin) const {
    std::uint32_t dropped = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * pair_threads + threadIdx.x;
      const bool is_pair = is_full || s < pairs_in_tile_;
      const std::uint32_t staged = is_pair ? staged_key[s] : 0;
      const std::uint32_t b = bin_of(staged);
      out_bin.set(k, b);
      if (!is_pair || (a_.drops_bad_keys != 0 && staged >= a_.first_bad_key)) dropped |= 1U << k;
      if (is_pair && a_.keys_out != nullptr) a_.keys_out[tables_.output_shift[b] + s] = staged;
    }
    return dropped;
  }

  /// Writes the values to the positions of their keys.
  __device__ __forceinline__ void write_values(const Value* staged_value, const packed_bytes<items>& out_bin,
                                               std::uint32_t dropped) const {
    Value* const out = static_cast<Value*>(a_.values_out) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if ((dropped >> k & 1) != 0) continue;
      out[tables_.output_shift[out_bin.get(k)] + k * pair_threads] = staged_value[k * pair_threads + threadIdx.x];
    }
  }

  const pair_scatter_arguments& a_;
  bin_tables<narrow_bins, Order>& tables_;
  std::uint64_t tile_;
  std::uint32_t pairs_in_tile_;
  /// A warp takes consecutive pairs, a lane every 32nd of them: pairs are in the order of steps, then of lanes.
  std::uint32_t first_ = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  int pairs_from_first_;
};

template <class Value, pass_position Position, record_order Order>
__global__ void __launch_bounds__(pair_threads, 2)
    scatter_pair_tiles(const __grid_constant__ pair_scatter_arguments a) {
  wait_for_kernel_before();
  constexpr std::uint32_t tile_pairs = pair_threads * pairs_per_thread<Value>;
  __shared__ bin_tables<narrow_bins, Order> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_pairs;
  const auto pairs_in_tile = static_cast<std::uint32_t>(min(a.count - tile, std::uint64_t{tile_pairs}));
  if (pairs_in_tile == tile_pairs) {
    pair_tile_scatter<Value, Position, Order, tile_kind::full>(a, tile, pairs_in_tile, tables).run();
  } else {
    pair_tile_scatter<Value, Position, Order, tile_kind::partial>(a, tile, pairs_in_tile, tables).run();
  }
}

}  // namespace sheaf::cuda
