#include "opengl/movement/draw_vertices.hpp"

#include <algorithm>

#include "opengl/device/errors.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/draw_points.hpp"

namespace sheaf::opengl {
namespace {

/// Part of a table in a vertex buffer.
struct vertex_piece {
  std::uint64_t first;
  std::uint64_t count;
};

// Elements of a piece count from its first record. All that name no record of the piece name the vertex behind its
// last one, which the geometry stage leaves out.
void write_elements(const std::uint32_t* numbers, std::uint64_t count, const vertex_piece& piece,
                    std::uint32_t* elements) {
  const auto first = static_cast<std::uint32_t>(piece.first);
  const auto none = static_cast<std::uint32_t>(piece.count);
  for (std::uint64_t i = 0; i < count; ++i) elements[i] = std::min(numbers[i] - first, none);
}

// Fills the bound vertex buffer with the piece, and one vertex of zeros.
void fill_vertices(const buffer_object& vertices, const_records table, const vertex_piece& piece) {
  const buffer_object records;
  fill_buffer(records, table, piece.first, piece.count);
  const std::uint64_t bytes = piece.count * table.record_bytes;
  const std::vector<std::byte> zeros(table.record_bytes);
  glBindBuffer(GL_COPY_READ_BUFFER, records.name());
  glBindBuffer(GL_ARRAY_BUFFER, vertices.name());
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(bytes + zeros.size()), nullptr, GL_STREAM_DRAW);
  require_no_error("glBufferData");
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_ARRAY_BUFFER, 0, 0, static_cast<GLsizeiptr>(bytes));
  glBufferSubData(GL_ARRAY_BUFFER, static_cast<GLintptr>(bytes), static_cast<GLsizeiptr>(zeros.size()), zeros.data());
  require_no_error("glBufferSubData");
}

}  // namespace

void draw_vertices(const opengl_state& state, const program& points, const tile& tile, const std::uint32_t* numbers,
                   const_records table, std::uint32_t* elements) {
  const size_limits& limits = state.limits();
  set_viewport_of(points, tile);
  for (vertex_piece piece{0, 0}; piece.first < table.count; piece.first += piece.count) {
    piece.count = std::min(table.count - piece.first, limits.vertices_per_buffer);
    const vertex_array attributes;
    const buffer_object vertices;
    const buffer_object list;
    glBindVertexArray(attributes.name());
    fill_vertices(vertices, table, piece);
    set_record_attribute(table.record_bytes);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, list.name());
    points.set("vertex_count", static_cast<std::int32_t>(piece.count));
    for (std::uint64_t done = 0; done < tile.count; done += limits.points_per_draw) {
      const std::uint64_t count = std::min(tile.count - done, limits.points_per_draw);
      write_elements(numbers + tile.first + done, count, piece, elements);
      glBufferData(GL_ELEMENT_ARRAY_BUFFER, static_cast<GLsizeiptr>(count * sizeof *elements), elements,
                   GL_STREAM_DRAW);
      points.set("first", static_cast<std::uint32_t>(done));
      glDrawElements(GL_POINTS, static_cast<GLsizei>(count), GL_UNSIGNED_INT, nullptr);
      state.flush_points_in_software();
    }
    require_no_error("glDrawElements of points");
  }
  glBindVertexArray(0);
}

kept_vertices::kept_vertices(const opengl_state& state, const tile& tile, const std::uint32_t* numbers,
                             const_records table) {
  const size_limits& limits = state.limits();
  std::vector<std::uint32_t> elements;
  for (vertex_piece piece{0, 0}; piece.first < table.count; piece.first += piece.count) {
    piece.count = std::min(table.count - piece.first, limits.vertices_per_buffer);
    const buffer_object& vertices = vertices_.emplace_back();
    fill_vertices(vertices, table, piece);
    for (std::uint64_t done = 0; done < tile.count; done += limits.points_per_draw) {
      const std::uint64_t count = std::min(tile.count - done, limits.points_per_draw);
      elements_draw& draw = draws_.emplace_back();
      draw.first = done;
      draw.count = count;
      draw.vertex_count = piece.count;
      glBindVertexArray(draw.attributes.name());
      glBindBuffer(GL_ARRAY_BUFFER, vertices.name());
      set_record_attribute(table.record_bytes);
      elements.resize(count);
      write_elements(numbers + tile.first + done, count, piece, elements.data());
      glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, draw.elements.name());
      glBufferData(GL_ELEMENT_ARRAY_BUFFER, static_cast<GLsizeiptr>(count * sizeof(std::uint32_t)), elements.data(),
                   GL_STATIC_DRAW);
    }
    require_no_error("vertices and elements that are kept");
  }
  glBindVertexArray(0);
}

void kept_vertices::draw(const opengl_state& state, const program& points, const tile& t) const {
  set_viewport_of(points, t);
  for (const elements_draw& d : draws_) {
    glBindVertexArray(d.attributes.name());
    points.set("vertex_count", static_cast<std::int32_t>(d.vertex_count));
    points.set("first", static_cast<std::uint32_t>(d.first));
    glDrawElements(GL_POINTS, static_cast<GLsizei>(d.count), GL_UNSIGNED_INT, nullptr);
    state.flush_points_in_software();
  }
  require_no_error("glDrawElements of points");
  glBindVertexArray(0);
}

}  // namespace sheaf::opengl
