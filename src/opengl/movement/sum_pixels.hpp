#pragma once

#include "opengl/movement/draw_points.hpp"

// Sums in frame buffers of floats.
namespace sheaf::opengl {

/// Zeroes the pixels of all tiles.
void clear(const std::vector<tile_target>& targets);
/// A frame buffer of zeros for each tile of so many sums.
std::vector<tile_target> zero_targets(const opengl_state& state, const texel_format& texels, std::uint64_t count);

/// Adds fragments to what the pixels have, from now on; the points or draws of a pixel in their order.
void begin_sums();
/// Subtracts them, from now on.
void begin_differences();
void end_sums();

/// Draws `count` points in draws of limited size.
/// @param draw  draw(first, count) draws some of them
template <class Draw>
void for_each_draw(const opengl_state& state, std::uint64_t count, Draw draw) {
  const std::uint64_t most = state.limits().points_per_draw;
  for (std::uint64_t first = 0; first < count; first += most) {
    draw(first, count - first < most ? count - first : most);
    state.flush_points_in_software();
  }
}

/// Draws all pixels of the bound target by fragments that loop, in draws of limited length: a driver may take a draw of
/// seconds for a hang, and llvmpipe ends loops after 65535 rounds. The program in use (spmv_rows.frag, edge_nodes.frag)
/// keeps to this protocol of two uniforms:
/// - A fragment does rounds [skip, skip + most) of its loop, as far as it has any.
/// - Of skip 0 it writes its pixel, a zero where its loop has no rounds. So the first draw writes every pixel, whatever
///   it had, and nothing blends where one draw does all rounds.
/// - Of a later skip it discards itself where no round is left, and else blending adds what it writes.
/// Blending is off before and afterwards.
/// @param rounds  of the longest loop
/// @param most    rounds of a fragment in one draw
void draw_loops(const program& user, std::uint64_t rounds, std::uint32_t most);

}  // namespace sheaf::opengl
