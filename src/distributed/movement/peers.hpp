#pragma once

#include "distributed/movement/device_routing.hpp"

// Gathers that read the tables of other ranks where they lie, in place of asking for records.
namespace sheaf::distributed {

/// Whether this rank reads the memory of all ranks, as a number to be shared.
std::uint64_t shares_memory(const group_state& state) noexcept;

/// Whether calls go by primitives, and every rank reads the memory of all: the same on all ranks.
/// @param headers  whose third `shared` number is shares_memory()
bool memory_is_shared(const group_state& state, std::span<const call_header> headers) noexcept;

/// Whether a gather by loads from peers' memory takes less time than an exchange of its records.
/// @param entry_bytes  of each entry that travels to its owner in an exchange: 0 where owners know the list
bool peer_loads_win(std::uint64_t record_bytes, std::uint64_t entry_bytes) noexcept;

/// out[i] = the record of the row that entry i names; zeros where that is bad, which is noted. Done when it returns,
/// and no rank reads this one's table then. False on all ranks, and nothing done, where one of them has its table in
/// memory that another does not read.
bool gather_from_peers(group_state& state, const device_owners& owners, const_records table, const list_part& list,
                       records out, std::uint64_t call, const core::index_wording& wording);

}  // namespace sheaf::distributed
