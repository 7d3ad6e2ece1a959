#include <string_view>

#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/points.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

// Each entry is a point at the pixel of its row, with its value and its column as attributes. The fragment looks x up
// in a texture, and blending adds the products (Ujaldon and Saltz 2005, section 4.1, "Texture lookup"). The order of
// the sums is that of the rows.
struct texture_points {
  static constexpr point_form form = point_form::texture_lookup;
  static constexpr std::string_view name = "opengl.texture";

  static plan::planned plan_run(const spmv_problem& p, const plan::scope& scope) {
    const machine& m = scope.machine;
    if (const char* const why = no_points_for(p)) return plan::rejected(why);
    if (!fits_layers(limits_of(scope), p.x_count())) return plan::rejected(too_many_values_of_x);
    plan::planned plan;
    add_vectors(plan, p, m);
    plan.add("texture lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
    add_points(plan, p, m, point_count(p, form));
    return plan;
  }
};

using texture_variants = point_variants<texture_points>;

}  // namespace

extern constinit const primitives::spmv_variant spmv_texture{"opengl.texture", backend_kind::opengl,
                                                             texture_variants::plan, texture_variants::run};
extern constinit const primitives::prepare_spmv_variant prepare_spmv_texture{
    "opengl.texture", backend_kind::opengl, texture_variants::plan_kept, texture_variants::keep};

}  // namespace sheaf::opengl
