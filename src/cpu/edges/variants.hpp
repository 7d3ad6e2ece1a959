#pragma once

#include "primitives/edges/edge_sum.hpp"
#include "primitives/edges/prepare.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::edge_sum_variant edge_sum_owner;
extern const primitives::edge_sum_variant edge_sum_binned;

extern const primitives::prepare_edge_sum_variant prepare_edge_sum_tiles;

}  // namespace sheaf::cpu
