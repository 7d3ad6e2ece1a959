#pragma once

#include "cuda/split/launch.cuh"
#include "cuda/split/scan_kernels.cuh"
#include "papers/patidar2009/basic_split.hpp"

// What the splits of this folder share: a record's category and copy, and the prefix sums of a table with an entry for
// each category and segment, those of a category side by side (column-major order).
namespace sheaf::cuda {

constexpr std::uint32_t warp_lanes = 32;
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

// In table_offsets.cu:

/// Queues the prefix sums of a table of `count` records, and the offsets of the categories unless `offsets` is null.
/// @param tile_sums    memory for a number of each tile of scan_tile_entries entries
/// @param most_blocks  as basic_split_form's blocks
void scan_table(const context& ctx, const std::uint32_t* table, std::uint32_t categories, std::uint64_t segments,
                std::uint64_t count, std::uint64_t* tile_sums, std::uint64_t* offsets, std::uint64_t* run_begin,
                std::uint32_t most_blocks = 0);

}  // namespace sheaf::cuda
