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

constexpr point_form form = point_form::texture_lookup;

// Each entry is a point at the pixel of its row, with its value and its column as attributes. The fragment looks x up
// in a texture, and blending adds the products (Ujaldon and Saltz 2005, section 4.1, "Texture lookup"). The order of
// the sums is that of the rows.
plan::planned plan_run(const spmv_problem& p, const machine& m) {
  if (const char* const why = no_points_for(p)) return plan::rejected(why);
  plan::planned plan;
  add_vectors(plan, p, m);
  plan.add("texture lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
  add_points(plan, p, m, point_count(p, form));
  return plan;
}

plan::planned plan_texture(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_run(p, scope.machine);
  if (plan.applicable()) plan.add("upload", scope.machine.uploaded(point_bytes(p, form)));
  return plan;
}

void run_texture(const context& ctx, const spmv_problem& p, const plan::planned&, const spmv_buffers& b, std::byte*) {
  run_points(ctx, p, b, form);
}

plan::planned plan_kept_texture(const prepare_spmv_problem& p, const plan::scope& scope) {
  const plan::planned run = plan_run(p.product, scope.machine);
  return prepared_plan(p, scope, point_bytes(p.product, form), run, "opengl.texture");
}

void keep_texture(const context& ctx, const prepare_spmv_problem& p, const plan::planned&,
                  const prepare_spmv_buffers& b, std::byte*) {
  prepare_points(ctx, p, b, form);
}

}  // namespace

constinit const primitives::spmv_variant spmv_texture{"opengl.texture", backend_kind::opengl, plan_texture,
                                                      run_texture};
constinit const primitives::prepare_spmv_variant prepare_spmv_texture{"opengl.texture", backend_kind::opengl,
                                                                      plan_kept_texture, keep_texture};

}  // namespace sheaf::opengl
