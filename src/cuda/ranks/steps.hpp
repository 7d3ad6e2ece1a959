#pragma once

#include "primitives/ranks/steps.hpp"

// The steps of calls between ranks, each in a file with its kernel.
namespace sheaf::cuda {

void route_entries(const context& ctx, index_span list, const primitives::rows_of_ranks& rows,
                   const primitives::routed_entries& out);
void unzip_pairs(const context& ctx, const std::byte* pairs, std::uint64_t count, bool is_wide, std::byte* rows,
                 std::byte* positions);
void gather_parts(const context& ctx, const primitives::gather_from_parts& problem);
void find_key_bounds(const context& ctx, const_records rows, const primitives::key_layout& key,
                     const primitives::key_bound* bounds, std::uint64_t count, std::uint64_t* positions);

}  // namespace sheaf::cuda
