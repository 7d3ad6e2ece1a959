#pragma once

#include "cuda/device/launch.cuh"

// Segmented reduction: adds up the values of each slot in a list of (slot, value) pairs sorted by slot. sum_segments
// does so for the tile of a block. add_segmented_sums does so for a list in memory: segments that reach over a tile's
// edge leave carries, two pairs a tile, which form a shorter sorted list that the next launch reduces likewise. The
// order of additions depends on positions alone, so sums of floats are deterministic.
namespace sheaf::cuda {

constexpr int segment_items = 8;  ///< pairs of a thread
constexpr std::uint32_t segment_tile = block_threads * segment_items;

/// Scratch of the carry lists of all launches.
constexpr std::uint64_t segment_scratch_bytes(std::uint64_t count, std::uint64_t value_bytes) {
  std::uint64_t bytes = 0;
  while (count > segment_tile) {
    count = 2 * ceil_div(count, segment_tile);
    bytes += count * (value_bytes + sizeof(std::uint32_t));
  }
  return bytes;
}

template <class T>
struct sorted_pairs {
  const std::uint32_t* slot;
  const T* value;
  std::uint64_t count;
  bool is_negated = false;           ///< values count with the other sign: a difference is a sum of negatives
  std::uint32_t* has_bad = nullptr;  ///< set to 1 if a slot is not in the output; null: not wanted
};

/// The sum of no values: x + -0.0 is x for every x, -0.0 included.
template <class T>
constexpr T empty_sum = T(-0.0);

/// Whether a sum is that of no values, bit by bit. Adding it would change nothing but the bits of a signaling NaN.
template <class T>
__device__ __forceinline__ bool is_empty_sum(T sum) {
  if constexpr (std::is_same_v<T, float>) return __float_as_uint(sum) == __float_as_uint(empty_sum<T>);
  if constexpr (std::is_same_v<T, double>) return __double_as_longlong(sum) == __double_as_longlong(empty_sum<T>);
  return sum == empty_sum<T>;
}

/// Up to segment_items sums of a thread, by a number k that is known when loops are unrolled, each of a slot that
/// nobody else adds to meanwhile. They are added to the output together, so that all slots are under way at once; by
/// loads and stores, because the hardware's atomics take f32 below 2^-126 for zero.
template <class T>
struct slot_sums {
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  std::uint32_t slot[segment_items];
  T sum[segment_items];

  __device__ __forceinline__ slot_sums() {
#pragma unroll
    for (int k = 0; k < segment_items; ++k) set(k, no_slot, empty_sum<T>);
  }
  __device__ __forceinline__ void set(int k, std::uint32_t to, T value) {
    slot[k] = to;
    sum[k] = value;
  }
  __device__ __forceinline__ void add_to(T* out) const {
    T old[segment_items];
#pragma unroll
    for (int k = 0; k < segment_items; ++k) {
      if (!is_empty_sum(sum[k])) old[k] = out[slot[k]];
    }
#pragma unroll
    for (int k = 0; k < segment_items; ++k) {
      if (!is_empty_sum(sum[k])) out[slot[k]] = old[k] + sum[k];
    }
  }
};

/// A tile of pairs sorted by slot in shared memory, and what a block needs to add up its segments.
template <class T>
struct sorted_tile {
  std::uint32_t slot[segment_tile];
  T value[segment_tile];
  std::uint32_t end_slot[block_threads];  ///< of each thread's last pair
  T warp_sum[block_threads / 32];
  unsigned char warp_has_start[block_threads / 32];
};

/// Calls write_sum(k, slot, sum) once for each segment of the tile: k numbers the sums that the thread writes, below
/// segment_items, and is known when loops are unrolled. All threads of the block call this, after a barrier behind the
/// writes of slots and values.
template <class T, class Write>
__device__ __forceinline__ void sum_segments(sorted_tile<T>& tile, Write write_sum) {
  // The thread reduces its own pairs. Segments that begin and end inside are written; the first one (head_sum) and the
  // last one (sum) may go on in other threads.
  const std::uint32_t* const slots = tile.slot + threadIdx.x * segment_items;
  const T* const values = tile.value + threadIdx.x * segment_items;
  const std::uint32_t first_slot = slots[0];
  std::uint32_t slot = first_slot;
  T head_sum = empty_sum<T>;
  T sum = values[0];
  bool has_boundary = false;
#pragma unroll
  for (int k = 1; k < segment_items; ++k) {
    if (slots[k] == slot) {
      sum += values[k];
      continue;
    }
    if (has_boundary) {
      write_sum(k - 1, slot, sum);
    } else {
      head_sum = sum;
    }
    has_boundary = true;
    slot = slots[k];
    sum = values[k];
  }
  tile.end_slot[threadIdx.x] = slot;
  __syncthreads();
  const bool continues = threadIdx.x > 0 && tile.end_slot[threadIdx.x - 1] == first_slot;

  // Segmented scan over the block: open_sum is the sum of the segment that is open at the thread's end, from the
  // segment's beginning on if has_start, else from the first lane on.
  T open_sum = sum;
  bool has_start = has_boundary || !continues;
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const T earlier_sum = __shfl_up_sync(~0U, open_sum, step);
    const bool earlier_start = __shfl_up_sync(~0U, static_cast<int>(has_start), step) != 0;
    if (lane >= step && !has_start) {
      open_sum = earlier_sum + open_sum;
      has_start = earlier_start;
    }
  }
  if (lane == 31) {
    tile.warp_sum[threadIdx.x / 32] = open_sum;
    tile.warp_has_start[threadIdx.x / 32] = has_start ? 1 : 0;
  }
  __syncthreads();
  T sum_before_warp = empty_sum<T>;  // sum of the segment that is open at the end of the warps before this one
  for (std::uint32_t w = 0; w < threadIdx.x / 32; ++w)
    sum_before_warp = tile.warp_has_start[w] != 0 ? tile.warp_sum[w] : sum_before_warp + tile.warp_sum[w];
  if (!has_start) open_sum = sum_before_warp + open_sum;
  T sum_before_thread = __shfl_up_sync(~0U, open_sum, 1);
  if (lane == 0) sum_before_thread = sum_before_warp;

  if (has_boundary) write_sum(0, first_slot, continues ? sum_before_thread + head_sum : head_sum);
  const bool ends_segment = threadIdx.x == block_threads - 1 || tile.slot[(threadIdx.x + 1) * segment_items] != slot;
  if (ends_segment) write_sum(segment_items - 1, slot, open_sum);
}

/// Reduces one tile a block. Pairs with a slot from slot_limit on lie at the end, among those of the last slot if need
/// be, and add nothing. A grid of one block carries nothing.
template <class T>
__global__ void __launch_bounds__(block_threads)
    reduce_tiles(sorted_pairs<T> list, std::uint32_t slot_limit, T* out, std::uint32_t* carry_slot, T* carry_value) {
  __shared__ sorted_tile<T> tile;
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * segment_tile;
  const auto pairs = static_cast<std::uint32_t>(min(list.count - begin, std::uint64_t{segment_tile}));
  bool has_bad = false;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    const std::uint32_t position = k * block_threads + threadIdx.x;
    // Past the end, the tile is filled with empty sums of the last slot.
    const std::uint64_t i = begin + min(position, pairs - 1);
    const std::uint32_t slot = __ldcs(list.slot + i);
    const T value = __ldcs(list.value + i);
    tile.slot[position] = min(slot, slot_limit - 1);
    has_bad = has_bad || slot >= slot_limit;
    tile.value[position] = position < pairs && slot < slot_limit ? (list.is_negated ? -value : value) : empty_sum<T>;
  }
  if (has_bad && list.has_bad != nullptr)
    *list.has_bad = 1;  // not in the loop, where a branch would separate the loads
  __syncthreads();
  const std::uint32_t edge_slots[2] = {tile.slot[0], tile.slot[segment_tile - 1]};
  const bool is_only_tile = gridDim.x == 1;
  const auto write_carry = [&](std::uint32_t edge, std::uint32_t slot, T sum) {
    carry_slot[2 * std::uint64_t{blockIdx.x} + edge] = slot;
    carry_value[2 * std::uint64_t{blockIdx.x} + edge] = sum;
  };
  slot_sums<T> sums;
  sum_segments(tile, [&](int k, std::uint32_t slot, T sum) {
    if (!is_only_tile && slot == edge_slots[0]) {
      write_carry(0, slot, sum);
      if (slot == edge_slots[1]) write_carry(1, slot, empty_sum<T>);
    } else if (!is_only_tile && slot == edge_slots[1]) {
      write_carry(1, slot, sum);
    } else if (slot < slot_limit) {
      sums.set(k, slot, sum);
    }
  });
  sums.add_to(out);
}

/// Queues out[slot] += the sum of the slot's values, for each slot below slot_limit.
template <class T>
void add_segmented_sums(const context& ctx, sorted_pairs<T> list, std::uint32_t slot_limit, T* out,
                        std::byte* scratch) {
  while (true) {
    const std::uint64_t tiles = ceil_div(list.count, segment_tile);
    T* const carry_value = reinterpret_cast<T*>(scratch);
    auto* const carry_slot = reinterpret_cast<std::uint32_t*>(carry_value + 2 * tiles);
    launch(ctx, reduce_tiles<T>, tiles, list, slot_limit, out, carry_slot, carry_value);
    if (tiles == 1) return;
    list = {carry_slot, carry_value, 2 * tiles};
    scratch += list.count * (sizeof(T) + sizeof(std::uint32_t));
  }
}

}  // namespace sheaf::cuda
