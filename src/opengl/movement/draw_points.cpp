#include "opengl/movement/draw_points.hpp"

#include <algorithm>

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {

std::vector<tile_target> targets_of(const opengl_state& state, const texel_format& texels, const_records array) {
  std::vector<tile_target> targets;
  for (const tile& t : tiles_of(array.count, state.limits().texture_edge)) {
    targets.push_back({t, draw_target(texels, t, array)});
  }
  return targets;
}

void set_viewport_of(const program& points, const tile& t) {
  points.set("width_bits", t.width_bits);
  points.set("size", static_cast<float>(t.width()), static_cast<float>(t.height));
}

void set_record_attribute(std::uint64_t record_bytes) {
  glEnableVertexAttribArray(1);
  glVertexAttribIPointer(1, static_cast<GLint>(record_bytes / sizeof(std::uint32_t)), GL_UNSIGNED_INT,
                         static_cast<GLsizei>(record_bytes), nullptr);
}

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
    glEnableVertexAttribArray(0);
    glVertexAttribIPointer(0, 1, GL_UNSIGNED_INT, 0, nullptr);
    fill_buffer(payload_buffer, payload, first, count);
    if (kind == point_payload::record) {
      set_record_attribute(payload.record_bytes);
    } else {
      glEnableVertexAttribArray(1);
      glVertexAttribPointer(1, 1, GL_FLOAT, GL_FALSE, 0, nullptr);
    }
    for (const tile_target& target : targets) {
      target.pixels.bind();
      set_viewport_of(points, target.where);
      points.set("tile_first", static_cast<std::uint32_t>(target.where.first));
      points.set("tile_count", static_cast<std::uint32_t>(target.where.count));
      glDrawArrays(GL_POINTS, 0, static_cast<GLsizei>(count));
    }
    state.end_draw_of_points();
    require_no_error("glDrawArrays of points");
  }
  glBindVertexArray(0);
}

}  // namespace sheaf::opengl
