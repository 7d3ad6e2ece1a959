#include <sheaf/interop/opengl.hpp>

#include "opengl/device/textures.hpp"
#include "opengl/edges/node_values.hpp"
#include "primitives/views.hpp"

// Prepared sums over edges of values in the caller's buffer objects.
namespace sheaf {
namespace opengl {
namespace {

using primitives::edge_sum_problem;

constexpr std::string_view edge_sum_interop_call = primitives::prepared_edge_sum_call;

/// Bytes of the arrays of a run.
struct array_bytes {
  std::uint64_t values;
  std::uint64_t weights;
  std::uint64_t result;

  explicit array_bytes(const edge_sum_problem& p)
      : values(p.nodes * p.node_bytes()),
        weights(p.weight_components * p.edges * sizeof(float)),
        result(p.nodes * p.result_bytes()) {}
};

edge_arrays require_arrays(opengl_state& state, const edge_sum_problem& p, const opengl_buffer& node_values,
                           const opengl_buffer& weights, const opengl_buffer& result) {
  const array_bytes bytes(p);
  pipeline_call call(state, edge_sum_interop_call);
  edge_arrays arrays;
  arrays.values = require_buffer(edge_sum_interop_call, "node_values", node_values, bytes.values);
  if (bytes.weights > 0) arrays.weights = require_buffer(edge_sum_interop_call, "weights", weights, bytes.weights);
  arrays.result = require_buffer(edge_sum_interop_call, "the result", result, bytes.result);
  require_apart(edge_sum_interop_call, "the result", result, bytes.result, "node_values", node_values, bytes.values);
  require_apart(edge_sum_interop_call, "the result", result, bytes.result, "weights", weights, bytes.weights);
  call.finish();
  return arrays;
}

// An executor that is not this backend's own takes arrays in host memory alone.
void run_through_host(const context& ctx, primitives::prepared_edges& work, const edge_sum_problem& problem,
                      const edge_arrays& arrays) {
  const array_bytes bytes(problem);
  const buffer node_values = copy_on_host(ctx, edge_sum_interop_call, arrays.values, bytes.values);
  const buffer weights = copy_on_host(ctx, edge_sum_interop_call, arrays.weights, bytes.weights);
  const buffer result = copy_on_host(ctx, edge_sum_interop_call, arrays.result, bytes.result, /*is_read=*/false);
  primitives::edge_sum_buffers b;
  b.values = node_values.data();
  if (bytes.weights > 0) b.weights = weights.data();
  b.result = result.data();
  work.run(ctx, problem, b);
  copy_from_host(ctx, edge_sum_interop_call, result, bytes.result, arrays.result);
}

}  // namespace
}  // namespace opengl

void opengl_run(const prepared_edge_sum& prepared, const opengl_buffer& node_values, const opengl_buffer& weights,
                const opengl_buffer& result, edge_function function) {
  using namespace opengl;
  const auto& work = primitives::checked<primitives::checked_edges>(primitives::prepared_edge_sum_call, prepared.work_);
  opengl_state& state = require_opengl(prepared.ctx_, edge_sum_interop_call);
  primitives::require_enumerator(edge_sum_interop_call, "the function", function, edge_function::inverse_square);
  primitives::edge_sum_problem problem = work.problem();
  problem.value = value_type::f32;
  problem.function = function;
  problem.weight_components = weights.name != 0 && problem.edges > 0 ? 1 : 0;
  const current_scope current(state.handle(), edge_sum_interop_call);
  const edge_arrays arrays = require_arrays(state, problem, node_values, weights, result);
  if (problem.nodes == 0 && problem.edges == 0) return;
  if (auto* const own = dynamic_cast<array_edges*>(&work.executor())) {
    own->run_arrays(prepared.ctx_, problem, arrays);
  } else {
    run_through_host(prepared.ctx_, work.executor(), problem, arrays);
  }
  glFinish();  // what another context reads must be complete
  state.require_not_lost(edge_sum_interop_call);
}

}  // namespace sheaf
