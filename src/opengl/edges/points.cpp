#include "opengl/device/kept_objects.hpp"
#include "opengl/edges/cost.hpp"
#include "opengl/edges/edge_vertices.hpp"
#include "opengl/edges/node_values.hpp"
#include "opengl/movement/cost.hpp"

namespace sheaf::opengl {

using namespace primitives;

namespace {

std::uint64_t vertex_bytes(const edge_sum_problem& p) noexcept { return p.edges * sizeof(node_pair); }

// Two rendering passes over the edges: each edge is a point at its first node's pixel, where blending adds, and then at
// its second node's, where blending subtracts (Ujaldon and Saltz 2005, section 4.2). The vertex stage looks up both
// values and contributes; it does so in both passes, and 4 components at the price of one.
plan::planned plan_sum_of_points(const edge_sum_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* const why = unsummable(problem)) return plan::rejected(why);
  if (const char* const why = too_many_nodes(problem, limits_of(scope))) return plan::rejected(why);
  plan::planned plan;
  add_run(plan, problem, machine, 2);
  const double parts = problem.components > 4 ? 2 : 1;
  plan.add("blended points",
           parts * machine.atomic_adds(2 * problem.edges, sizeof(float), problem.nodes * problem.result_bytes()));
  return plan;
}

plan::planned plan_points(const edge_sum_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_sum_of_points(p, scope);
  if (plan.applicable()) plan.add("upload", scope.machine.uploaded(vertex_bytes(p)));
  return plan;
}

void run_points(const context& ctx, const edge_sum_problem& problem, const plan::planned&,
                const edge_sum_buffers& buffers, std::byte*) {
  run_on_edges(ctx, edge_sum_call, problem, buffers.edges, edge_call::edge_sum,
               [&](opengl_state& state, std::uint64_t& first_bad) {
                 const node_sums sums(state, problem);
                 sums.clear();
                 const node_values values(state, problem, buffers.values);
                 const program& points = use_edge_points(state, problem, values);
                 for (std::uint64_t begin = 0; begin < problem.edges;) {
                   const edge_piece piece = next_piece(state, problem, buffers.edges, begin, first_bad);
                   draw_edges(state, points, piece, buffers.weights, sums);
                   begin += piece.count;
                 }
                 sums.read_back(buffers.result);
               });
}

class kept_points final : public array_edges {
 public:
  kept_points(const context& ctx, std::vector<edge_piece> pieces) : pieces_(ctx, std::move(pieces)) {}

  void run_arrays(const context& ctx, const edge_sum_problem& problem, const edge_arrays& arrays) override {
    require_summable(problem, "opengl.points");
    run_call(ctx, prepared_edge_sum_call, [&](opengl_state& state) {
      const node_sums sums(state, problem);
      sums.clear();
      const node_values values(state, problem, arrays.values);
      const program& points = use_edge_points(state, problem, values);
      for (const edge_piece& piece : *pieces_) draw_edges(state, points, piece, arrays.weights, sums);
      sums.read_back(arrays.result);
    });
  }
  std::string_view run_variant() const override { return "opengl.points"; }
  std::uint64_t kept_bytes() const override {
    std::uint64_t edges = 0;
    for (const edge_piece& piece : *pieces_) edges += piece.count;
    return edges * sizeof(node_pair);
  }

 private:
  kept_objects<std::vector<edge_piece>> pieces_;
};

plan::planned plan_kept_points(const prepare_edge_sum_problem& p, const plan::scope& scope) {
  return prepared_plan<prepare_edge_sum_decision>(p, scope, vertex_bytes(p.sum), plan_sum_of_points(p.sum, scope));
}

void keep_points(const context& ctx, const prepare_edge_sum_problem& problem, const plan::planned&,
                 const prepare_edge_sum_buffers& buffers, std::byte*) {
  const edge_sum_problem& sum = problem.sum;
  std::shared_ptr<kept_points> made;
  const auto inspect = [&](opengl_state& state, std::uint64_t& first_bad) {
    edge_point_program(state, sum);  // so that the first run need not wait for the driver's linker
    std::vector<edge_piece> pieces;
    for (std::uint64_t begin = 0; begin < sum.edges && first_bad == no_edge;) {
      pieces.push_back(next_piece(state, sum, buffers.edges, begin, first_bad));
      begin += pieces.back().count;
    }
    if (first_bad == no_edge) made = std::make_shared<kept_points>(ctx, std::move(pieces));
  };
  run_on_edges(ctx, prepare_edge_sum_call, sum, buffers.edges, edge_call::prepare_edge_sum, inspect);
  *buffers.made = std::move(made);
}

}  // namespace

extern constinit const edge_sum_variant edge_sum_points{"opengl.points", backend_kind::opengl, plan_points, run_points};
extern constinit const prepare_edge_sum_variant prepare_edge_sum_points{"opengl.points", backend_kind::opengl,
                                                                        plan_kept_points, keep_points};

}  // namespace sheaf::opengl
