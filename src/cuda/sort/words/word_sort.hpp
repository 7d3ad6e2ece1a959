#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sheaf::cuda {

/// What is done to the bits of a key so that it is a number that ascends, and so undone: some are turned round, which
/// of them the highest one tells, as floats of either sign ascend in opposite ways.
struct key_change {
  std::array<std::uint32_t, 4> mask{};       ///< the bits of each limb that are key
  std::array<std::uint32_t, 4> turned[2]{};  ///< where the highest bit is 0, and where it is 1
  bool turns_highest = false;                ///< the same in both
};

/// Where the limbs of a row's word come from.
struct word_source {
  static constexpr std::uint32_t no_part = 4;
  struct part_source {
    const std::byte* data = nullptr;  ///< null: zeros
    std::uint64_t stride = 0;
  };
  std::array<part_source, 4> limbs{};
  std::uint32_t number_part = no_part;  ///< the limb that is the row's number
};

/// Where a sort's words go once they are in order: word i to element i of each array that has a limb of it.
struct word_target {
  struct part_target {
    std::byte* data = nullptr;  ///< null: the limb goes nowhere
    std::uint64_t stride = 0;
  };
  void* words = nullptr;  ///< the words as they are; else the limbs apart, the key as it was before it became a number
  std::array<part_target, 4> limbs{};
  key_change change;
};

/// Words that a block sorts in shared memory, at most. As many are sorted by one block, without levels; an eighth more
/// than 4096, so that 2^28 words at random in 65536 buckets fit.
constexpr std::uint32_t group_words = 4608;

/// What is sorted, here or by run_onesweep: words of limbs * 4 bytes (1 to 4 limbs), fewer than 2^32, whose keys are
/// the bits from key_low up to key_high.
struct msd_sort {
  std::uint32_t limbs = 0;
  std::uint32_t key_low = 0;
  std::uint32_t key_high = 0;
  bool ordered = false;  ///< words of equal keys keep their order; else these are equal, or any order will do
  bool bitonic = false;  ///< buckets are finished as in the 2007 paper
  std::uint64_t count = 0;
  const void* in = nullptr;  ///< words, or, from_rows, where make_words would put them
  bool from_rows = false;    ///< the first level, if words are more than group_words, or pass makes them of rows
  word_source rows;
  void* buffers[2] = {};  ///< that passes write to in turn, the first one first; may be in, and the target's words
  word_target target;
  /// Values of 4 or 8 bytes that words of 4 or 8 bytes have in an array of their own, in order: they move from here to
  /// the buffers, as the words do, and in the end to values_to, which may be a buffer.
  std::uint32_t value_bytes = 0;
  const void* values = nullptr;
  void* value_buffers[2] = {};
  void* values_to = nullptr;
};

}  // namespace sheaf::cuda
