#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// What the radix sorts take: words of 4 to 16 bytes, the rows that words are encoded from, and the arrays that words
// are decoded to. cuda.msd and cuda.onesweep share it.
namespace sheaf::cuda {

/// The bits to flip so that a key compares as an unsigned number, and to flip back afterwards. Floats of either sign
/// ascend in opposite directions, so the highest bit of the key selects one of two masks.
struct key_transform {
  std::array<std::uint32_t, 4> flipped_bits[2]{};  ///< [0]: for keys whose highest bit is 0; [1]: for those with a 1
  bool flips_highest_bit = false;                  ///< the highest bit is in both masks, else in neither
  bool key_is_lower_limb = false;                  ///< in words of two limbs: the key is the lower one alone
};

/// Where the words of rows are loaded from: the limbs of the key, or of the row, lie side by side.
struct word_source {
  const std::byte* data = nullptr;  ///< the lowest of these limbs of row 0; null: there are words, and no rows
  std::uint64_t stride = 0;         ///< bytes from one row to the next
  bool has_row_number = false;      ///< in words of 4 limbs: the lowest limb is the row number
};

/// Where sorted words are stored: word i is element i of `words`, or the limbs from `data` + i * stride on.
struct word_target {
  void* words = nullptr;       ///< array of whole words; null: keys are decoded, and limbs are stored
  std::byte* data = nullptr;   ///< the lowest limb of element 0; null: words are dropped
  std::uint64_t stride = 0;    ///< bytes from one element to the next
  bool is_row_number = false;  ///< only the lowest limb is stored
  key_transform transform;
};

/// Most words that one block sorts in shared memory. Lists up to this length are sorted by one block without MSD
/// passes. It is an eighth more than 4096, so that 2^28 random words fit once they are split into 65536 buckets.
constexpr std::uint32_t group_words = 4608;

/// One sort: fewer than 2^32 words of 1 to 4 limbs, by the key bits from key_low up to key_high. Kernels take it as it
/// is. A sort may write to buffers and values but the first ones.
struct word_sort {
  std::uint32_t limbs = 0;               ///< limbs of 4 bytes in a word
  std::uint32_t count = 0;               ///< words
  alignas(8) std::uint32_t key_low = 0;  ///< lowest bit of the key
  std::uint32_t key_high = 0;            ///< one past the highest bit of the key
  bool words_are_keys = false;        ///< words hold a key, or the row that it lies in; else a key above a row number
  bool keys_are_aligned = false;      ///< where words are keys: they can be loaded from rows and stored as one
  bool uses_bitonic_network = false;  ///< groups are finished by a bitonic network, as in the 2007 paper
  word_source rows;                   ///< what words are encoded from as the first kernel reads them
  /// [0]: the words, unless they are encoded from rows. Passes write to [1] and [2] in turn, [1] first; [2], or [1]
  /// where one pass is all, may be target.words. Words that onesweep does not take may have [2] for [0], because the
  /// first pass moves all of them or none.
  void* buffers[3] = {};
  word_target target;
  /// Bytes of the value that each word of 4 or 8 bytes has in an array of its own; 0: there are none. Values move with
  /// their words from values[0] (null: they are row numbers) to values_to, which may be one of the others. With values
  /// the sort is stable; words without are equal where their keys are, or any order of them will do.
  std::uint32_t value_bytes = 0;
  void* values[3] = {};
  void* values_to = nullptr;
};

}  // namespace sheaf::cuda
