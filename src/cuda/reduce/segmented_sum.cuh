#pragma once

#include "cuda/device/launch.cuh"

// Adds up runs of one slot in a list of slots and values that is in order of slots. Tiles add what lies inside them;
// what reaches over an edge goes to a shorter list, of two entries a tile, which is treated alike. The order of
// additions depends on positions alone, so that sums of floats are the same in every run.
namespace sheaf::cuda {

constexpr int segment_items = 8;
constexpr std::uint32_t segment_tile = block_threads * segment_items;

/// Scratch for the shorter lists.
constexpr std::uint64_t segment_scratch_bytes(std::uint64_t count, std::uint64_t value_bytes) {
  std::uint64_t bytes = 0;
  while (count > segment_tile) {
    count = 2 * ceil_div(count, segment_tile);
    bytes += count * (value_bytes + sizeof(std::uint32_t));
  }
  return bytes;
}

template <class T>
struct slot_list {
  const std::uint32_t* slot;
  const T* value;
  std::uint64_t count;
};

/// x + this is x, for -0 too.
template <class T>
constexpr T no_sum = T(-0.0);

/// Slots from `past` on are left out. With one tile nothing is carried.
template <class T>
__global__ void __launch_bounds__(block_threads)
    add_tile_segments(slot_list<T> list, std::uint32_t past, T* out, std::uint32_t* carry_slot, T* carry_value) {
  __shared__ std::uint32_t tile_slot[segment_tile];
  __shared__ T tile_value[segment_tile];
  __shared__ std::uint32_t last_slot[block_threads];
  __shared__ T warp_sum[block_threads / 32];
  __shared__ unsigned char warp_breaks[block_threads / 32];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * segment_tile;
  const auto records = static_cast<std::uint32_t>(min(list.count - begin, std::uint64_t{segment_tile}));
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    const std::uint32_t s = k * block_threads + threadIdx.x;
    // Past the end lie values of the last slot that change nothing.
    const std::uint64_t from = begin + min(s, records - 1);
    tile_slot[s] = __ldcs(list.slot + from);
    tile_value[s] = s < records ? __ldcs(list.value + from) : no_sum<T>;
  }
  __syncthreads();
  const std::uint32_t edge_slots[2] = {tile_slot[0], tile_slot[segment_tile - 1]};
  const bool alone = gridDim.x == 1;
  const auto carry = [&](std::uint32_t edge, std::uint32_t slot, T sum) {
    carry_slot[2 * std::uint64_t{blockIdx.x} + edge] = slot;
    carry_value[2 * std::uint64_t{blockIdx.x} + edge] = sum;
  };
  const auto finish = [&](std::uint32_t slot, T sum) {
    if (!alone && slot == edge_slots[0]) {
      carry(0, slot, sum);
      if (slot == edge_slots[1]) carry(1, slot, no_sum<T>);
    } else if (!alone && slot == edge_slots[1]) {
      carry(1, slot, sum);
    } else if (slot < past) {
      out[slot] += sum;
    }
  };

  // The thread's own entries: runs that begin and end inside are done, the first and the last stay open.
  const std::uint32_t* const slots = tile_slot + threadIdx.x * segment_items;
  const T* const values = tile_value + threadIdx.x * segment_items;
  const std::uint32_t first_slot = slots[0];
  std::uint32_t slot = first_slot;
  T head = no_sum<T>;
  T sum = values[0];
  bool breaks = false;
#pragma unroll
  for (int k = 1; k < segment_items; ++k) {
    if (slots[k] == slot) {
      sum += values[k];
      continue;
    }
    if (breaks) {
      finish(slot, sum);
    } else {
      head = sum;
    }
    breaks = true;
    slot = slots[k];
    sum = values[k];
  }
  last_slot[threadIdx.x] = slot;
  __syncthreads();
  const bool continues = threadIdx.x > 0 && last_slot[threadIdx.x - 1] == first_slot;

  // Sums of open runs up to each thread's end, and whether one began on the way.
  T open = sum;
  bool began = breaks || !continues;
  const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const T left = __shfl_up_sync(~0U, open, step);
    const bool left_began = __shfl_up_sync(~0U, static_cast<int>(began), step) != 0;
    if (lane >= step && !began) {
      open = left + open;
      began = left_began;
    }
  }
  if (lane == 31) {
    warp_sum[threadIdx.x / 32] = open;
    warp_breaks[threadIdx.x / 32] = began ? 1 : 0;
  }
  __syncthreads();
  T before = no_sum<T>;  // the open run at the end of the warps before
  for (std::uint32_t w = 0; w < threadIdx.x / 32; ++w)
    before = warp_breaks[w] != 0 ? warp_sum[w] : before + warp_sum[w];
  if (!began) open = before + open;
  T entering = __shfl_up_sync(~0U, open, 1);
  if (lane == 0) entering = before;

  if (breaks) finish(first_slot, continues ? entering + head : head);
  const bool ends = threadIdx.x == block_threads - 1 || tile_slot[(threadIdx.x + 1) * segment_items] != slot;
  if (ends) finish(slot, open);
}

/// out[slot] += the sum of the slot's values, for each slot below `past`.
template <class T>
void add_segments(const context& ctx, const char* what, slot_list<T> list, std::uint32_t past, T* out,
                  std::byte* scratch) {
  while (true) {
    const std::uint64_t tiles = ceil_div(list.count, segment_tile);
    T* const carry_value = reinterpret_cast<T*>(scratch);
    auto* const carry_slot = reinterpret_cast<std::uint32_t*>(carry_value + 2 * tiles);
    launch(ctx, what, add_tile_segments<T>, tiles, list, past, out, carry_slot, carry_value);
    if (tiles == 1) return;
    list = {carry_slot, carry_value, 2 * tiles};
    scratch += list.count * (sizeof(T) + sizeof(std::uint32_t));
  }
}

}  // namespace sheaf::cuda
