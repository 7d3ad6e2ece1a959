#pragma once

#include "opengl/device/objects.hpp"
#include "opengl/edges/ends.hpp"
#include "opengl/edges/node_values.hpp"

namespace sheaf::opengl {

/// Edges as points, on the device, in the order of the caller's.
struct edge_piece {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  vertex_array attributes;
  buffer_object ends;
};

/// The edges from `begin` on, as many as a buffer takes. Those that have bad ends will be clipped; the first of them
/// becomes `first_bad` if it is lower.
edge_piece next_piece(const opengl_state& state, const primitives::edge_sum_problem& problem, const edge_view& edges,
                      std::uint64_t begin, std::uint64_t& first_bad);

/// The program of sums over edges by points, linked if this is its first use.
const program& edge_point_program(opengl_state& state, const primitives::edge_sum_problem& problem);
/// That program, in use.
const program& use_edge_points(opengl_state& state, const primitives::edge_sum_problem& problem,
                               const node_values& values);

/// Adds contributions at the first ends of the piece's edges, and subtracts them at the second ends.
/// @param weights  of all edges, or none
void draw_edges(const opengl_state& state, const program& points, const edge_piece& piece, const source_array& weights,
                const node_sums& sums);

}  // namespace sheaf::opengl
