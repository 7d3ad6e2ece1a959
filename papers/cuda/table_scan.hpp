#pragma once

#include <sheaf/context.hpp>

// Prefix sums on a GPU of the tables in which sorts and splits of two papers count.
namespace sheaf::papers {

/// Entries of a table whose prefix sums a block makes.
constexpr std::uint32_t scan_tile_entries = 4096;

}  // namespace sheaf::papers

namespace sheaf::cuda {

/// Queues the prefix sums of `entries` counts, of which there is at least one: sums[i] is the sum of those before count
/// i.
/// @param tile_sums    memory for a number of each tile of scan_tile_entries entries
/// @param most_blocks  so many blocks loop over the tiles; 0: one for each tile
void scan_counts(const context& ctx, const std::uint32_t* counts, std::uint64_t entries, std::uint64_t* tile_sums,
                 std::uint64_t* sums, std::uint32_t most_blocks = 0);

/// Queues the replacement of each number by the sum of those before it; there is at least one. tile_sums is as above.
void scan_numbers(const context& ctx, std::uint64_t* numbers, std::uint64_t count, std::uint64_t* tile_sums);

}  // namespace sheaf::cuda
