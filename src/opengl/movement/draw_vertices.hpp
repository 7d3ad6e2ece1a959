#pragma once

#include <sheaf/records.hpp>

#include "opengl/device/objects.hpp"
#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/tile.hpp"

// Vertex indexing: a table as vertices, an index list as the array of elements.
namespace sheaf::opengl {

/// Draws, for each position of the tile, the table's record of its number as a point at the position's pixel; none
/// where the number names no record. The program has gather_vertex.vert and gather_vertex.geom and is in use, and the
/// target is bound. `numbers` and `elements`, which is overwritten, have an entry for each position of the list.
void draw_vertices(const opengl_state& state, const program& points, const tile& tile, const std::uint32_t* numbers,
                   const_records table, std::uint32_t* elements);

/// What draw_vertices() sends to the device, kept there from draw to draw.
class kept_vertices {
 public:
  kept_vertices(const opengl_state& state, const tile& tile, const std::uint32_t* numbers, const_records table);

  /// The program and the target are those of draw_vertices().
  void draw(const opengl_state& state, const program& points, const tile& tile) const;

 private:
  /// A draw of elements that name vertices of one buffer.
  struct elements_draw {
    vertex_array attributes;
    buffer_object elements;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t vertex_count = 0;
  };

  std::vector<buffer_object> vertices_;
  std::vector<elements_draw> draws_;
};

}  // namespace sheaf::opengl
