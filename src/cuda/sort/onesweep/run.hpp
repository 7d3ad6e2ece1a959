#pragma once

#include <sheaf/context.hpp>

#include "cuda/sort/words/word_sort.hpp"

// Onesweep, an LSD radix sort of words of one limb: for the keys of 4 bytes that slow an MSD sort down.
namespace sheaf::cuda {

/// A list has fewer words than this, because a tile state has 30 bits for a count.
constexpr std::uint64_t most_onesweep_words = std::uint64_t{1} << 30;

/// Scratch for the tables of a sort of `count` words with values of 0, 4, 8 or 16 bytes.
std::uint64_t onesweep_scratch_bytes(std::uint64_t count, std::uint32_t value_bytes);

/// Queues a stable sort of words of one limb, alone or with values of 4, 8 or 16 bytes. Where only_if is not null and
/// points to 0 on the device once the kernel starts, the kernel ends at once.
void run_onesweep(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if);

}  // namespace sheaf::cuda
