#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "primitives/edges/prepare.hpp"

namespace sheaf::cpu {

/// order[k] = the node that comes k-th along a Morton curve through the coordinates (Morton 1966), in cells of 2^-16 of
/// the longest side of their box (2^-24 in two dimensions). Coordinates that are not finite count as those of a corner.
/// The order depends on the arguments alone, not on the number of threads.
/// @throws error(out_of_memory)
void order_by_place(const context& ctx, const primitives::prepare_edge_sum_problem& p, const void* coordinates,
                    std::uint32_t* order);

}  // namespace sheaf::cpu
