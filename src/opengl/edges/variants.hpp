#pragma once

#include "primitives/edges/edge_sum.hpp"
#include "primitives/edges/prepare.hpp"

// The variants of this folder. Each is defined in the file that has its name, its preparation beside it.
namespace sheaf::opengl {

extern const primitives::edge_sum_variant edge_sum_points;
extern const primitives::edge_sum_variant edge_sum_fragments;

extern const primitives::prepare_edge_sum_variant prepare_edge_sum_points;
extern const primitives::prepare_edge_sum_variant prepare_edge_sum_fragments;

}  // namespace sheaf::opengl
