#include "opengl/edges/cost.hpp"

#include <fmt/format.h>

#include "opengl/device/record_numbers.hpp"
#include "opengl/edges/node_values.hpp"
#include "opengl/movement/cost.hpp"

namespace sheaf::opengl {
namespace {

using primitives::edge_sum_problem;

std::uint64_t channels_of(const edge_sum_problem& p) { return p.components == 3 ? 4 : p.components; }

}  // namespace

const char* unsummable(const edge_sum_problem& p) noexcept {
  if (p.has_own_function) return "shaders know only the built-in functions";
  if (p.value != value_type::f32) return "frame buffers have 32 bits a channel, but the values are f64";
  if (p.nodes > most_record_numbers / most_edge_components) return "shaders count components of nodes in 32 bits";
  if (p.edges > most_record_numbers / 2) return "shaders count ends in 32 bits";
  return nullptr;
}

const char* too_many_nodes(const edge_sum_problem& p, const size_limits& limits) noexcept {
  return fits_layers(limits, node_texels(p)) ? nullptr : "the nodes' values take more layers than a texture has here";
}

void add_run(plan::planned& plan, const edge_sum_problem& p, const machine& m, std::uint32_t passes) {
  const std::uint64_t parts = p.components > 4 ? 2 : 1;
  const std::uint64_t bytes_of_nodes = p.nodes * p.node_bytes();
  const std::uint64_t fetches = p.components > 4 ? p.components : 1;  // of one texel each
  const std::uint64_t texel = p.components > 4 ? sizeof(float) : channels_of(p) * sizeof(float);
  plan.add("values", m.uploaded(bytes_of_nodes + p.edges * p.weight_components * sizeof(float)));
  plan.add("passes", static_cast<double>(parts * passes) * pass_seconds(m, p.nodes, 0));
  plan.add("texture lookups",
           static_cast<double>(parts) * m.random_reads(4 * p.edges * fetches, texel, bytes_of_nodes));
  plan.add("readback", m.read_back(p.nodes * channels_of(p) * sizeof(float)));
}

void require_summable(const edge_sum_problem& p, std::string_view variant) {
  const char* const why = unsummable(p);
  if (why == nullptr) return;
  throw error(error_code::no_variant,
              fmt::format("{}: {} cannot run: {}", primitives::prepared_edge_sum_call, variant, why));
}

}  // namespace sheaf::opengl
