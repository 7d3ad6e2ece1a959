#include "opengl/movement/cost.hpp"
#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/points.hpp"
#include "opengl/sparse/variants.hpp"

namespace sheaf::opengl {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::spmv_buffers;
using primitives::spmv_problem;

constexpr point_form form = point_form::vertex_index;

// x is an array of vertices and the columns are the array of elements, so the vertex stage resolves the indirection
// (Ujaldon and Saltz 2005, section 4.1, "Vertex indices"). A geometry stage brings row and value to the vertex from a
// texture. The paper found it the slowest scheme: 2.40 ms, against 0.65 ms by textures.
plan::planned plan_run(const spmv_problem& p, const machine& m) {
  if (const char* const why = no_points_for(p)) return plan::rejected(why);
  plan::planned plan;
  add_vectors(plan, p, m);
  plan.add("vertex lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
  plan.add("point lookups", m.streamed(p.entries * 8, p.entries * 8));
  add_points(plan, p, m, point_count(p, form));
  return plan;
}

plan::planned plan_vertex(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_run(p, scope.machine);
  if (plan.applicable()) plan.add("upload", scope.machine.uploaded(point_bytes(p, form)));
  return plan;
}

void run_vertex(const context& ctx, const spmv_problem& p, const plan::planned&, const spmv_buffers& b, std::byte*) {
  run_points(ctx, p, b, form);
}

plan::planned plan_kept_vertex(const prepare_spmv_problem& p, const plan::scope& scope) {
  const plan::planned run = plan_run(p.product, scope.machine);
  return prepared_plan(p, scope, point_bytes(p.product, form), run, "opengl.vertex");
}

void keep_vertex(const context& ctx, const prepare_spmv_problem& p, const plan::planned&, const prepare_spmv_buffers& b,
                 std::byte*) {
  prepare_points(ctx, p, b, form);
}

}  // namespace

constinit const primitives::spmv_variant spmv_vertex{"opengl.vertex", backend_kind::opengl, plan_vertex, run_vertex};
constinit const primitives::prepare_spmv_variant prepare_spmv_vertex{"opengl.vertex", backend_kind::opengl,
                                                                     plan_kept_vertex, keep_vertex};

}  // namespace sheaf::opengl
