#pragma once

#include "cuda/sort/msd/pass/context.cuh"

// Phase 3 of an MSD pass that keeps the order of equal keys: where the words of every tile and bin begin in the output.
// The count rows of a chunk's tiles are scanned column by column, from the chunk's offsets on, which phase 2 left in
// the chunk's own count row.
namespace sheaf::cuda {

/// Turns the counts of a chunk's tiles into offsets. A half of the block takes half of the tiles, a thread one bin.
template <class Policy>
__device__ void scan_counts_of_chunk(const pass_context<Policy>& pass, std::uint32_t count_row) {
  static_assert(pass_threads == 2 * radix_bins);
  constexpr std::uint32_t half_tiles = chunk_tiles / 2;
  const msd_tables& tables = pass.tables;
  const msd_bucket bucket = tables.buckets[pass.current][tables.bucket_of_count_row[pass.current][count_row]];
  if (bucket.stays_in_place()) return;
  const std::uint32_t half = threadIdx.x / radix_bins;
  const std::uint32_t bin = threadIdx.x % radix_bins;
  const std::uint32_t tiles = pass.tiles_of(bucket.count);
  const std::uint32_t first = (count_row - bucket.first_count_row) * chunk_tiles + half * half_tiles;
  std::uint32_t* const column = tables.tile_count_rows + (std::uint64_t{bucket.first_tile} + first) * radix_bins + bin;
  std::uint32_t counts[half_tiles];
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t t = 0; t < half_tiles; ++t) {
    counts[t] = first + t < tiles ? __ldcg(column + t * radix_bins) : 0;
    sum += counts[t];
  }
  std::uint32_t* const first_half_sum = pass.shared.bin_offset;
  if (half == 0) first_half_sum[bin] = sum;
  __syncthreads();
  const std::uint32_t chunk_offset =
      __ldcg(tables.count_rows[pass.current] + std::uint64_t{count_row} * radix_bins + bin);
  sum = chunk_offset + (half == 0 ? 0 : first_half_sum[bin]);
#pragma unroll
  for (std::uint32_t t = 0; t < half_tiles; ++t) {
    if (first + t < tiles) column[t * radix_bins] = sum;
    sum += counts[t];
  }
  __syncthreads();
}

template <class Policy>
__device__ void scan_counts_of_chunks(const pass_context<Policy>& pass) {
  const std::uint32_t count_rows = __ldcg(&pass.tables.counters->count_row_total[pass.current]);
  for (std::uint32_t row = blockIdx.x; row < count_rows; row += gridDim.x) scan_counts_of_chunk(pass, row);
}

}  // namespace sheaf::cuda
