#pragma once

#include "cuda/reduce/rows/atomics.cuh"

// Rows times the weights of a list's entries, added where the entries say.
namespace sheaf::cuda {

/// Adds out.alpha * weight of each entry of segment s * row s of `in` to the row of out that the entry names, in any
/// order. A group of lanes takes a segment.
template <class In, class Sum, int Values>
__global__ void __launch_bounds__(row_block_threads)
    add_products_by_atomics(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                            std::uint64_t rows, const __grid_constant__ reduced_rows out) {
  const std::uint64_t group = (std::uint64_t{blockIdx.x} * row_block_threads + threadIdx.x) >> out.lanes_log2;
  const std::uint64_t s = out.chunks == 1 ? group : group / out.chunks;
  if (s >= rows) return;
  const auto place = lane_place::of<Values>(out, out.chunks == 1 ? 0 : static_cast<std::uint32_t>(group % out.chunks));
  if (!place.is_active) return;
  const std::uint64_t begin = entry_at(segments.begins, segments.are_wide, s);
  const std::uint64_t end = entry_at(segments.ends, segments.are_wide, s);
  if (begin > end || end > segments.limit) {
    *segments.faults = 1;
    return;
  }
  lane_values<In, Values> loaded;
  loaded.load(in.data + s * in.stride + place.value * sizeof(In));
  In values[Values];
  loaded.get(values);
  Sum row[Values];
#pragma unroll
  for (int v = 0; v < Values; ++v) row[v] = as_sum<Sum>(values[v]);
#pragma unroll 4
  for (std::uint64_t j = begin; j < end; ++j) {
    const std::uint64_t to = entry_at(in.index, in.has_wide_index, j);
    const Sum weight = weight_at<Sum>(in, j);
    if (to >= in.limit) {
      *segments.faults = 1;
      continue;
    }
    Sum product[Values];
#pragma unroll
    for (int v = 0; v < Values; ++v) product[v] = static_cast<Sum>(out.alpha) * (weight * row[v]);
    add_lanes_by_atomics(reinterpret_cast<Sum*>(out.data + to * out.stride) + place.value, product);
  }
}

}  // namespace sheaf::cuda
