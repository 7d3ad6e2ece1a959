#pragma once

#include "cuda/reduce/rows/segments.cuh"

// Products by a matrix whose offsets and columns have 32 bits and whose rows lie side by side. A group of lanes takes a
// row of it, or a slice of one.
namespace sheaf::cuda {

/// Rows of X that a lane has in flight, and blocks that a multiprocessor has at once, at least. Many blocks that have
/// little in flight each win, as long as few registers are spilled.
struct product_shape {
  int in_flight;
  int blocks;
};
constexpr product_shape shape_of_narrow_lanes{4, 5};  ///< of less than 16 bytes
constexpr product_shape shape_of_wide_lanes(int values) { return {2, values > 4 ? 6 : 8}; }

/// Slices of a row, of slice_lanes lanes each. The row has whole slices.
__host__ __device__ __forceinline__ std::uint32_t slices_of(const reduced_rows& out) {
  return (out.chunks << out.lanes_log2) / slice_lanes;
}
/// Blocks that make a slice of all rows.
__host__ __device__ __forceinline__ std::uint64_t blocks_of_slice(const reduced_rows& out) {
  return (out.count * slice_lanes + row_block_threads - 1) / row_block_threads;
}

/// A factor of an entry, whose type is known.
template <class Sum, class Weight>
__device__ __forceinline__ Sum weight_of(const listed_rows& in, std::uint32_t entry) {
  if constexpr (sizeof(Weight) == 2) {
    return as_sum<Sum>(value_of_bits<Weight>(static_cast<const std::uint16_t*>(in.weights) + entry));
  } else {
    return static_cast<Sum>(__ldg(static_cast<const Weight*>(in.weights) + entry));
  }
}

/// A row that is wrong or long. Apart, so that registers are those of the others.
template <class In, class Sum, int Values>
__device__ __noinline__ void multiply_odd_row(const listed_rows& in, const listed_segments& segments,
                                              const reduced_rows& out, const long_lists& longs, std::uint64_t row,
                                              std::uint32_t chunk, bool is_slice) {
  constexpr int rows_in_flight = 2;
  if (!is_slice)
    return combine_segment<In, Sum, Values, true, true, rows_in_flight>(in, segments, out, longs, row, chunk);
  reduced_rows sliced = out;
  sliced.lanes_log2 = slice_lanes_log2;
  sliced.chunks = slices_of(out);
  combine_segment<In, Sum, Values, true, true, rows_in_flight>(in, segments, sliced, longs, row, chunk);
}

/// The terms of a row of Y are added in the order of its entries, as combine_segments does.
template <class In, class Sum, int Values, class Weight, int InFlight, int Blocks>
__global__ void __launch_bounds__(row_block_threads, Blocks)
    multiply_rows(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                  const __grid_constant__ reduced_rows out, const __grid_constant__ long_lists longs) {
  std::uint32_t lanes_log2 = out.lanes_log2;
  std::uint64_t row = (std::uint64_t{blockIdx.x} * row_block_threads + threadIdx.x) >> lanes_log2;
  std::uint32_t chunk = 0;
  const bool is_slice = out.in_turn != nullptr && *out.in_turn != 0;
  if (is_slice) {
    const auto blocks = static_cast<std::uint32_t>(blocks_of_slice(out));
    chunk = blockIdx.x / blocks;
    lanes_log2 = slice_lanes_log2;
    row = (std::uint64_t{blockIdx.x - chunk * blocks} * row_block_threads + threadIdx.x) >> lanes_log2;
  } else if (out.chunks > 1) {
    chunk = static_cast<std::uint32_t>(row % out.chunks);
    row /= out.chunks;
  }
  if (row >= out.count) return;
  const auto* const offsets = static_cast<const std::uint32_t*>(segments.begins);
  const auto* const columns = static_cast<const std::uint32_t*>(in.index);
  const std::uint32_t begin = __ldg(offsets + row);
  const std::uint32_t end = __ldg(offsets + row + 1);
  // The loop counts in 32 bits, and past the last entry by less than what it has in flight.
  const bool is_plain =
      begin <= end && end - begin <= longest_uncut && end <= min(segments.limit, std::uint64_t{~0U - InFlight});
  if (!is_plain) return multiply_odd_row<In, Sum, Values>(in, segments, out, longs, row, chunk, is_slice);
  const std::uint32_t value = ((chunk << lanes_log2) + (threadIdx.x & ((1U << lanes_log2) - 1))) * Values;
  if (value >= out.values) return;
  const std::byte* const column = in.data + std::uint64_t{value} * sizeof(In);
  Sum sum[Values];
  set_all(sum, neutral<Sum>(reduction::add));
  bool has_entries = false;
  for (std::uint32_t j = begin; j < end; j += InFlight) {
    std::uint32_t named[InFlight];
    Sum weight[InFlight];
    lane_values<In, Values> loaded[InFlight];
#pragma unroll
    for (int u = 0; u < InFlight; ++u) named[u] = j + u < end ? __ldg(columns + j + u) : 0;
#pragma unroll
    for (int u = 0; u < InFlight; ++u) weight[u] = j + u < end ? weight_of<Sum, Weight>(in, j + u) : Sum{0};
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
      if (j + u < end && named[u] < in.limit) loaded[u].load(column + named[u] * in.stride);
    }
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
      if (j + u >= end) continue;
      if (named[u] >= in.limit) {
        *segments.faults = 1;
        continue;
      }
      has_entries = true;
      In values[Values];
      loaded[u].get(values);
#pragma unroll
      for (int v = 0; v < Values; ++v) sum[v] = multiply_add(sum[v], as_sum<Sum>(values[v]), weight[u]);
    }
  }
  end_product(out, row, value, sum, has_entries);
}

/// Whether multiply_rows() takes these arguments, for entries with weights of this type.
template <class Weight>
bool is_plain_product(const listed_rows& in, const listed_segments& segments, const reduced_rows& out) noexcept {
  const bool is_side_by_side = segments.ends == static_cast<const std::byte*>(segments.begins) + sizeof(std::uint32_t);
  return out.is_product && out.counts == nullptr && in.index != nullptr && !in.has_wide_index &&
         in.weight == value_type_of<Weight>() && !segments.are_wide && is_side_by_side;
}

}  // namespace sheaf::cuda
