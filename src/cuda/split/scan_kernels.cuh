#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/split/histogram_kernels.cuh"

// The prefix sum kernels of a split pass. An unordered pass scans one histogram (scan_totals). A stable pass needs the
// prefix sums in column-major order of Patidar and Narayanan 2009 (section 3.1), which are split into two levels here,
// over chunks (scan_chunks) and over the tiles of a chunk (scan_tiles), so that one read of the tile counts suffices.
namespace sheaf::cuda {

/// Threads of a block of the scan kernels.
constexpr int column_scan_threads = 1024;

/// Scans the totals of Bins bins into the position where each bin begins in the output, and writes the offsets of the
/// categories unless `offsets` is null. Called by a whole block of Threads.
template <int Bins, int Threads>
__device__ __forceinline__ void scan_totals_by_block(const unsigned long long* total, unsigned long long* bin_begin,
                                                     std::uint64_t* offsets, std::uint64_t categories) {
  constexpr int per_thread = bins_per_thread<Bins, Threads>;
  __shared__ __align__(16) unsigned long long warp_sums[Threads / 32];
  unsigned long long count[per_thread] = {};
  unsigned long long first[per_thread] = {};
  const int first_bin = threadIdx.x * per_thread;
  if (first_bin < Bins) {
#pragma unroll
    for (int j = 0; j < per_thread; ++j) count[j] = first[j] = total[first_bin + j];
  }
  scan_bins<Bins, Threads>(first, warp_sums);
  if (first_bin >= Bins) return;
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    const auto b = static_cast<std::uint64_t>(first_bin + j);
    bin_begin[b] = first[j];
    if (offsets == nullptr) continue;
    if (b < categories) offsets[b] = first[j];
    if (b + 1 == categories) offsets[categories] = first[j] + count[j];
  }
}

/// scan_totals_by_block as a kernel of one block.
template <int Bins>
__global__ void __launch_bounds__(column_scan_threads)
    scan_totals(const unsigned long long* total, unsigned long long* bin_begin, std::uint64_t* offsets,
                std::uint64_t categories) {
  wait_for_kernel_before();
  scan_totals_by_block<Bins, column_scan_threads>(total, bin_begin, offsets, categories);
}

/// Count rows that a thread of a column scan has in flight.
constexpr int rows_in_flight = 16;

/// Replaces the rows [begin, end) of a column of counts by their exclusive prefix sums, which start at `sum`.
template <class Count>
__device__ __forceinline__ void scan_column(Count* column, std::uint64_t step, std::uint32_t begin, std::uint32_t end,
                                            Count sum) {
  for (std::uint32_t row_index = begin; row_index < end; row_index += rows_in_flight) {
    Count row[rows_in_flight];
#pragma unroll
    for (std::uint32_t r = 0; r < rows_in_flight; ++r)
      row[r] = row_index + r < end ? column[(row_index + r) * step] : 0;
#pragma unroll
    for (std::uint32_t r = 0; r < rows_in_flight; ++r) {
      if (row_index + r < end) column[(row_index + r) * step] = sum;
      sum += row[r];
    }
  }
}

/// Replaces the counts of chunks by the position where each chunk's run of a bin begins inside the bin, and writes the
/// totals of the bins. One block scans 32 columns (bins); its warps share the rows (chunks) out.
template <int Bins>
__global__ void __launch_bounds__(column_scan_threads)
    scan_chunks(unsigned long long* chunk, std::uint32_t chunks, unsigned long long* total) {
  wait_for_kernel_before();
  constexpr std::uint32_t row_ranges = column_scan_threads / 32;
  __shared__ unsigned long long range_sum[row_ranges][32];
  const std::uint32_t range = threadIdx.x / 32;
  const std::uint32_t lane = threadIdx.x % 32;
  unsigned long long* const column = chunk + blockIdx.x * 32 + lane;
  const std::uint32_t rows = (chunks + row_ranges - 1) / row_ranges;
  const std::uint32_t begin = min(range * rows, chunks);
  const std::uint32_t end = min(begin + rows, chunks);
  unsigned long long sum = 0;
#pragma unroll 16
  for (std::uint32_t c = begin; c < end; ++c) sum += column[std::uint64_t{c} * Bins];
  range_sum[range][lane] = sum;
  __syncthreads();
  unsigned long long before = 0;
  for (std::uint32_t r = 0; r < range; ++r) before += range_sum[r][lane];
  scan_column(column, Bins, begin, end, before);
  if (range == row_ranges - 1) total[blockIdx.x * 32 + lane] = before + sum;
}

/// Replaces the counts of tiles by the position where each tile's run of a bin begins inside its chunk. One block scans
/// one chunk; block 0 scans the totals of the bins, too.
template <int Bins>
__global__ void __launch_bounds__(column_scan_threads)
    scan_tiles(std::uint32_t* tile_count, std::uint64_t tiles, const unsigned long long* total,
               unsigned long long* bin_begin, std::uint64_t* offsets, std::uint64_t categories) {
  wait_for_kernel_before();
  constexpr std::uint32_t row_ranges = column_scan_threads / Bins;
  constexpr std::uint32_t rows = tiles_per_chunk / row_ranges;
  static_assert(rows <= rows_in_flight && Bins * row_ranges == column_scan_threads);
  __shared__ std::uint32_t range_sum[row_ranges][Bins];
  const std::uint32_t range = threadIdx.x / Bins;
  const std::uint32_t bin = threadIdx.x % Bins;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tiles_per_chunk + range * rows;
  std::uint32_t* const column = tile_count + first * Bins + bin;
  std::uint32_t row[rows];
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t r = 0; r < rows; ++r) row[r] = first + r < tiles ? column[r * Bins] : 0;
#pragma unroll
  for (std::uint32_t r = 0; r < rows; ++r) sum += row[r];
  range_sum[range][bin] = sum;
  __syncthreads();
  sum = 0;
  for (std::uint32_t r = 0; r < range; ++r) sum += range_sum[r][bin];
#pragma unroll
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (first + r < tiles) column[r * Bins] = sum;
    sum += row[r];
  }
  if (blockIdx.x == 0) scan_totals_by_block<Bins, column_scan_threads>(total, bin_begin, offsets, categories);
}

}  // namespace sheaf::cuda
