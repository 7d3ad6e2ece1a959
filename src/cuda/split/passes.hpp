#pragma once

#include "primitives/split/contract.hpp"

// The passes that splits consist of, for the split variants and for the primitives built on them (cuda.lsd and the
// sorted scatter_reduce): one counting pass over words, and LSD radix passes over keys and values in separate arrays.
namespace sheaf::cuda {

constexpr std::uint32_t narrow_bins = 256;  ///< most categories of a stable pass
constexpr std::uint32_t wide_bins = 2048;   ///< most categories of an unordered pass
constexpr std::uint32_t digit_bits = 8;     ///< key bits of a pass, where a key takes several passes

/// Keys that lie outside the records that they belong to.
struct key_array {
  const std::byte* data = nullptr;  ///< null: records hold their own keys
  std::uint64_t stride = 0;         ///< bytes from one key to the next
  std::uint32_t word_bytes = 0;     ///< 1, 2, 4, 8: keys are loaded as words; 0: byte by byte
  bit_field bits;                   ///< the field of a key that is its category
  std::uint64_t categories = 0;     ///< keys from this value on are bad
  bool may_be_bad = false;          ///< bad keys may occur; they are reported
  const core::index_wording* wording = &primitives::category_wording;  ///< how a bad key is reported
  index_type type = index_type::u32;                                   ///< type of the keys, as the report prints it
};

/// One counting pass. It moves words of 1 to 16 bytes, side by side, that hold their own category; or words (4, 8, 16
/// bytes) or record numbers (4, 8 bytes) with separate keys.
struct split_pass {
  const std::byte* in = nullptr;  ///< words to move; null: record numbers
  std::byte* out = nullptr;
  std::uint32_t word_bytes = 0;
  std::uint64_t count = 0;  ///< words
  bit_field bits;           ///< the word's field that is its category, without separate keys
  key_array keys;

  std::uint64_t categories = 0;      ///< bins in use, at most narrow_bins or wide_bins
  std::uint64_t* offsets = nullptr;  ///< receives categories + 1 values; null: not wanted
  void* scatter_index = nullptr;     ///< receives each record's output position in place of `out`; record numbers only
};

/// Records of a tile, from which the scratch size follows.
std::uint32_t split_tile_records(std::uint32_t word_bytes, std::uint64_t categories);
/// Scratch of one stable pass.
std::uint64_t stable_scratch_bytes(std::uint64_t count, std::uint32_t word_bytes);
/// Scratch of one unordered pass.
constexpr std::uint64_t unordered_scratch_bytes = 2 * wide_bins * sizeof(std::uint64_t);

/// Queues one pass on ctx: histogram, prefix sums, scatter. The scratch is free again when the stream is past the pass.
void run_stable_pass(const context& ctx, const split_pass& pass, void* scratch);
void run_unordered_pass(const context& ctx, const split_pass& pass, void* scratch);

// ---- keys and values

/// LSD radix passes that bring values into the order of keys of up to 32 bits. The first pass reads the caller's keys;
/// between passes keys are words of 32 bits in scratch.
struct pair_passes {
  key_array keys;
  std::uint32_t key_bits = 0;         ///< bits that the passes sort by, at least 1; a bad key counts as keys.categories
  const std::byte* values = nullptr;  ///< null: record numbers
  std::byte* out = nullptr;           ///< sorted values, without those of bad keys if drops_bad_keys
  std::uint32_t value_bytes = 0;      ///< 4, 8 or 16; record numbers 4 or 8
  std::uint64_t count = 0;            ///< pairs
  bool drops_bad_keys = false;
  bool writes_keys = false;  ///< the last pass writes the sorted keys, too
  bool stable = true;        ///< false: the first pass may be unordered
};

std::uint32_t pass_count(const pair_passes& passes);
std::uint64_t pair_scratch_bytes(const pair_passes& passes);
/// Queues the passes. Returns the sorted keys, which lie in scratch, if passes.writes_keys; else null.
const std::uint32_t* run_pair_passes(const context& ctx, const pair_passes& passes, std::byte* scratch);

/// Passes by keys of 32 bits side by side, which also write the sorted keys. A value without a category has the key
/// `categories`, and comes behind all others. Arrays are yet to be given.
inline pair_passes passes_by_category(std::uint64_t categories, std::uint32_t value_bytes, std::uint64_t count) {
  pair_passes passes;
  passes.key_bits = std::max(1U, primitives::category_bits(categories + 1));
  passes.value_bytes = value_bytes;
  passes.count = count;
  passes.writes_keys = true;
  passes.keys.stride = passes.keys.word_bytes = sizeof(std::uint32_t);
  passes.keys.bits = {0, passes.key_bits};
  passes.keys.categories = categories;
  return passes;
}

}  // namespace sheaf::cuda
