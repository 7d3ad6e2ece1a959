#pragma once

#include "cuda/sort/radix/run.hpp"
#include "primitives/ranks/steps.hpp"

// A list of words that lies in parts, which are whole ranges of keys: one pass by the bins of each part takes the place
// of the sample and of the passes by codes, and its groups are finished as theirs are.
namespace sheaf::cuda {

/// The parts of a list, in device memory. Numbers are keys as words compare.
struct words_in_parts {
  const primitives::row_part* parts = nullptr;  ///< with one more, which ends the last one
  std::uint32_t part_count = 0;
  const primitives::row_run* runs = nullptr;
  std::uint32_t run_count = 0;
};

/// Shorter lists would want shorter tiles.
constexpr std::uint64_t least_words_in_parts = std::uint64_t{1} << 22;

/// Bytes of scratch that sort_in_parts takes.
std::uint64_t part_sort_scratch_bytes(const word_sort& sort, const words_in_parts& list);
/// Queues a sort of words of 1 or 2 limbs, alone or with values of 4 or 8 bytes, by all bits of their keys: of
/// least_words_in_parts or more. Its pass goes from buffers[0], or the rows, to buffers[2], which is the target's
/// memory.
void sort_in_parts(const context& ctx, const word_sort& sort, const words_in_parts& list, std::byte* scratch);

}  // namespace sheaf::cuda
