#pragma once

#include "cuda/reduce/rows/tiles.cuh"

// Rows of a short list, combined with those of out by one kernel: every entry has a block, and that of the first entry
// of a slot combines all rows of it.
namespace sheaf::cuda {

/// Rows that a lane has in flight, and blocks that a multiprocessor has at once, at least.
constexpr int leader_rows_in_flight(bool adds) { return adds ? 4 : 2; }
constexpr int leader_blocks(int values) { return values > 4 ? 5 : 6; }
constexpr std::uint32_t entries_ahead = 4;  ///< that a thread reads in one trip to memory

/// Combines the rows of a list of at most short_list_entries with those of out, in the order of the list. Block i has
/// entry i, reads the whole list, and ends if an earlier entry names the same slot.
template <class In, class Sum, int Values, bool Adds>
__global__ void __launch_bounds__(row_block_threads, leader_blocks(Values))
    combine_rows_of_leaders(const __grid_constant__ listed_rows in, std::uint32_t entries,
                            const __grid_constant__ reduced_rows out, const __grid_constant__ index_guard guard) {
  constexpr int in_flight = leader_rows_in_flight(Adds);
  __shared__ std::uint32_t naming[short_list_entries / 32];  // bits of the entries that name the slot
  __shared__ std::uint16_t positions[short_list_entries];    // their numbers
  __shared__ Sum memory[row_block_threads * Values];
  const std::uint32_t own = blockIdx.x;
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t slot = entry_at(in.index, in.has_wide_index, own);
  bool is_earlier = false;
  for (std::uint32_t first = threadIdx.x - lane; first < entries; first += entries_ahead * row_block_threads) {
    std::uint64_t named[entries_ahead];
#pragma unroll
    for (std::uint32_t k = 0; k < entries_ahead; ++k) {
      const std::uint32_t i = first + k * row_block_threads + lane;
      named[k] = i < entries ? entry_at(in.index, in.has_wide_index, i) : 0;
    }
#pragma unroll
    for (std::uint32_t k = 0; k < entries_ahead; ++k) {
      const std::uint32_t begin = first + k * row_block_threads;
      const bool names_it = begin + lane < entries && named[k] == slot;
      const std::uint32_t bits = __ballot_sync(~0U, names_it);
      if (lane == 0 && begin < entries) naming[begin / 32] = bits;
      is_earlier = is_earlier || (names_it && begin + lane < own);
    }
  }
  const bool is_leader = __syncthreads_or(static_cast<int>(is_earlier)) == 0;
  if (slot >= in.limit) {
    if (threadIdx.x == 0) check_entry(in, guard, own, slot);
    return;
  }
  if (!is_leader) return;
  std::uint32_t rows = 0;
  for (std::uint32_t first = own / 32; first < (entries + 31) / 32; first += 32) {
    std::uint32_t bits = first + lane < (entries + 31) / 32 ? naming[first + lane] : 0;
    std::uint32_t end = __popc(bits);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t before = __shfl_up_sync(~0U, end, step);
      if (lane >= step) end += before;
    }
    if (threadIdx.x < 32) {
      for (std::uint32_t at = rows + end - __popc(bits); bits != 0; bits &= bits - 1) {
        positions[at++] = static_cast<std::uint16_t>((first + lane) * 32 + __ffs(bits) - 1);
      }
    }
    rows += __shfl_sync(~0U, end, 31);
  }
  if (rows > 1) __syncthreads();
  // Entries name slots here, and positions rows.
  listed_rows from_in = in;
  from_in.limit = ~std::uint64_t{0};
  const std::uint32_t groups = row_block_threads >> out.lanes_log2;
  const std::uint32_t group = threadIdx.x >> out.lanes_log2;
  const auto row_of = [&](std::uint64_t j) -> std::uint64_t { return rows == 1 ? own : positions[j]; };
  const row_source<false, decltype(row_of), int> from{row_of, 0};
  if (rows <= longest_of_a_group) {
    for (std::uint32_t chunk = group; chunk < out.chunks; chunk += groups) {
      const auto place = lane_place::of<Values>(out, chunk);
      if (!place.is_active) continue;
      Sum sum[Values];
      begin_row<Adds, false>(out, slot, place.value, sum);
      combine_rows<In, Adds, false, in_flight>(from_in, out.op, 0, rows, place.value, sum, from);
      end_row<false>(out, slot, place.value, sum, rows);
    }
    return;
  }
  for (std::uint32_t chunk = 0; chunk < out.chunks; ++chunk) {
    const auto place = lane_place::of<Values>(out, chunk);
    Sum sum[Values];
    set_all(sum, neutral<Sum>(out.op));
    if (place.is_active) {
      combine_rows<In, Adds, false, in_flight>(from_in, out.op, rows * group / groups, rows * (group + 1) / groups,
                                               place.value, sum, from);
    }
    combine_groups<Adds>(out, sum, memory);
    if (group != 0 || !place.is_active) continue;
    Sum result[Values];
    begin_row<Adds, false>(out, slot, place.value, result);
    combine_lanes<Adds>(out.op, result, sum);
    end_row<false>(out, slot, place.value, result, rows);
  }
}

}  // namespace sheaf::cuda
