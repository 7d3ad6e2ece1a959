#include "opengl/movement/table_lookup.hpp"

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

constexpr program_files lookup_files{"pixels.vert", "", "gather_texture.frag"};

}  // namespace

table_lookup::table_lookup(opengl_state& state, const_records table)
    : texels_(texels_for(table.record_bytes)), program_(state.program_of(lookup_files)) {
  for (const tile& t : tiles_of(table.count, state.limits().texture_edge)) {
    parts_.push_back({t, uploaded(texels_, t, table)});
  }
  program_.use();
  program_.set_unit("list", 0);
  program_.set_unit("table", 1);
}

void table_lookup::gather(const texture& list, const tile& t, records out) const {
  const draw_target pixels(texels_, t);
  pixels.clear();
  bind_texture(0, list);
  // A fragment whose record lies in another part of the table is discarded; pixels that none writes stay zero.
  for (const part& p : parts_) {
    bind_texture(1, p.texels);
    program_.set("table_first", static_cast<std::uint32_t>(p.where.first));
    program_.set("table_count", static_cast<std::uint32_t>(p.where.count));
    program_.set("table_width_bits", p.where.width_bits);
    draw_all_pixels();
  }
  require_no_error("gather: texture lookups");
  pixels.read_back(out);
}

}  // namespace sheaf::opengl
