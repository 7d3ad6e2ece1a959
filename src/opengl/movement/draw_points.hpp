#pragma once

#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/tile.hpp"
#include "opengl/device/transfer.hpp"

// Records as points, whose pixels are where an index list says.
namespace sheaf::opengl {

enum class point_payload : std::uint8_t { record, value };

/// Of points that are records.
inline constexpr program_files record_point_files{"points.vert", "", "record.frag"};

/// A part of an array that is drawn to.
struct tile_target {
  tile where;
  draw_target pixels;
};

/// The tiles of so many records.
/// @param from  the array that they are in, as draw_target takes it; without one the pixels are undefined
template <class... Array>
std::vector<tile_target> targets_of(const opengl_state& state, const texel_format& texels, std::uint64_t count,
                                    const Array&... from) {
  std::vector<tile_target> targets;
  for (const tile& t : tiles_of(count, state.limits().texture_edge)) {
    targets.push_back({t, draw_target(texels, t, from...)});
  }
  return targets;
}

/// Tells the program in use the shape of the tile that is drawn to.
void set_viewport_of(const program& points, const tile& tile);
/// Tells the program in use which tile is drawn to, and draws there from now on.
void draw_to(const program& user, const tile_target& target);

/// Lets attribute 1 take records, side by side from a byte on in the buffer that is bound to GL_ARRAY_BUFFER.
void set_record_attribute(std::uint64_t record_bytes, std::uint64_t first_byte = 0);

/// Draws a point for each number that names a record, in the order of the list: of points at one pixel the one that is
/// later in the list is drawn later, whatever the sizes of buffers and draws. The program has points.vert or
/// values.vert and is in use.
void draw_points(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                 std::span<const std::uint32_t> numbers, const_records payload, point_payload kind);

/// A part of an index list as record numbers on the device: a vertex of each.
struct number_piece {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  vertex_array attributes;
  buffer_object numbers;
};

/// A list on the device, in pieces of limited size.
std::vector<number_piece> pieces_of(const opengl_state& state, std::span<const std::uint32_t> numbers);
/// draw_points() by a list that is on the device, for records.
void draw_points(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                 const number_piece& piece, const_records payload);
/// Likewise for records that lie side by side in a buffer object.
void draw_points(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                 const number_piece& piece, const source_array& payload, std::uint64_t record_bytes);

}  // namespace sheaf::opengl
