#include "opengl/device/kept_objects.hpp"
#include "opengl/edges/cost.hpp"
#include "opengl/edges/incidence.hpp"
#include "opengl/edges/node_values.hpp"
#include "opengl/movement/cost.hpp"

namespace sheaf::opengl {

using namespace primitives;

namespace {

// Weights belong to the numbers of edges.
edge_numbers numbers_of(const edge_sum_problem& p) noexcept {
  return p.weight_components > 0 ? edge_numbers::kept : edge_numbers::none;
}

std::uint64_t texture_bytes(const edge_sum_problem& p, edge_numbers numbers) noexcept {
  return 8 * p.nodes + 2 * p.edges * (numbers == edge_numbers::kept ? 8 : 4);
}

// A fragment is a node, and loops over its edges, which the host has brought into the order of the nodes. Each edge is
// computed at both ends, as by points, and no two fragments write one pixel. A node of many edges holds up its
// neighbours.
plan::planned plan_sum_of_fragments(const edge_sum_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* const why = unsummable(problem)) return plan::rejected(why);
  const size_limits limits = limits_of(scope);
  if (const char* const why = too_many_nodes(problem, limits)) return plan::rejected(why);
  if (!fits_layers(limits, std::max(problem.nodes, 2 * problem.edges)))
    return plan::rejected("the edges of the nodes take more layers than a texture has here");
  plan::planned plan;
  add_run(plan, problem, machine, 1);
  plan.add("edges of nodes",
           machine.streamed(texture_bytes(problem, numbers_of(problem)), texture_bytes(problem, numbers_of(problem))));
  if (problem.weight_components > 0) {
    plan.add("weights", machine.random_reads(2 * problem.edges, sizeof(float), problem.edges * sizeof(float)));
  }
  return plan;
}

struct fragments_tuning {
  // The host reads all ends twice and writes what is uploaded at random. A profile has no rate of that; on two cores of
  // an EPYC it takes as long as the upload of 90,000 edges.
  double sort_uploads = 1;
};

double sort_seconds(const edge_sum_problem& p, edge_numbers numbers, const machine& m) {
  return fragments_tuning{}.sort_uploads * m.uploaded(texture_bytes(p, numbers));
}

plan::planned plan_fragments(const edge_sum_problem& problem, const plan::scope& scope) {
  plan::planned plan = plan_sum_of_fragments(problem, scope);
  if (!plan.applicable()) return plan;
  const edge_numbers numbers = numbers_of(problem);
  plan.scratch_bytes = incidence::scratch_bytes(problem, numbers);
  plan.add("sort on the host", sort_seconds(problem, numbers, scope.machine));
  plan.add("upload", scope.machine.uploaded(texture_bytes(problem, numbers)));
  return plan;
}

void sum(opengl_state& state, const edge_sum_problem& p, const edge_arrays& b, const incidence& edges) {
  const node_sums sums(state, p);
  const node_values values(state, p, b.values);
  edges.draw(state, p, values, b.weights, sums);
  sums.read_back(b.result);
}

void run_fragments(const context& ctx, const edge_sum_problem& problem, const plan::planned&,
                   const edge_sum_buffers& buffers, std::byte* scratch) {
  run_on_edges(ctx, edge_sum_call, problem, buffers.edges, edge_call::edge_sum,
               [&](opengl_state& state, std::uint64_t& first_bad) {
                 const incidence edges(state, problem, buffers.edges, numbers_of(problem), scratch);
                 first_bad = edges.first_bad();
                 sum(state, problem, {buffers.values, buffers.weights, buffers.result}, edges);
               });
}

class kept_incidence final : public array_edges {
 public:
  kept_incidence(const context& ctx, incidence edges) : edges_(ctx, std::move(edges)) {}

  void run_arrays(const context& ctx, const edge_sum_problem& p, const edge_arrays& b) override {
    require_summable(p, "opengl.fragments");
    run_call(ctx, prepared_edge_sum_call, [&](opengl_state& state) { sum(state, p, b, *edges_); });
  }
  std::uint64_t kept_bytes() const override { return edges_->bytes(); }
  std::string_view run_variant() const override { return "opengl.fragments"; }

 private:
  kept_objects<incidence> edges_;
};

// Runs of what was prepared may have weights.
plan::planned plan_kept_fragments(const prepare_edge_sum_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  plan::planned plan = prepared_plan<prepare_edge_sum_decision>(
      problem, scope, texture_bytes(problem.sum, edge_numbers::kept), plan_sum_of_fragments(problem.sum, scope));
  if (!plan.applicable()) return plan;
  plan.scratch_bytes = incidence::scratch_bytes(problem.sum, edge_numbers::kept);
  plan.add("sort on the host", sort_seconds(problem.sum, edge_numbers::kept, machine));
  return plan;
}

void keep_fragments(const context& ctx, const prepare_edge_sum_problem& problem, const plan::planned&,
                    const prepare_edge_sum_buffers& buffers, std::byte* scratch) {
  const edge_sum_problem& sum = problem.sum;
  std::shared_ptr<kept_incidence> made;
  const auto inspect = [&](opengl_state& state, std::uint64_t& first_bad) {
    // So that the first run, which may have weights, need not wait for the driver's linker.
    for (const bool has_weights : {false, true}) node_program(state, sum, has_weights);
    incidence edges(state, sum, buffers.edges, edge_numbers::kept, scratch);
    first_bad = edges.first_bad();
    if (first_bad == no_edge) made = std::make_shared<kept_incidence>(ctx, std::move(edges));
  };
  run_on_edges(ctx, prepare_edge_sum_call, sum, buffers.edges, edge_call::prepare_edge_sum, inspect);
  *buffers.made = std::move(made);
}

}  // namespace

extern constinit const edge_sum_variant edge_sum_fragments{"opengl.fragments", backend_kind::opengl, plan_fragments,
                                                           run_fragments};
extern constinit const prepare_edge_sum_variant prepare_edge_sum_fragments{"opengl.fragments", backend_kind::opengl,
                                                                           plan_kept_fragments, keep_fragments};

}  // namespace sheaf::opengl
