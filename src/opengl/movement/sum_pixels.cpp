#include "opengl/movement/sum_pixels.hpp"

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {

std::vector<tile_target> zero_targets(const opengl_state& state, const texel_format& texels, std::uint64_t count) {
  std::vector<tile_target> targets;
  for (const tile& t : tiles_of(count, state.limits().texture_edge)) {
    targets.push_back({t, draw_target(texels, t)});
    targets.back().pixels.clear();
  }
  require_no_error("glClearBuffer");
  return targets;
}

void begin_sums() {
  glEnable(GL_BLEND);
  glBlendEquation(GL_FUNC_ADD);
  glBlendFunc(GL_ONE, GL_ONE);
}

void begin_differences() {
  begin_sums();
  glBlendEquation(GL_FUNC_REVERSE_SUBTRACT);
}

void end_sums() {
  glDisable(GL_BLEND);
  glBlendEquation(GL_FUNC_ADD);
}

void draw_to(const program& user, const tile_target& target) {
  target.pixels.bind();
  set_viewport_of(user, target.where);
  user.set("tile_first", static_cast<std::uint32_t>(target.where.first));
  user.set("tile_count", static_cast<std::uint32_t>(target.where.count));
}

}  // namespace sheaf::opengl
