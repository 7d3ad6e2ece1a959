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

/// Where the limbs of a row's word are loaded from.
struct word_source {
  static constexpr std::uint32_t no_limb = 4;
  struct limb_source {
    const std::byte* data = nullptr;  ///< limb of row 0; null: the limb is 0 in every word
    std::uint64_t stride = 0;         ///< bytes from one row to the next
  };
  std::array<limb_source, 4> limbs{};
  std::uint32_t row_number_limb = no_limb;  ///< index of the limb that holds the row number
};

/// Where sorted words are stored: word i is element i of `words`, or of every array that takes one of its limbs.
struct word_target {
  struct limb_target {
    std::byte* data = nullptr;  ///< limb of element 0; null: the limb is dropped; onesweep stores whole keys at limb 0
    std::uint64_t stride = 0;   ///< bytes from one element to the next
  };
  void* words = nullptr;  ///< array of whole words; null: keys are decoded and limbs are stored one by one
  std::array<limb_target, 4> limbs{};
  key_transform transform;
};

/// Most words that one block sorts in shared memory. Lists up to this length are sorted by one block without MSD
/// passes. It is an eighth more than 4096, so that 2^28 random words fit once they are split into 65536 buckets.
constexpr std::uint32_t group_words = 4608;

/// One sort: fewer than 2^32 words of 1 to 4 limbs, by the key bits from key_low up to key_high.
struct word_sort {
  std::uint32_t limbs = 0;            ///< limbs of 4 bytes in a word
  std::uint32_t key_low = 0;          ///< lowest bit of the key
  std::uint32_t key_high = 0;         ///< one past the highest bit of the key
  bool words_are_keys = false;        ///< words hold a key, or the row that it lies in; else a key above a row number
  bool keys_are_aligned = false;      ///< where words are keys: they can be loaded from rows and stored as one
  bool uses_bitonic_network = false;  ///< groups are finished by a bitonic network, as in the 2007 paper
  std::uint64_t count = 0;
  const void* in = nullptr;  ///< the words; not read with from_rows
  bool from_rows = false;    ///< words are encoded from `rows` as the first kernel reads them
  word_source rows;
  /// Passes write to them in turn, [0] first. Either may be `in` or target.words. Kernels count the input too: to them
  /// 0 is `in`, 1 is buffers[0] and 2 is buffers[1].
  void* buffers[2] = {};
  word_target target;
  /// Bytes of the value that each word of 4 or 8 bytes has in an array of its own; 0: there are none. Values move with
  /// their words from `values` through value_buffers to values_to, which may be one of the buffers. With values the
  /// sort is stable; words without are equal where their keys are, or any order of them will do.
  std::uint32_t value_bytes = 0;
  const void* values = nullptr;  ///< null: the values are row numbers
  void* value_buffers[2] = {};
  void* values_to = nullptr;
};

}  // namespace sheaf::cuda
