#include "opengl/movement/draw_points.hpp"

#include <algorithm>

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {

void set_viewport_of(const program& points, const tile& t) {
  points.set("width_bits", t.width_bits);
  points.set("size", static_cast<float>(t.width()), static_cast<float>(t.height));
}

void draw_to(const program& user, const tile_target& target) {
  target.pixels.bind();
  set_viewport_of(user, target.where);
  user.set("tile_first", static_cast<std::uint32_t>(target.where.first));
  user.set("tile_count", static_cast<std::uint32_t>(target.where.count));
}

void set_record_attribute(std::uint64_t record_bytes, std::uint64_t first_byte) {
  glEnableVertexAttribArray(1);
  glVertexAttribIPointer(1, static_cast<GLint>(record_bytes / sizeof(std::uint32_t)), GL_UNSIGNED_INT,
                         static_cast<GLsizei>(record_bytes), reinterpret_cast<const void*>(first_byte));
}

namespace {

void set_number_attribute(std::uint64_t first) {
  glEnableVertexAttribArray(0);
  glVertexAttribIPointer(0, 1, GL_UNSIGNED_INT, 0, reinterpret_cast<const void*>(first * sizeof(std::uint32_t)));
}

// Draws points whose numbers and records, or values, the attributes take.
void draw_attributes(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                     std::uint64_t count) {
  for (const tile_target& target : targets) {
    draw_to(points, target);
    glDrawArrays(GL_POINTS, 0, static_cast<GLsizei>(count));
  }
  state.flush_points_in_software();
  require_no_error("glDrawArrays of points");
}

}  // namespace

void draw_points(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                 std::span<const std::uint32_t> numbers, const_records payload, point_payload kind) {
  const vertex_array attributes;
  const buffer_object number_buffer;
  const buffer_object payload_buffer;
  glBindVertexArray(attributes.name());
  const const_records list(numbers.data(), numbers.size(), sizeof(std::uint32_t));
  for (std::uint64_t first = 0; first < numbers.size(); first += state.limits().points_per_draw) {
    const std::uint64_t count = std::min(numbers.size() - first, state.limits().points_per_draw);
    fill_buffer(number_buffer, list, first, count);
    set_number_attribute(0);
    fill_buffer(payload_buffer, payload, first, count);
    if (kind == point_payload::record) {
      set_record_attribute(payload.record_bytes);
    } else {
      glEnableVertexAttribArray(1);
      glVertexAttribPointer(1, 1, GL_FLOAT, GL_FALSE, 0, nullptr);
    }
    draw_attributes(state, points, targets, count);
  }
  glBindVertexArray(0);
}

std::vector<number_piece> pieces_of(const opengl_state& state, std::span<const std::uint32_t> numbers) {
  const const_records list(numbers.data(), numbers.size(), sizeof(std::uint32_t));
  std::vector<number_piece> pieces;
  for (std::uint64_t first = 0; first < list.count; first += pieces.back().count) {
    number_piece& piece = pieces.emplace_back();
    piece.first = first;
    piece.count = std::min(list.count - first, state.limits().vertices_per_buffer);
    fill_buffer(piece.numbers, list, first, piece.count);
  }
  return pieces;
}

namespace {

// Draws a piece of the list. set_records(first, count) lets attribute 1 take the records of the list's entries from
// `first` on.
template <class SetRecords>
void draw_piece(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                const number_piece& piece, std::uint64_t record_bytes, SetRecords set_records) {
  glBindVertexArray(piece.attributes.name());
  for (std::uint64_t done = 0; done < piece.count; done += state.limits().points_per_draw) {
    const std::uint64_t count = std::min(piece.count - done, state.limits().points_per_draw);
    glBindBuffer(GL_ARRAY_BUFFER, piece.numbers.name());
    set_number_attribute(done);
    set_records(piece.first + done, count);
    draw_attributes(state, points, targets, count);
  }
  // A piece that is kept does not keep the records.
  glBindBuffer(GL_ARRAY_BUFFER, 0);
  set_record_attribute(record_bytes);
  glBindVertexArray(0);
}

}  // namespace

void draw_points(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                 const number_piece& piece, const_records payload) {
  const buffer_object payload_buffer;
  draw_piece(state, points, targets, piece, payload.record_bytes, [&](std::uint64_t first, std::uint64_t count) {
    fill_buffer(payload_buffer, payload, first, count);
    set_record_attribute(payload.record_bytes);
  });
}

void draw_points(const opengl_state& state, const program& points, std::span<const tile_target> targets,
                 const number_piece& piece, const source_array& payload, std::uint64_t record_bytes) {
  draw_piece(state, points, targets, piece, record_bytes, [&](std::uint64_t first, std::uint64_t) {
    glBindBuffer(GL_ARRAY_BUFFER, payload.buffer);
    set_record_attribute(record_bytes, payload.offset + first * record_bytes);
  });
}

}  // namespace sheaf::opengl
