#pragma once

#include "cuda/reduce/rows/combine.cuh"

// Rows combined by segments of a list. Groups of lanes take a segment each; long ones go to a list, of which blocks
// take pieces.
namespace sheaf::cuda {

/// Rows that a lane has in flight, and blocks that a multiprocessor has at once, at least: many blocks, whose lanes
/// have few rows in flight each, hide more than few blocks with many.
constexpr int segment_rows_in_flight(bool weighted) { return weighted ? 4 : 2; }
constexpr int segment_blocks(bool weighted) { return weighted ? 4 : 6; }

/// Reads a segment's ends; returns whether it is one.
__device__ __forceinline__ bool read_segment(const listed_segments& segments, std::uint64_t s, std::uint64_t& begin,
                                             std::uint64_t& end) {
  begin = entry_at(segments.begins, segments.are_wide, s);
  end = entry_at(segments.ends, segments.are_wide, s);
  return begin <= end && end <= segments.limit;
}

/// Combines a chunk of segment s, or puts the segment on the list. All lanes of a group call it.
template <class In, class Sum, int Values, bool Adds, bool Weighted, int InFlight>
__device__ __forceinline__ void combine_segment(const listed_rows& in, const listed_segments& segments,
                                                const reduced_rows& out, const long_lists& longs, std::uint64_t s,
                                                std::uint32_t chunk) {
  std::uint32_t end_chunk = chunk + 1;
  std::uint64_t begin;
  std::uint64_t end;
  if (!read_segment(segments, s, begin, end)) {
    if (segments.faults != nullptr) *segments.faults = 1;
    begin = end = 0;
  }
  if (end - begin > longest_uncut) {
    // Lanes of the first chunk put the segment on the list. Where there is no room for it, they combine it themselves.
    if (chunk != 0) return;
    const std::uint32_t lane = threadIdx.x & ((1U << out.lanes_log2) - 1);
    bool has_room = false;
    if (lane == 0) has_room = add_long_list(longs, s, (end - begin + entries_of_piece - 1) / entries_of_piece);
    has_room = __shfl_sync(lanes_of_group(out), static_cast<int>(has_room), 0, 1 << out.lanes_log2) != 0;
    if (has_room) return;
    end_chunk = out.chunks;
  }
  for (; chunk < end_chunk; ++chunk) {
    const auto place = lane_place::of<Values>(out, chunk);
    if (!place.is_active) return;
    Sum sum[Values];
    begin_row<Adds, Weighted>(out, s, place.value, sum);
    const std::uint64_t rows =
        combine_listed_rows<In, Adds, Weighted, InFlight>(in, out.op, begin, end, place.value, sum);
    if (rows != end - begin) *segments.faults = 1;
    end_row<Weighted>(out, s, place.value, sum, rows);
  }
}

template <class In, class Sum, int Values, bool Adds, bool Weighted>
__global__ void __launch_bounds__(row_block_threads, segment_blocks(Weighted))
    combine_segments(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                     const __grid_constant__ reduced_rows out, const __grid_constant__ long_lists longs) {
  const std::uint64_t group = (std::uint64_t{blockIdx.x} * row_block_threads + threadIdx.x) >> out.lanes_log2;
  const std::uint64_t s = out.chunks == 1 ? group : group / out.chunks;
  if (s >= out.count) return;
  combine_segment<In, Sum, Values, Adds, Weighted, segment_rows_in_flight(Weighted)>(
      in, segments, out, longs, s, out.chunks == 1 ? 0 : static_cast<std::uint32_t>(group % out.chunks));
}

/// Combines the pieces of long segments, each by a block.
template <class In, class Sum, int Values, bool Adds, bool Weighted>
__global__ void __launch_bounds__(row_block_threads, segment_blocks(Weighted))
    combine_pieces(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                   const __grid_constant__ reduced_rows out, const __grid_constant__ long_lists longs) {
  __shared__ Sum memory[row_block_threads * Values];
  const unsigned long long totals = totals_of(longs);
  const auto lists = static_cast<std::uint32_t>(totals >> pieces_bits);
  const std::uint64_t items = (totals & pieces_mask) * out.chunks;
  const std::uint32_t groups = row_block_threads >> out.lanes_log2;
  const std::uint32_t group = threadIdx.x >> out.lanes_log2;
  for (std::uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::uint64_t piece = item / out.chunks;
    const auto place = lane_place::of<Values>(out, static_cast<std::uint32_t>(item % out.chunks));
    const long_list list = longs.lists[list_of_piece(longs.lists, lists, piece)];
    std::uint64_t begin;
    std::uint64_t end;
    read_segment(segments, list.segment, begin, end);
    begin += (piece - list.first_piece) * entries_of_piece;
    const auto entries = static_cast<std::uint32_t>(min(std::uint64_t{entries_of_piece}, end - begin));
    Sum sum[Values];
    set_all(sum, neutral<Sum>(out.op));
    std::uint32_t rows = 0;
    if (place.is_active) {
      rows = combine_listed_rows<In, Adds, Weighted, segment_rows_in_flight(Weighted)>(
          in, out.op, begin + std::uint64_t{entries} * group / groups,
          begin + std::uint64_t{entries} * (group + 1) / groups, place.value, sum);
    }
    combine_groups<Adds>(out, sum, memory);
    std::uint32_t all_rows = entries;
    if (segments.faults != nullptr) {  // some entries may name no row
      __shared__ std::uint32_t total;
      if (threadIdx.x == 0) total = 0;
      __syncthreads();
      if (place.lane == 0) atomicAdd(&total, rows);
      __syncthreads();
      all_rows = total;
      if (all_rows != entries) *segments.faults = 1;
      __syncthreads();
    }
    if (group == 0 && place.is_active) keep_result(longs, piece, place.value, sum, all_rows);
  }
}

/// Combines the results of the pieces of each long list, each row of out by a block.
template <class Sum, int Values, bool Adds>
__global__ void __launch_bounds__(row_block_threads)
    combine_results(const __grid_constant__ reduced_rows out, const __grid_constant__ long_lists longs) {
  constexpr bool may_be_product = Adds && std::is_floating_point_v<Sum>;
  __shared__ Sum memory[row_block_threads * Values];
  __shared__ unsigned long long total;
  const unsigned long long totals = totals_of(longs);
  const std::uint64_t lists = totals >> pieces_bits;
  const std::uint64_t of_a_list = std::uint64_t{longs.bins} * out.chunks;
  const std::uint64_t items = lists * of_a_list;
  const std::uint32_t groups = row_block_threads >> out.lanes_log2;
  const std::uint32_t group = threadIdx.x >> out.lanes_log2;
  for (std::uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::uint64_t l = item / of_a_list;
    const auto bin = static_cast<std::uint32_t>(item % of_a_list / out.chunks);
    const auto place = lane_place::of<Values>(out, static_cast<std::uint32_t>(item % out.chunks));
    const std::uint64_t first = longs.lists[l].first_piece;
    const std::uint64_t row = longs.lists[l].segment * longs.bins + bin;
    if (row >= out.count) continue;
    const std::uint64_t pieces = (l + 1 < lists ? longs.lists[l + 1].first_piece : totals & pieces_mask) - first;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    Sum sum[Values];
    set_all(sum, neutral<Sum>(out.op));
    std::uint64_t rows = 0;
    const std::uint64_t begin = first + pieces * group / groups;
    const std::uint64_t end = first + pieces * (group + 1) / groups;
    constexpr int in_flight = 8;
    for (std::uint64_t j = begin; j < end; j += in_flight) {
      std::uint32_t rows_of[in_flight];
      lane_values<Sum, Values> loaded[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) rows_of[u] = j + u < end ? longs.rows[(j + u) * longs.bins + bin] : 0;
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        if (rows_of[u] == 0 || !place.is_active) continue;
        loaded[u].load_once(longs.results + ((j + u) * longs.bins + bin) * longs.result_stride +
                            place.value * sizeof(Sum));
      }
#pragma unroll
      for (int u = 0; u < in_flight; ++u) {
        if (rows_of[u] == 0 || !place.is_active) continue;
        Sum values[Values];
        loaded[u].get(values);
        combine_lanes<Adds>(out.op, sum, values);
        rows += rows_of[u];
      }
    }
    if (place.lane == 0 && rows != 0) atomicAdd(&total, static_cast<unsigned long long>(rows));
    combine_groups<Adds>(out, sum, memory);
    if (group == 0 && place.is_active) {
      Sum result[Values];
      begin_row<Adds, may_be_product>(out, row, place.value, result);
      combine_lanes<Adds>(out.op, result, sum);
      end_row<may_be_product>(out, row, place.value, result, total);
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
