#pragma once

#include "cuda/split/launch.cuh"
#include "cuda/split/scan_kernels.cuh"
#include "papers/patidar2009/basic_split.hpp"

// What the splits of this folder share: a record's category and copy, counters in shared memory, and the prefix sums of
// a table with an entry for each category and segment, those of a category side by side (column-major order).
namespace sheaf::cuda {

using papers::patidar2009::scan_tile_entries;

constexpr std::uint32_t warp_lanes = 32;
constexpr std::uint32_t table_scan_threads = 256;
/// Most threads of a block that takes a segment.
constexpr std::uint32_t segment_threads = 256;

/// Records that are split, by bits of the records.
struct split_records {
  key_arguments key;  ///< the records themselves
  const std::byte* in;
  std::byte* out;
  std::uint64_t in_stride;
  std::uint64_t out_stride;
  std::uint64_t count;
  std::uint32_t words;  ///< of a record
  std::uint32_t categories;
};

/// How the categories of records are read: from the aligned word that holds the field, where there is one.
inline key_arguments keys_of_records(const primitives::split_problem& p, const std::byte* in, std::uint64_t stride) {
  const std::uint64_t word_bytes = std::min<std::uint64_t>(p.word_bytes, 8);
  const std::uint64_t offset = p.bits.first / 8 / word_bytes * word_bytes;
  bit_field bits = p.bits;
  bits.first -= 8 * offset;
  if (bits.first + bits.count > 8 * word_bytes) {
    return keys_of({.data = in, .stride = stride, .word_bytes = 0, .bits = p.bits});
  }
  return keys_of(
      {.data = in + offset, .stride = stride, .word_bytes = static_cast<std::uint32_t>(word_bytes), .bits = bits});
}

inline split_records records_of(const primitives::split_problem& p, const std::byte* in, std::uint64_t in_stride,
                                std::byte* out, std::uint64_t out_stride) {
  return {.key = keys_of_records(p, in, in_stride),
          .in = in,
          .out = out,
          .in_stride = in_stride,
          .out_stride = out_stride,
          .count = p.count,
          .words = static_cast<std::uint32_t>(p.record_bytes / p.word_bytes),
          .categories = static_cast<std::uint32_t>(p.categories)};
}

/// The category of record first + i of the `records` from `first` on; past their end that of the last one.
template <class Load>
__device__ __forceinline__ std::uint32_t category_at(const Load& load, std::uint64_t first, std::uint32_t i,
                                                     std::uint32_t records) {
  std::uint32_t category[1];
  load(first, min(i, records - 1), 1, records, category);
  return category[0];
}

template <class Word>
__device__ __forceinline__ void copy_record(std::byte* to, const std::byte* from, std::uint32_t words) {
  for (std::uint32_t w = 0; w < words; ++w) {
    store_word(to + w * sizeof(Word), load_word<Word>(from + w * sizeof(Word)));
  }
}

/// Sum of the entries of each tile of the table, one block a tile.
__global__ void __launch_bounds__(table_scan_threads)
    sum_table_tiles(const std::uint32_t* table, std::uint64_t entries, unsigned long long* tile_sums) {
  __shared__ unsigned long long sums[table_scan_threads];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * scan_tile_entries;
  const std::uint64_t end = min(begin + scan_tile_entries, entries);
  unsigned long long sum = 0;
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += table_scan_threads) sum += table[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (std::uint32_t half = table_scan_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) tile_sums[blockIdx.x] = sums[0];
}

/// Writes the sums of the values before each, from `before` on, by a whole block. in and out may be the same.
template <class Value>
__device__ __forceinline__ void scan_by_block(const Value* in, unsigned long long* out, std::uint64_t count,
                                              unsigned long long before) {
  __shared__ __align__(16) unsigned long long warp_sums[table_scan_threads / 32];
  __shared__ unsigned long long chunk_sum;
  for (std::uint64_t first = 0; first < count; first += table_scan_threads) {
    const std::uint64_t i = first + threadIdx.x;
    const unsigned long long own = i < count ? in[i] : 0;
    unsigned long long sum[1] = {own};
    scan_bins<table_scan_threads, table_scan_threads>(sum, warp_sums);
    if (i < count) out[i] = before + sum[0];
    if (threadIdx.x == table_scan_threads - 1) chunk_sum = sum[0] + own;
    __syncthreads();
    before += chunk_sum;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(table_scan_threads)
    scan_tile_sums(unsigned long long* tile_sums, std::uint64_t tiles) {
  scan_by_block(tile_sums, tile_sums, tiles, 0);
}

/// Prefix sums of the table, one block a tile.
__global__ void __launch_bounds__(table_scan_threads)
    scan_table_tiles(const std::uint32_t* table, std::uint64_t entries, const unsigned long long* tile_begin,
                     unsigned long long* run_begin) {
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * scan_tile_entries;
  const std::uint64_t end = min(begin + scan_tile_entries, entries);
  scan_by_block(table + begin, run_begin + begin, end - begin, tile_begin[blockIdx.x]);
}

__global__ void __launch_bounds__(table_scan_threads)
    copy_offsets(const std::uint64_t* run_begin, std::uint64_t segments, std::uint32_t categories, std::uint64_t count,
                 std::uint64_t* offsets) {
  const std::uint32_t c = blockIdx.x * table_scan_threads + threadIdx.x;
  if (c < categories) offsets[c] = run_begin[c * segments];
  if (c == categories) offsets[c] = count;
}

/// Queues the prefix sums of a table of `count` records, and the offsets of the categories unless `offsets` is null.
/// @param tile_sums  memory for a number of each tile of the table
inline void scan_table(const context& ctx, const std::uint32_t* table, std::uint32_t categories, std::uint64_t segments,
                       std::uint64_t count, std::uint64_t* tile_sums, std::uint64_t* offsets,
                       std::uint64_t* run_begin) {
  const std::uint64_t entries = categories * segments;
  const std::uint64_t tiles = ceil_div(entries, std::uint64_t{scan_tile_entries});
  auto* const sums = reinterpret_cast<unsigned long long*>(tile_sums);
  launch_blocks(ctx, sum_table_tiles, tiles, table_scan_threads, table, entries, sums);
  launch_blocks(ctx, scan_tile_sums, 1, table_scan_threads, sums, tiles);
  launch_blocks(ctx, scan_table_tiles, tiles, table_scan_threads, table, entries,
                static_cast<const unsigned long long*>(sums), reinterpret_cast<unsigned long long*>(run_begin));
  if (offsets == nullptr) return;
  launch_blocks(ctx, copy_offsets, ceil_div(std::uint64_t{categories} + 1, std::uint64_t{table_scan_threads}),
                table_scan_threads, static_cast<const std::uint64_t*>(run_begin), segments, categories, count, offsets);
}

}  // namespace sheaf::cuda
