#pragma once

#include "cuda/block/category.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/device/launch.cuh"

// How many records each category has, of the whole list or tile by tile, and where its runs begin: the prefix sums in
// column-major order of Patidar and Narayanan 2009 (section 3.1), two levels deep so that one read of the counts will
// do.
namespace sheaf::cuda {

constexpr int histogram_threads = 512;
constexpr std::uint32_t tiles_per_chunk = 64;

/// Counts a thread's records, a run of one bin at once.
template <int Items, int Bins>
__device__ __forceinline__ void count_runs(const std::uint32_t (&bin)[Items], std::uint32_t* histogram) {
  std::uint32_t run = 1;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if (k + 1 < Items && bin[k + 1] == bin[k]) {
      ++run;
      continue;
    }
    if (bin[k] < Bins) atomicAdd(&histogram[bin[k]], run);
    run = 1;
  }
}

/// Adds up categories over the list, with as many blocks as run at once; total is zero before.
template <int Bins>
__global__ void __launch_bounds__(histogram_threads)
    count_bins(const __grid_constant__ key_arguments key, std::uint64_t count, unsigned long long* total) {
  constexpr int items = 8;
  constexpr std::uint32_t tile_records = histogram_threads * items;
  constexpr int copies = Bins > 256 ? 1 : 4;  // so that warps seldom meet
  __shared__ std::uint32_t histogram[copies][Bins];
  for (int i = threadIdx.x; i < copies * Bins; i += histogram_threads) histogram[i / Bins][i % Bins] = 0;
  __syncthreads();
  std::uint32_t* const mine = histogram[threadIdx.x / 32 % copies];
  // Less than 2^32 records a block come together, so counts fit: a block takes count / blocks of them.
  with_key_word(key, [&](auto loads) {
    for (std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_records; tile < count;
         tile += std::uint64_t{gridDim.x} * tile_records) {
      const auto left = static_cast<std::uint32_t>(min(count - tile, std::uint64_t{tile_records}));
      std::uint32_t bins[items];
      loads(tile, threadIdx.x, histogram_threads, left, bins);
      count_runs<items, Bins>(bins, mine);
    }
  });
  __syncthreads();
  for (int b = threadIdx.x; b < Bins; b += histogram_threads) {
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < copies; ++c) sum += histogram[c][b];
    if (sum > 0) atomicAdd(total + b, std::uint64_t{sum});
  }
}

/// Counts each tile of Items * 512 records; a chunk of tiles adds up in chunk_total, which is zero before.
template <int Bins, int Items>
__global__ void __launch_bounds__(histogram_threads)
    count_tile_bins(const __grid_constant__ key_arguments key, std::uint64_t count, std::uint32_t* tile_count,
                    unsigned long long* chunk_total) {
  constexpr std::uint32_t tile_records = histogram_threads * Items;
  constexpr int copies = 2;
  __shared__ std::uint32_t histogram[copies][Bins];
  for (int i = threadIdx.x; i < copies * Bins; i += histogram_threads) histogram[i / Bins][i % Bins] = 0;
  __syncthreads();
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_records;
  const auto left = static_cast<std::uint32_t>(min(count - tile, std::uint64_t{tile_records}));
  std::uint32_t bins[Items];
  load_bins<Items>(key, tile, threadIdx.x, histogram_threads, left, bins);
  count_runs<Items, Bins>(bins, histogram[threadIdx.x / 32 % copies]);
  __syncthreads();
  for (int b = threadIdx.x; b < Bins; b += histogram_threads) {
    const std::uint32_t sum = histogram[0][b] + histogram[1][b];
    tile_count[std::uint64_t{blockIdx.x} * Bins + b] = sum;
    if (sum > 0) atomicAdd(chunk_total + blockIdx.x / tiles_per_chunk * Bins + b, std::uint64_t{sum});
  }
}

/// Turns the totals of Bins bins into where they begin, and writes the categories' offsets, if asked for. Called by a
/// whole block of Threads.
template <int Bins, int Threads>
__device__ __forceinline__ void begin_bins_of(const unsigned long long* total, unsigned long long* bin_begin,
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

/// Threads of the kernels below.
constexpr int column_threads = 1024;

template <int Bins>
__global__ void __launch_bounds__(column_threads)
    begin_bins(const unsigned long long* total, unsigned long long* bin_begin, std::uint64_t* offsets,
               std::uint64_t categories) {
  begin_bins_of<Bins, column_threads>(total, bin_begin, offsets, categories);
}

/// Rows that a thread has in flight in the column sums below.
constexpr int rows_at_once = 16;

/// Turns a column of counts into sums of those before, from `sum` on: the thread's rows of it.
template <class Count>
__device__ __forceinline__ void sum_column(Count* column, std::uint64_t step, std::uint32_t begin, std::uint32_t end,
                                           Count sum) {
  for (std::uint32_t c = begin; c < end; c += rows_at_once) {
    Count row[rows_at_once];
#pragma unroll
    for (std::uint32_t r = 0; r < rows_at_once; ++r) row[r] = c + r < end ? column[(c + r) * step] : 0;
#pragma unroll
    for (std::uint32_t r = 0; r < rows_at_once; ++r) {
      if (c + r < end) column[(c + r) * step] = sum;
      sum += row[r];
    }
  }
}

/// Turns the chunks' counts into where each chunk's run of a bin begins inside the bin, and writes the bins' totals. A
/// block for every 32 bins, whose threads share the rows out.
template <int Bins>
__global__ void __launch_bounds__(column_threads)
    begin_chunks(unsigned long long* chunk, std::uint32_t chunks, unsigned long long* total) {
  constexpr std::uint32_t parts = column_threads / 32;
  __shared__ unsigned long long part_sum[parts][32];
  const std::uint32_t part = threadIdx.x / 32;
  const std::uint32_t lane = threadIdx.x % 32;
  unsigned long long* const column = chunk + blockIdx.x * 32 + lane;
  const std::uint32_t rows = (chunks + parts - 1) / parts;
  const std::uint32_t begin = min(part * rows, chunks);
  const std::uint32_t end = min(begin + rows, chunks);
  unsigned long long sum = 0;
#pragma unroll 16
  for (std::uint32_t c = begin; c < end; ++c) sum += column[std::uint64_t{c} * Bins];
  part_sum[part][lane] = sum;
  __syncthreads();
  unsigned long long before = 0;
  for (std::uint32_t q = 0; q < part; ++q) before += part_sum[q][lane];
  sum_column(column, Bins, begin, end, before);
  if (part == parts - 1) total[blockIdx.x * 32 + lane] = before + sum;
}

/// Turns the tiles' counts into where each tile's run of a bin begins inside its chunk. A block for each chunk; the
/// first one finds where bins begin too.
template <int Bins>
__global__ void __launch_bounds__(column_threads)
    begin_tiles(std::uint32_t* tile_count, std::uint64_t tiles, const unsigned long long* total,
                unsigned long long* bin_begin, std::uint64_t* offsets, std::uint64_t categories) {
  constexpr std::uint32_t parts = column_threads / Bins;
  constexpr std::uint32_t rows = tiles_per_chunk / parts;
  static_assert(rows <= rows_at_once && Bins * parts == column_threads);
  __shared__ std::uint32_t part_sum[parts][Bins];
  const std::uint32_t part = threadIdx.x / Bins;
  const std::uint32_t b = threadIdx.x % Bins;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tiles_per_chunk + part * rows;
  std::uint32_t* const column = tile_count + first * Bins + b;
  std::uint32_t row[rows];
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t r = 0; r < rows; ++r) row[r] = first + r < tiles ? column[r * Bins] : 0;
#pragma unroll
  for (std::uint32_t r = 0; r < rows; ++r) sum += row[r];
  part_sum[part][b] = sum;
  __syncthreads();
  sum = 0;
  for (std::uint32_t q = 0; q < part; ++q) sum += part_sum[q][b];
#pragma unroll
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (first + r < tiles) column[r * Bins] = sum;
    sum += row[r];
  }
  if (blockIdx.x == 0) begin_bins_of<Bins, column_threads>(total, bin_begin, offsets, categories);
}

/// offsets[c] = the first of `count` words in order whose category is not below c, for c up to `categories`.
template <class Word>
__global__ void __launch_bounds__(block_threads) find_offsets(const Word* words, std::uint64_t count, word_field field,
                                                              std::uint64_t categories, std::uint64_t* offsets) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t c = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; c <= categories; c += step) {
    std::uint64_t begin = 0;
    std::uint64_t end = count;
    while (begin < end) {
      const std::uint64_t middle = begin + (end - begin) / 2;
      if (category_of(__ldg(words + middle), field) < c) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    offsets[c] = begin;
  }
}

}  // namespace sheaf::cuda
