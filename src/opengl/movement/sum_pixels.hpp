#pragma once

#include <cstdint>
#include <vector>

#include "opengl/movement/draw_points.hpp"

// Sums in frame buffers of floats.
namespace sheaf::opengl {

/// A frame buffer of undefined pixels for each tile of so many sums.
std::vector<tile_target> undefined_targets(const opengl_state& state, const texel_format& texels, std::uint64_t count);
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
    state.end_draw_of_points();
  }
}

/// Tells the program in use which tile is drawn to, and draws there from now on.
void draw_to(const program& user, const tile_target& target);

/// Draws all pixels of the bound target by fragments that loop. A draw does up to `most` rounds, from number `skip` on,
/// as the program in use is told. The first draw writes every pixel, whatever it had, so nothing blends where one draw
/// does all rounds; further draws add. Blending is off before and afterwards.
/// @param rounds  of the longest loop
void draw_loops(const program& user, std::uint64_t rounds, std::uint32_t most);

}  // namespace sheaf::opengl
