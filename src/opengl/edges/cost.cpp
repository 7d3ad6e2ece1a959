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

void add_run(plan::planned& plan, const edge_sum_problem& problem, const machine& machine, std::uint32_t passes) {
  const std::uint64_t parts = problem.components > 4 ? 2 : 1;
  const std::uint64_t bytes_of_nodes = problem.nodes * problem.node_bytes();
  const std::uint64_t fetches = problem.components > 4 ? problem.components : 1;  // of one texel each
  const std::uint64_t texel = problem.components > 4 ? sizeof(float) : channels_of(problem) * sizeof(float);
  plan.add("values", machine.uploaded(bytes_of_nodes + problem.edges * problem.weight_components * sizeof(float)));
  plan.add("passes", static_cast<double>(parts * passes) * pass_seconds(machine, problem.nodes, 0));
  plan.add("texture lookups",
           static_cast<double>(parts) * machine.random_reads(4 * problem.edges * fetches, texel, bytes_of_nodes));
  plan.add("readback", machine.read_back(problem.nodes * channels_of(problem) * sizeof(float)));
}

void require_summable(const edge_sum_problem& p, std::string_view variant) {
  const char* const why = unsummable(p);
  if (why == nullptr) return;
  throw error(error_code::no_variant,
              fmt::format("{}: {} cannot run: {}", primitives::prepared_edge_sum_call, variant, why));
}

}  // namespace sheaf::opengl
