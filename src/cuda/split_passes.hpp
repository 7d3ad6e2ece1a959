#pragma once

#include <cstdint>

#include <sheaf/context.hpp>
#include <sheaf/split.hpp>

#include "core/context_state.hpp"

struct uint2;

// One pass of a split over records that are single words, for split itself and for what stands on it.
namespace sheaf::cuda {

struct split_pass_arguments;
struct key_arguments;

constexpr std::uint32_t narrow_bins = 256;  ///< categories of one pass that keeps the order
constexpr std::uint32_t wide_bins = 2048;   ///< of one that need not

/// What is split: words of 1 to 16 bytes, side by side, that hold their own category, or words (4, 8, 16 bytes) or
/// record numbers (4, 8 bytes) with keys apart.
struct split_pass {
  const std::byte* in = nullptr;  ///< null: record numbers
  std::byte* out = nullptr;
  std::uint32_t word_bytes = 0;
  std::uint64_t count = 0;
  bit_field bits;  ///< of the word, where there are no keys

  const std::byte* keys = nullptr;  ///< null: the word itself is the key
  std::uint64_t key_stride = 0;
  std::uint32_t key_word_bytes = 0;  ///< 1, 2, 4, 8, or 0 to read the bytes that hold the bits one by one
  bit_field key_bits;

  std::uint64_t categories = 0;      ///< bins that are used, at most narrow_bins or wide_bins
  bool checks = false;               ///< keys may name categories that are not; they are reported
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

}  // namespace sheaf::cuda
