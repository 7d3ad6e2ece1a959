#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// What the radix sorts take: words of 4 to 16 bytes, the rows that words are encoded from, and the arrays that words
// are decoded to.
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
  bool appends_row_number = false;  ///< in words of 4 limbs: the lowest limb is the row number
};

/// Where sorted words are stored: word i is element i of `words`, or the limbs from `data` + i * stride on.
struct word_target {
  void* words = nullptr;      ///< array of whole words; null: keys are decoded, and limbs are stored
  std::byte* data = nullptr;  ///< the lowest limb of element 0, used if `words` is null; both null: words are dropped
  std::uint64_t stride = 0;   ///< bytes from one element to the next
  bool stores_row_number_only = false;  ///< in words of 4 limbs: only the lowest limb is stored, the row number
};

/// Most words that one block sorts in shared memory. By the method sample, lists of up to this length are sorted by one
/// block without passes. The number is an eighth more than 4096, so that the groups of 2^28 random words fit once these
/// are split by 65536 codes.
constexpr std::uint32_t most_group_words = 4608;

/// How words are sorted. Both methods have stable passes from the lowest digit up (LSD).
enum class sort_method {
  onesweep,  ///< passes by all digits of the key
  sample     ///< by codes that a sample of the keys chooses, then each group in shared memory; or as onesweep does
};

/// One sort: fewer than 2^31 words of 1 to 4 limbs, by the key bits from key_low up to key_high. Kernels take it as it
/// is. Of the arrays below, a sort writes to buffers[1], buffers[2], values[1] and values[2] only, and to its outputs.
struct word_sort {
  sort_method method = sort_method::onesweep;
  std::uint32_t limbs = 0;     ///< limbs of 4 bytes in a word
  std::uint32_t count = 0;     ///< words
  std::uint32_t key_low = 0;   ///< lowest bit of the key, in words of several limbs a multiple of 8
  std::uint32_t key_high = 0;  ///< one past the highest bit of the key; with 3 or 4 limbs, 32 * limbs
  word_source rows;            ///< what words are encoded from, if kernels read rows
  /// [0]: the words, unless they are encoded from rows. Passes write to [1] and [2] in turn. [2] may be the target's
  /// memory. Without values it may also be [0]: the first pass has read [0] when the second writes to it.
  void* buffers[3] = {};
  word_target target;
  key_transform transform;  ///< applied as rows are read, and undone as words are stored
  /// Bytes of the value that each word of 4 or 8 bytes has in an array of its own; 0: there are none. Values move with
  /// their words from values[0] (null: they are row numbers) to values_to, which may be values[2].
  std::uint32_t value_bytes = 0;
  void* values[3] = {};
  void* values_to = nullptr;
};

}  // namespace sheaf::cuda
