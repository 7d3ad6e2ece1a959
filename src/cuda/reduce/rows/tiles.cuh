#pragma once

#include "cuda/device/index_guard.cuh"
#include "cuda/reduce/rows/combine.cuh"

// Rows combined by tiles. A tile is a stretch of (slot, row number) pairs of one bucket, 2^bits slots side by side. A
// block orders it by slot in shared memory, and combines the rows of each slot. A list that was sorted by the upper
// bits of slots alone is made of such tiles; a short list is read by every block, which takes the pairs of its slots.
namespace sheaf::cuda {

/// Rows that a lane has in flight, and blocks that a multiprocessor has at once, at least; as with segments. Minima,
/// maxima and products, which take more registers, do better with more blocks of fewer rows each; sums of eight values
/// a lane with fewer blocks, whose registers then do not spill.
constexpr int tile_rows_in_flight(bool adds, int values) { return !adds ? 2 : values > 4 ? 4 : 3; }
constexpr int tile_blocks(bool adds, int values) {
  if (values > 4) return adds ? 5 : 6;
  return adds ? 6 : 8;
}

/// Finds where buckets begin, and lists those that are longer than a tile.
static __global__ void __launch_bounds__(row_block_threads)
    find_buckets(const __grid_constant__ sorted_buckets at, const __grid_constant__ long_lists longs) {
  const std::uint64_t b = std::uint64_t{blockIdx.x} * row_block_threads + threadIdx.x;
  if (b > at.buckets) return;
  // The first pair of each of two buckets.
  std::uint64_t low[2] = {0, 0};
  std::uint64_t high[2] = {at.pairs, at.pairs};
  while (low[0] < high[0] || low[1] < high[1]) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (low[k] >= high[k]) continue;
      const std::uint64_t middle = (low[k] + high[k]) / 2;
      const std::uint32_t slot = __ldg(at.slots + middle);
      const std::uint64_t bucket = slot < at.slot_limit ? slot >> at.bin_bits : at.last_bucket;
      if (bucket < b + k) {
        low[k] = middle + 1;
      } else {
        high[k] = middle;
      }
    }
  }
  at.begins[b] = low[0];
  // Bad slots lie in the last bucket there can be, which may be behind all that slots have.
  if (b == at.buckets && low[0] < at.pairs) *at.faults = 1;
  if (b < at.buckets && low[1] - low[0] > tile_pairs) {
    add_long_list(longs, b, (low[1] - low[0] + tile_pairs - 1) / tile_pairs);
  }
}

constexpr std::uint32_t row_block_warps = row_block_threads / 32;

/// What a block orders a tile with. Positions follow it in shared memory.
struct tile_bins {
  std::uint32_t of_warp[row_block_warps][1 << most_bin_bits];
  // Whole 16 bytes, so that no wide load of them reads what other threads write.
  alignas(16) std::uint32_t warp_totals[row_block_warps];
  alignas(16) std::uint32_t begin[(1 << most_bin_bits) + 1];
  std::uint32_t long_bins;
  std::uint16_t long_bin[short_list_entries / longest_of_a_group];
};

/// Orders pairs by their bin, those of a bin in the order of the list. pair(i, bin, position) reads pair i and returns
/// whether it has a bin. Pairs that have none are left out.
template <class Pair>
__device__ __forceinline__ void order_tile(tile_bins& bins, std::uint32_t* positions, std::uint32_t bin_bits,
                                           std::uint32_t pairs, Pair pair) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t bin_count = 1U << bin_bits;
  const std::uint32_t part = ((pairs + row_block_threads - 1) / row_block_threads) * 32;  // of a warp
  const std::uint32_t first = min(pairs, warp * part);
  const std::uint32_t last = min(pairs, first + part);
  for (std::uint32_t bin = lane; bin < bin_count; bin += 32) bins.of_warp[warp][bin] = 0;
  if (threadIdx.x == 0) bins.long_bins = 0;
  __syncwarp();
  for (std::uint32_t i = first + lane; i < last; i += 32) {
    std::uint32_t bin;
    std::uint32_t position;
    if (pair(i, bin, position)) atomicAdd(&bins.of_warp[warp][bin], 1U);
  }
  __syncthreads();
  // What a bin's pairs of earlier warps, and the pairs of earlier bins, leave in front of it.
  std::uint32_t total = 0;
  if (threadIdx.x < bin_count) {
#pragma unroll
    for (std::uint32_t w = 0; w < row_block_warps; ++w) {
      const std::uint32_t count = bins.of_warp[w][threadIdx.x];
      bins.of_warp[w][threadIdx.x] = total;
      total += count;
    }
  }
  std::uint32_t scanned = total;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t before = __shfl_up_sync(~0U, scanned, step);
    if (lane >= step) scanned += before;
  }
  if (lane == 31) bins.warp_totals[warp] = scanned;
  __syncthreads();
  std::uint32_t before = 0;
#pragma unroll
  for (std::uint32_t w = 0; w < row_block_warps; ++w) before += w < warp ? bins.warp_totals[w] : 0;
  if (threadIdx.x < bin_count) bins.begin[threadIdx.x + 1] = before + scanned;
  if (threadIdx.x == 0) bins.begin[0] = 0;
  if (threadIdx.x < bin_count && total > longest_of_a_group) {
    bins.long_bin[atomicAdd(&bins.long_bins, 1U)] = static_cast<std::uint16_t>(threadIdx.x);
  }
  __syncthreads();
  for (std::uint32_t begin = first; begin < last; begin += 32) {
    const std::uint32_t i = begin + lane;
    std::uint32_t bin = 0;
    std::uint32_t position = 0;
    const bool has_bin = i < last && pair(i, bin, position);
    const std::uint32_t peers = __match_any_sync(~0U, has_bin ? bin : ~0U);
    const std::uint32_t rank = __popc(peers & ((1U << lane) - 1));
    std::uint32_t at = 0;
    if (has_bin && rank == 0) at = atomicAdd(&bins.of_warp[warp][bin], static_cast<std::uint32_t>(__popc(peers)));
    at = __shfl_sync(~0U, at, __ffs(peers) - 1);
    if (has_bin) positions[bins.begin[bin] + at + rank] = position;
    __syncwarp();  // the next round adds to what this one has added
  }
  __syncthreads();
}

/// Combines the rows of each bin of an ordered tile. end(bin, place, sum, rows) takes the result of a bin; it is called
/// for every bin below `bin_count`, also for empty ones.
template <class In, bool Adds, class Sum, int Values, class Begin, class End>
__device__ __forceinline__ void combine_bins(const listed_rows& in, const reduced_rows& out, const tile_bins& bins,
                                             const std::uint32_t* positions, std::uint32_t bin_count, Sum* memory,
                                             Begin begin_sum, End end) {
  constexpr int in_flight = tile_rows_in_flight(Adds, Values);
  const std::uint32_t groups = row_block_threads >> out.lanes_log2;
  const std::uint32_t group = threadIdx.x >> out.lanes_log2;
  const auto row_of = [&](std::uint64_t j) -> std::uint64_t { return positions[j]; };
  const row_source<false, decltype(row_of), int> from{row_of, 0};
  for (std::uint32_t item = group; item < bin_count * out.chunks; item += groups) {
    const std::uint32_t bin = out.chunks == 1 ? item : item / out.chunks;
    const auto place = lane_place::of<Values>(out, out.chunks == 1 ? 0 : item % out.chunks);
    const std::uint32_t begin = bins.begin[bin];
    const std::uint32_t rows = bins.begin[bin + 1] - begin;
    if (!place.is_active || rows > longest_of_a_group) continue;
    Sum sum[Values];
    begin_sum(bin, place, sum);
    if (in.data != nullptr) {
      combine_rows<In, Adds, false, in_flight>(in, out.op, begin, begin + rows, place.value, sum, from);
    }
    end(bin, place, sum, rows);
  }
  for (std::uint32_t item = 0; item < bins.long_bins * out.chunks; ++item) {
    const std::uint32_t bin = bins.long_bin[item / out.chunks];
    if (bin >= bin_count) continue;
    const auto place = lane_place::of<Values>(out, item % out.chunks);
    const std::uint32_t begin = bins.begin[bin];
    const std::uint32_t rows = bins.begin[bin + 1] - begin;
    Sum sum[Values];
    set_all(sum, neutral<Sum>(out.op));
    if (place.is_active && in.data != nullptr) {
      combine_rows<In, Adds, false, in_flight>(in, out.op, begin + rows * group / groups,
                                               begin + rows * (group + 1) / groups, place.value, sum, from);
    }
    combine_groups<Adds>(out, sum, memory);
    if (group == 0 && place.is_active) {
      Sum result[Values];
      begin_sum(bin, place, result);
      combine_lanes<Adds>(out.op, result, sum);
      end(bin, place, result, rows);
    }
  }
}

/// Combines the rows of a list that was sorted by the upper bits of slots. The first `buckets` blocks take a bucket of
/// one tile each, those behind them the tiles of longer ones.
template <class In, class Sum, int Values, bool Adds>
__global__ void __launch_bounds__(row_block_threads, tile_blocks(Adds, Values))
    combine_tiles(const __grid_constant__ listed_rows in, const __grid_constant__ sorted_buckets at,
                  const __grid_constant__ reduced_rows out, const __grid_constant__ long_lists longs) {
  __shared__ tile_bins bins;
  __shared__ std::uint32_t positions[tile_pairs];
  __shared__ Sum memory[row_block_threads * Values];
  std::uint64_t bucket = blockIdx.x;
  std::uint64_t tile = 0;
  std::uint64_t result = 0;
  const bool is_part = bucket >= at.buckets;
  if (is_part) {
    tile = bucket - at.buckets;
    const unsigned long long totals = totals_of(longs);
    if (tile >= (totals & pieces_mask)) return;
    const long_list list =
        longs.lists[list_of_piece(longs.lists, static_cast<std::uint32_t>(totals >> pieces_bits), tile)];
    bucket = list.segment;
    result = tile << at.bin_bits;
    tile -= list.first_piece;
  }
  const std::uint64_t begin = at.begins[bucket] + tile * tile_pairs;
  const std::uint64_t end = at.begins[bucket + 1];
  if (!is_part && end - begin > tile_pairs) return;
  const auto pairs = static_cast<std::uint32_t>(min(std::uint64_t{tile_pairs}, end - begin));
  const auto first_slot = static_cast<std::uint32_t>(bucket << at.bin_bits);
  const std::uint32_t bin_count =
      static_cast<std::uint32_t>(min(std::uint64_t{1} << at.bin_bits, out.count - first_slot));
  if (pairs == 0 && out.reads_out && out.counts == nullptr) return;
  order_tile(bins, positions, at.bin_bits, pairs, [&](std::uint32_t i, std::uint32_t& bin, std::uint32_t& position) {
    const std::uint32_t slot = __ldg(at.slots + begin + i);
    position = at.positions == nullptr ? static_cast<std::uint32_t>(begin + i) : __ldg(at.positions + begin + i);
    bin = slot - first_slot;
    if (slot < at.slot_limit) return true;
    *at.faults = 1;
    return false;
  });
  combine_bins<In, Adds, Sum, Values>(
      in, out, bins, positions, bin_count, memory,
      [&](std::uint32_t bin, const lane_place& place, Sum(&sum)[Values]) {
        if (is_part) return set_all(sum, neutral<Sum>(out.op));
        begin_row<Adds, false>(out, first_slot + bin, place.value, sum);
      },
      [&](std::uint32_t bin, const lane_place& place, Sum(&sum)[Values], std::uint32_t rows) {
        if (is_part) return keep_result(longs, result + bin, place.value, sum, rows);
        end_row<false>(out, first_slot + bin, place.value, sum, rows);
      });
}

/// Reports entry i of a list if it names no row of out.
__device__ __forceinline__ bool check_entry(const listed_rows& in, const index_guard& guard, std::uint64_t i,
                                            std::uint64_t slot) {
  if (slot < in.limit) return true;
  if (in.has_wide_index) {
    report_bad_index(guard, i, slot);
  } else {
    report_bad_index(guard, i, static_cast<std::uint32_t>(slot));
  }
  return false;
}

/// Combines the rows of a short list, all of which every block reads; a block has 2^bin_bits slots. The first block
/// reports entries that name none.
template <class In, class Sum, int Values, bool Adds>
__global__ void __launch_bounds__(row_block_threads, tile_blocks(Adds, Values))
    combine_rows_of_short_list(const __grid_constant__ listed_rows in, std::uint64_t entries, std::uint32_t bin_bits,
                               const __grid_constant__ reduced_rows out, const __grid_constant__ index_guard guard) {
  __shared__ tile_bins bins;
  __shared__ std::uint32_t positions[short_list_entries];
  __shared__ Sum memory[row_block_threads * Values];
  const std::uint64_t first_slot = std::uint64_t{blockIdx.x} << bin_bits;
  const auto bin_count = static_cast<std::uint32_t>(min(std::uint64_t{1} << bin_bits, out.count - first_slot));
  order_tile(bins, positions, bin_bits, static_cast<std::uint32_t>(entries),
             [&](std::uint32_t i, std::uint32_t& bin, std::uint32_t& position) {
               const std::uint64_t slot = entry_at(in.index, in.has_wide_index, i);
               position = i;
               bin = static_cast<std::uint32_t>(slot - first_slot);
               return slot >= first_slot && slot - first_slot < bin_count && slot < in.limit;
             });
  if (blockIdx.x == 0) {
    for (std::uint64_t i = threadIdx.x; i < entries; i += row_block_threads) {
      check_entry(in, guard, i, entry_at(in.index, in.has_wide_index, i));
    }
  }
  // Entries name slots here, and positions rows.
  listed_rows rows = in;
  rows.limit = ~std::uint64_t{0};
  combine_bins<In, Adds, Sum, Values>(
      rows, out, bins, positions, bin_count, memory,
      [&](std::uint32_t bin, const lane_place& place, Sum(&sum)[Values]) {
        begin_row<Adds, false>(out, first_slot + bin, place.value, sum);
      },
      [&](std::uint32_t bin, const lane_place& place, Sum(&sum)[Values], std::uint32_t count) {
        end_row<false>(out, first_slot + bin, place.value, sum, count);
      });
}

}  // namespace sheaf::cuda
