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

constexpr point_form form = point_form::packed;

// A point has four entries of a row in two attributes of four channels (Ujaldon and Saltz 2005, section 5.1, "Packaging
// strategies"). The fragment adds the four products, so a quarter of the points blends. Rows that are no multiple of
// four long waste room, which counts for half a point a row.
plan::planned plan_run(const spmv_problem& p, const machine& m) {
  if (const char* const why = no_points_for(p)) return plan::rejected(why);
  if (p.transposed) return plan::rejected("packs entries of a row, and the product is transposed");
  plan::planned plan;
  add_vectors(plan, p, m);
  plan.add("texture lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
  add_points(plan, p, m, point_count(p, form));
  return plan;
}

plan::planned plan_packed(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_run(p, scope.machine);
  if (plan.applicable()) plan.add("upload", scope.machine.uploaded(point_bytes(p, form)));
  return plan;
}

void run_packed(const context& ctx, const spmv_problem& p, const plan::planned&, const spmv_buffers& b, std::byte*) {
  run_points(ctx, p, b, form);
}

plan::planned plan_kept_packed(const prepare_spmv_problem& p, const plan::scope& scope) {
  const plan::planned run = plan_run(p.product, scope.machine);
  return prepared_plan(p, scope, point_bytes(p.product, form), run, "opengl.packed");
}

void keep_packed(const context& ctx, const prepare_spmv_problem& p, const plan::planned&, const prepare_spmv_buffers& b,
                 std::byte*) {
  prepare_points(ctx, p, b, form);
}

}  // namespace

constinit const primitives::spmv_variant spmv_packed{"opengl.packed", backend_kind::opengl, plan_packed, run_packed};
constinit const primitives::prepare_spmv_variant prepare_spmv_packed{"opengl.packed", backend_kind::opengl,
                                                                     plan_kept_packed, keep_packed};

}  // namespace sheaf::opengl
