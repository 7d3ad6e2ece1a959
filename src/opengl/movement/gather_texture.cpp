#include <vector>

#include "opengl/device/errors.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/cost.hpp"
#include "opengl/movement/variants.hpp"

namespace sheaf::opengl {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

constexpr program_files lookup_files{"pixels.vert", "", "gather_texture.frag"};

// Table and list go to textures, each fragment looks up its index and then its record, and the frame buffer comes back.
// The index is read in the order of the pixels, so only the record's lookup is at random.
plan::planned plan_texture(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* const why = unmovable(p)) return plan::rejected(why);
  const std::uint64_t texel = texel_bytes(p.record_bytes);
  plan::planned plan;
  plan.scratch_bytes = record_number_bytes(p);
  plan.add("upload", m.uploaded(p.indexed_count * texel + record_number_bytes(p)));
  plan.add("passes", pass_seconds(m, p.count, p.indexed_count));
  plan.add("texture lookups", m.random_reads(p.count, texel, p.indexed_count * texel));
  plan.add("readback", m.read_back(p.count * texel));
  return plan;
}

void run_texture(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b,
                 std::byte* scratch) {
  opengl_state& state = state_of(ctx);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(scratch);
  write_record_numbers(state, p, b.index, primitives::gather_words, numbers);
  pipeline_call call(state, "gather");
  const texel_format texels = texels_for(p.record_bytes);
  const std::vector<tile> table_tiles = tiles_of(p.indexed_count, state.limits().texture_edge);
  std::vector<texture> table;
  table.reserve(table_tiles.size());
  for (const tile& t : table_tiles) table.push_back(uploaded(texels, t, b.table));

  const program& lookup = state.program_of(lookup_files);
  lookup.use();
  lookup.set_unit("list", 0);
  lookup.set_unit("table", 1);
  for (const tile& t : tiles_of(p.count, state.limits().texture_edge)) {
    const texture list = uploaded(texel_format{}, t, const_records(numbers, p.count, sizeof *numbers));
    const draw_target out(texels, t);
    out.clear();
    bind_texture(0, list);
    // A fragment whose record lies in another tile of the table is discarded; pixels that none writes stay zero.
    for (std::size_t i = 0; i < table.size(); ++i) {
      bind_texture(1, table[i]);
      lookup.set("table_first", static_cast<std::uint32_t>(table_tiles[i].first));
      lookup.set("table_count", static_cast<std::uint32_t>(table_tiles[i].count));
      lookup.set("table_width_bits", table_tiles[i].width_bits);
      draw_all_pixels();
    }
    require_no_error("gather: texture lookups");
    out.read_back(b.out);
  }
  call.finish();
}

}  // namespace

constinit const primitives::gather_variant gather_texture{"opengl.texture", backend_kind::opengl, plan_texture,
                                                          run_texture};

}  // namespace sheaf::opengl
