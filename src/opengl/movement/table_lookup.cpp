#include "opengl/movement/table_lookup.hpp"

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

constexpr program_files lookup_files{"pixels.vert", "", "gather_texture.frag"};

}  // namespace

const program& lookup_program(opengl_state& state) { return state.program_of(lookup_files); }

template <class Array>
table_lookup::table_lookup(opengl_state& state, const texel_format& texels, std::uint64_t count, const Array& table)
    : texels_(texels), program_(lookup_program(state)) {
  for (const tile& t : tiles_of(count, state.limits().texture_edge)) {
    parts_.push_back({t, uploaded(texels_, t, table)});
  }
  program_.use();
  program_.set_unit("list", 0);
  program_.set_unit("table", 1);
}

table_lookup::table_lookup(opengl_state& state, const_records table)
    : table_lookup(state, texels_for(table.record_bytes), table.count, table) {}

table_lookup::table_lookup(opengl_state& state, const source_array& table, std::uint64_t count,
                           std::uint64_t record_bytes)
    : table_lookup(state, side_by_side_texels_for(record_bytes), count, table) {}

draw_target table_lookup::gathered(const texture& list, const tile& t) const {
  draw_target pixels(texels_, t);
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
  return pixels;
}

}  // namespace sheaf::opengl
