#pragma once

#include "primitives/linked_list/contract.hpp"

// What cuda.sublist and cuda.sublist_host_scan share.
namespace sheaf::cuda {

/// Where the list of splitters is scanned (Wei and JaJa 2010, 4.2).
enum class splitter_scan : std::uint8_t { on_device, on_host };

plan::planned plan_sublist(const primitives::list_problem& p, const plan::scope& scope, splitter_scan where);
void run_sublist(const context& ctx, const primitives::list_problem& p, const plan::planned& plan,
                 const primitives::list_buffers& b, std::byte* scratch, splitter_scan where);

}  // namespace sheaf::cuda
