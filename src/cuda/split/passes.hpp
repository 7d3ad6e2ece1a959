#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/context.hpp>

#include "core/context_state.hpp"
#include "primitives/category.hpp"

// Passes of a split, for split itself and for what stands on it: over records that are single words, and over keys and
// values in arrays of their own.
namespace sheaf::cuda {

constexpr std::uint32_t narrow_bins = 256;  ///< categories of one pass that keeps the order
constexpr std::uint32_t wide_bins = 2048;   ///< of one that need not
constexpr std::uint32_t digit_bits = 8;     ///< of a pass, where there are several

/// Where keys lie that are not the records themselves.
struct key_array {
  const std::byte* data = nullptr;  ///< null: there are none
  std::uint64_t stride = 0;
  std::uint32_t word_bytes = 0;  ///< 1, 2, 4, 8, or 0 to read the bytes that hold the bits one by one
  bit_field bits;
  std::uint64_t categories = 0;                        ///< keys from here on are bad, if there can be any
  bool checks = false;                                 ///< there can be; they are reported
  core::index_role role = core::index_role::category;  ///< what a report calls them
  index_type type = index_type::u32;
};

/// What is split: words of 1 to 16 bytes, side by side, that hold their own category, or words (4, 8, 16 bytes) or
/// record numbers (4, 8 bytes) with keys apart.
struct split_pass {
  const std::byte* in = nullptr;  ///< null: record numbers
  std::byte* out = nullptr;
  std::uint32_t word_bytes = 0;
  std::uint64_t count = 0;
  bit_field bits;  ///< of the word, where there are no keys
  key_array keys;

  std::uint64_t categories = 0;      ///< bins that are used, at most narrow_bins or wide_bins
  std::uint64_t* offsets = nullptr;  ///< categories + 1 values, if asked for
  void* scatter_index = nullptr;     ///< record numbers only: places are written instead
};

/// Records of a tile, which scratch is reckoned from.
std::uint32_t split_tile_records(std::uint32_t word_bytes, std::uint64_t categories);
/// Scratch of one pass.
std::uint64_t stable_scratch_bytes(std::uint64_t count, std::uint32_t word_bytes);
constexpr std::uint64_t unordered_scratch_bytes = 2 * wide_bins * sizeof(std::uint64_t);

/// Queue one pass on ctx; scratch as large as above, free again when the stream is past it.
void run_stable_pass(const context& ctx, const char* what, const split_pass& pass, void* scratch);
void run_unordered_pass(const context& ctx, const char* what, const split_pass& pass, void* scratch);

// ---- keys and values

/// Values that are put in the order of keys of up to 32 bits, in passes from the lowest digit on. The first reads the
/// caller's keys; between passes they are words of 32 bits, in scratch.
struct pair_passes {
  key_array keys;
  std::uint32_t key_bits = 0;         ///< that passes sort by, more than 0; a bad key is keys.categories
  const std::byte* values = nullptr;  ///< null: record numbers
  std::byte* out = nullptr;           ///< values in order; those of bad keys are left out, if they are dropped
  std::uint32_t value_bytes = 0;      ///< 4, 8, 16; of numbers 4 or 8
  std::uint64_t count = 0;
  bool drops_bad = false;
  bool keeps_keys = false;  ///< the keys in order are wanted, too
  bool stable = true;       ///< else the first pass need not keep the order
};

std::uint32_t passes_of(const pair_passes& p);
std::uint64_t pair_scratch_bytes(const pair_passes& p);
/// Queues the passes. Returns the keys in order, which lie in scratch, if they are kept.
const std::uint32_t* run_pair_passes(const context& ctx, const char* what, const pair_passes& p, std::byte* scratch);

}  // namespace sheaf::cuda
