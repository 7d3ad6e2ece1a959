#pragma once

#include "cuda/reduce/rows/segments.cuh"

// Products by a matrix whose offsets and columns have 32 bits and whose rows lie side by side. A group of lanes takes
// some rows of it and goes through their entries in one stream.
namespace sheaf::cuda {

/// Rows of the matrix that a group takes, rows of X that a lane has in flight, and blocks that a multiprocessor has at
/// once, at least. Many blocks that have little in flight each win, as long as no register is spilled; a warp that has
/// more than four rows at once is busy enough with one each.
struct run_shape {
  int rows;
  int in_flight;
  int blocks;
};
constexpr run_shape run_of_narrow_rows{1, 4, 5};
constexpr run_shape run_of_wide_rows(int values) { return {2, 2, values > 4 ? 5 : 6}; }
constexpr std::uint32_t least_wide_lanes_log2 = 3;

/// A factor of an entry, whose type is known.
template <class Sum, class Weight>
__device__ __forceinline__ Sum weight_of(const listed_rows& in, std::uint32_t entry) {
  if constexpr (sizeof(Weight) == 2) {
    return as_sum<Sum>(value_of_bits<Weight>(static_cast<const std::uint16_t*>(in.weights) + entry));
  } else {
    return static_cast<Sum>(__ldg(static_cast<const Weight*>(in.weights) + entry));
  }
}

/// The rows of a group among which one is wrong or long, one by one. Apart, so that registers are those of the others.
template <class In, class Sum, int Values>
__device__ __noinline__ void multiply_odd_run(const listed_rows& in, const listed_segments& segments,
                                              const reduced_rows& out, const long_lists& longs, std::uint64_t row,
                                              std::uint64_t last, std::uint32_t chunk) {
  constexpr int rows_in_flight = 2;
  for (; row < last; ++row) {
    combine_segment<In, Sum, Values, true, true, rows_in_flight>(in, segments, out, longs, row, chunk);
  }
}

/// The terms of a row of Y are added in the order of its entries, as combine_segments does.
template <class In, class Sum, int Values, class Weight, int Rows, int InFlight, int Blocks>
__global__ void __launch_bounds__(row_block_threads, Blocks)
    multiply_runs(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                  const __grid_constant__ reduced_rows out, const __grid_constant__ long_lists longs) {
  const std::uint64_t group = (std::uint64_t{blockIdx.x} * row_block_threads + threadIdx.x) >> out.lanes_log2;
  std::uint64_t row = (out.chunks == 1 ? group : group / out.chunks) * Rows;
  if (row >= out.count) return;
  const std::uint32_t chunk = out.chunks == 1 ? 0 : static_cast<std::uint32_t>(group % out.chunks);
  const std::uint64_t last = min(row + Rows, out.count);
  const auto* const offsets = static_cast<const std::uint32_t*>(segments.begins);
  const auto* const columns = static_cast<const std::uint32_t*>(in.index);
  std::uint32_t begins[Rows + 1];
#pragma unroll
  for (int r = 0; r <= Rows; ++r) begins[r] = __ldg(offsets + min(row + r, last));
  // The loop counts in 32 bits, and past the last entry by less than what it has in flight.
  bool is_plain = begins[Rows] <= min(segments.limit, std::uint64_t{~0U - InFlight});
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    is_plain = is_plain && begins[r] <= begins[r + 1] && begins[r + 1] - begins[r] <= longest_uncut;
  }
  if (!is_plain) return multiply_odd_run<In, Sum, Values>(in, segments, out, longs, row, last, chunk);
  const auto place = lane_place::of<Values>(out, chunk);
  if (!place.is_active) return;
  const std::byte* const column = in.data + std::uint64_t{place.value} * sizeof(In);
  Sum sum[Values];
  set_all(sum, neutral<Sum>(reduction::add));
  bool has_entries = false;
  std::uint32_t end = begins[1];
  const auto end_current = [&] {
    end_product(out, row, place.value, sum, has_entries);
    set_all(sum, neutral<Sum>(reduction::add));
    has_entries = false;
    ++row;
    if constexpr (Rows > 1) end = row < last ? __ldg(offsets + row + 1) : ~0U;
  };
  for (std::uint32_t j = begins[0]; j < begins[Rows]; j += InFlight) {
    std::uint32_t named[InFlight];
    Sum weight[InFlight];
    lane_values<In, Values> loaded[InFlight];
#pragma unroll
    for (int u = 0; u < InFlight; ++u) named[u] = j + u < begins[Rows] ? __ldg(columns + j + u) : 0;
#pragma unroll
    for (int u = 0; u < InFlight; ++u) weight[u] = j + u < begins[Rows] ? weight_of<Sum, Weight>(in, j + u) : Sum{0};
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
      if (j + u < begins[Rows] && named[u] < in.limit) loaded[u].load(column + named[u] * in.stride);
    }
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
      if (j + u >= begins[Rows]) continue;
      if constexpr (Rows > 1) {
        while (j + u == end) end_current();
      }
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
  while (row < last) end_current();
}

/// Whether multiply_runs() takes these arguments, for entries with weights of this type.
template <class Weight>
bool multiplies_by_runs(const listed_rows& in, const listed_segments& segments, const reduced_rows& out) noexcept {
  const bool is_side_by_side = segments.ends == static_cast<const std::byte*>(segments.begins) + sizeof(std::uint32_t);
  return out.is_product && out.counts == nullptr && in.index != nullptr && !in.has_wide_index &&
         in.weight == value_type_of<Weight>() && !segments.are_wide && is_side_by_side;
}

}  // namespace sheaf::cuda
