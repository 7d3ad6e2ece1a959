#pragma once

#include <span>
#include <vector>

#include "distributed/state.hpp"

// What all ranks tell each other at once. Each function is collective, and waits.
namespace sheaf::distributed {

/// Each rank's `bytes` bytes, in the order of ranks.
void all_gather(group_state& state, const void* mine, std::uint64_t bytes, void* all);

/// One number of each rank.
std::vector<std::uint64_t> all_gather(group_state& state, std::uint64_t mine);

/// Adds up the numbers of all ranks, place by place.
void all_add(group_state& state, std::span<std::uint64_t> numbers);

/// Puts the sums of the numbers of all lower ranks in place of this rank's: zeros on rank 0.
void add_lower_ranks(group_state& state, std::span<std::uint64_t> numbers);

/// Rank r gets numbers[r] of every rank.
std::vector<std::uint64_t> exchange_counts(group_state& state, std::span<const std::uint64_t> numbers);

/// Arrays of any length of all ranks, one behind the other.
struct gathered_bytes {
  std::vector<std::byte> data;
  std::vector<std::uint64_t> begins;  ///< one more than there are ranks
};
gathered_bytes all_gather_parts(group_state& state, std::span<const std::byte> mine);

/// Likewise, where all ranks know the length of each part.
void gather_parts(group_state& state, std::span<const std::byte> mine, std::span<const std::uint64_t> lengths,
                  std::byte* all);

}  // namespace sheaf::distributed
