#pragma once

#include <sheaf/context.hpp>

#include "cuda/sort/words/word_sort.hpp"

// A sort from the lowest digit up, each pass of which reads and writes the words once (Onesweep): for keys of 4 bytes
// that the sort from the highest digit down has trouble with.
namespace sheaf::cuda {

/// Words of 4 bytes that are keys, alone or with values of 4, 8 or 16 bytes, fewer than this.
constexpr std::uint64_t most_onesweep_words = std::uint64_t{1} << 30;

std::uint64_t onesweep_scratch_bytes(std::uint64_t count, std::uint32_t value_bytes);

/// Queues the sort, in the order of the words where keys are equal. It ends at once where `only_if`, unless it is null,
/// points to 0 on the device by then. Rows are made words of by the first pass.
void run_onesweep(const context& ctx, const char* what, const msd_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if);

}  // namespace sheaf::cuda
