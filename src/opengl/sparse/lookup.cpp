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

constexpr point_form form = point_form::color_table;

// Values that every device takes in a table of one row.
constexpr std::uint64_t most_colors = 65536;

// x is the color table, and the column a color index (Ujaldon and Saltz 2005, section 4.1, "Color table"). Hardware has
// no color table today, so a table of one row stands for it, which the end of the fragment stage looks up.
plan::planned plan_run(const spmv_problem& p, const machine& m) {
  if (const char* const why = no_points_for(p)) return plan::rejected(why);
  if (p.x_count() > most_colors) return plan::rejected("the color table holds 65536 values of x");
  plan::planned plan;
  add_vectors(plan, p, m);
  plan.add("texture lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
  add_points(plan, p, m, point_count(p, form));
  return plan;
}

plan::planned plan_lookup(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_run(p, scope.machine);
  if (plan.applicable()) plan.add("upload", scope.machine.uploaded(point_bytes(p, form)));
  return plan;
}

void run_lookup(const context& ctx, const spmv_problem& p, const plan::planned&, const spmv_buffers& b, std::byte*) {
  run_points(ctx, p, b, form);
}

plan::planned plan_kept_lookup(const prepare_spmv_problem& p, const plan::scope& scope) {
  const plan::planned run = plan_run(p.product, scope.machine);
  return prepared_plan(p, scope, point_bytes(p.product, form), run, "opengl.lookup");
}

void keep_lookup(const context& ctx, const prepare_spmv_problem& p, const plan::planned&, const prepare_spmv_buffers& b,
                 std::byte*) {
  prepare_points(ctx, p, b, form);
}

}  // namespace

constinit const primitives::spmv_variant spmv_lookup{"opengl.lookup", backend_kind::opengl, plan_lookup, run_lookup};
constinit const primitives::prepare_spmv_variant prepare_spmv_lookup{"opengl.lookup", backend_kind::opengl,
                                                                     plan_kept_lookup, keep_lookup};

}  // namespace sheaf::opengl
