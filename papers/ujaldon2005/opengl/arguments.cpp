#include "papers/ujaldon2005/opengl/arguments.hpp"

#include "opengl/device/record_numbers.hpp"
#include "opengl/device/textures.hpp"
#include "opengl/device/transfer.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {

void require_one_texture_each(std::string_view call, const context& ctx, const_records table, index_span index,
                              records out) {
  primitives::require_fit(call, ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
  if (ctx.backend() != backend_kind::opengl) {
    primitives::refuse("{}: the context works on {}", call, name(ctx.backend()));
  }
  if (const char* const why = no_texel_for(table.record_bytes)) {
    primitives::refuse("{}: {}, not of {}", call, why, table.record_bytes);
  }
}

tile only_tile(std::string_view call, std::string_view array, const opengl_state& state, std::uint64_t count) {
  const std::vector<tile> tiles = tiles_of(count, state.limits().texture_edge);
  if (tiles.size() == 1) return tiles.front();
  const std::uint32_t edge = state.limits().texture_edge;
  primitives::refuse("{}: {} has {} records, which take {} textures of {} x {} texels, not one", call, array, count,
                     tiles.size(), edge, edge);
}

void require_layers(std::string_view call, const opengl_state& state, std::string_view what, std::uint64_t count) {
  if (fits_layers(state.limits(), count)) return;
  primitives::refuse("{}: {} {} take more layers than a texture has here, {} of {} x {} texels", call, count, what,
                     state.limits().texture_layers, state.limits().texture_edge, state.limits().texture_edge);
}

void require_float_pipeline(std::string_view call, const context& ctx, value_type type) {
  if (ctx.backend() != backend_kind::opengl) {
    primitives::refuse("{}: the context works on {}", call, name(ctx.backend()));
  }
  if (type != value_type::f32) primitives::refuse("{}: the values are not f32", call);
}

primitives::edge_sum_problem plain_edge_sum(const edge_view& edges, std::uint64_t nodes, std::uint32_t components,
                                            edge_function function) {
  primitives::edge_sum_problem problem;
  problem.backend = backend_kind::opengl;
  problem.edges = edges.count;
  problem.nodes = nodes;
  problem.value_components = problem.components = components;
  problem.value = value_type::f32;
  problem.index = edges.type;
  problem.stride = edges.stride;
  problem.function = function;
  return problem;
}

std::vector<std::uint32_t> record_numbers_of(opengl_state& state, index_span list, std::uint64_t records,
                                             const core::index_wording& wording) {
  std::vector<std::uint32_t> numbers(list.count);
  primitives::movement m;
  m.count = list.count;
  m.indexed_count = records;
  write_record_numbers(state, m, list, wording, numbers.data());
  return numbers;
}

}  // namespace sheaf::opengl
