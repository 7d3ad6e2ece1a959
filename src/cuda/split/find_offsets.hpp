#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "primitives/split/category.hpp"

namespace sheaf::cuda {

/// Queues a binary search for each category: offsets[c] = the first of `count` sorted words whose field `bits` is not
/// below c, for c up to `categories`. Where a list was split in several passes, no pass knows these offsets.
/// Does nothing if offsets is null.
void find_offsets(const context& ctx, const void* words, std::uint32_t word_bytes, std::uint64_t count,
                  const bit_field& bits, std::uint64_t categories, std::uint64_t* offsets);

}  // namespace sheaf::cuda
