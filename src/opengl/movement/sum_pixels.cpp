#include "opengl/movement/sum_pixels.hpp"

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {

void clear(const std::vector<tile_target>& targets) {
  for (const tile_target& target : targets) target.pixels.clear();
  require_no_error("glClearBuffer");
}

std::vector<tile_target> zero_targets(const opengl_state& state, const texel_format& texels, std::uint64_t count) {
  std::vector<tile_target> targets = targets_of(state, texels, count);
  clear(targets);
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

void draw_loops(const program& user, std::uint64_t rounds, std::uint32_t most) {
  user.set("most", most);
  user.set("skip", 0U);
  draw_all_pixels();
  if (rounds <= most) return;
  begin_sums();
  for (std::uint64_t skip = most; skip < rounds; skip += most) {
    user.set("skip", static_cast<std::uint32_t>(skip));
    draw_all_pixels();
  }
  end_sums();
}

}  // namespace sheaf::opengl
