#pragma once

#include <sheaf/context.hpp>

#include "cuda/sort/words/word_sort.hpp"

// Onesweep, an LSD radix sort of keys of 4 and 8 bytes: for those that slow an MSD sort down.
namespace sheaf::cuda {

/// A list has fewer words than this, because a tile state has 30 bits for a count.
constexpr std::uint64_t most_onesweep_words = std::uint64_t{1} << 30;

/// Bytes of scratch that run_onesweep takes.
std::uint64_t onesweep_scratch_bytes(const word_sort& s);

/// Queues a stable sort of words of one limb, or of two that are sorted by whole bytes, alone or with values of 4 or 8
/// bytes (one limb: or 16). Where words are not encoded from rows, buffers[0] is not buffers[2], which the first pass
/// may write to. Where only_if is not null and points to 0 on the device once the kernel starts, the kernel ends at
/// once.
void run_onesweep(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if);

}  // namespace sheaf::cuda
