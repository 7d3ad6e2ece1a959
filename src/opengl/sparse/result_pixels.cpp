#include "opengl/sparse/result_pixels.hpp"

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

constexpr program_files result_files{"pixels.vert", "", "spmv_result.frag"};

}  // namespace

const program& result_program(opengl_state& state) { return state.program_of(result_files); }

void write_result(opengl_state& state, const std::vector<tile_target>& sums, const product_vectors& vectors) {
  if (vectors.alpha == 1 && vectors.beta == 0) {
    for (const tile_target& target : sums) target.pixels.read_back(vectors.y, sizeof(float));
    return;
  }
  const program& scale = result_program(state);
  scale.use();
  scale.set_unit("sums", 0);
  scale.set_unit("before", 1);
  scale.set("factors", static_cast<float>(vectors.alpha), static_cast<float>(vectors.beta));
  scale.set("reads_before", vectors.beta == 0 ? 0U : 1U);
  for (const tile_target& target : sums) {
    const draw_target result(float_texels, target.where);
    std::optional<texture> before;
    if (vectors.beta != 0) before.emplace(uploaded(float_texels, target.where, source_array(vectors.y)));
    bind_texture(0, target.pixels.color());
    bind_texture(1, before ? *before : target.pixels.color());
    result.bind();
    draw_all_pixels();
    require_no_error("glDrawArrays of results");
    result.read_back(vectors.y, sizeof(float));
  }
}

}  // namespace sheaf::opengl
