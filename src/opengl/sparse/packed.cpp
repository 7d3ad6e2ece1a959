#include <string_view>

#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/points.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

// A point has four entries of a row in two attributes of four channels (Ujaldon and Saltz 2005, section 5.1, "Packaging
// strategies"). The fragment adds the four products, so a quarter of the points blends. Rows that are no multiple of
// four long waste room, which counts for half a point a row.
struct packed_points {
  static constexpr point_form form = point_form::packed;
  static constexpr std::string_view name = "opengl.packed";

  static plan::planned plan_run(const spmv_problem& p, const plan::scope& scope) {
    const machine& m = scope.machine;
    if (const char* const why = no_points_for(p)) return plan::rejected(why);
    if (p.transposed) return plan::rejected("packs entries of a row, and the product is transposed");
    if (!fits_layers(limits_of(scope), p.x_count())) return plan::rejected(too_many_values_of_x);
    plan::planned plan;
    add_vectors(plan, p, m);
    plan.add("texture lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
    add_points(plan, p, m, point_count(p, form));
    return plan;
  }
};

using packed_variants = point_variants<packed_points>;

}  // namespace

extern constinit const primitives::spmv_variant spmv_packed{"opengl.packed", backend_kind::opengl,
                                                            packed_variants::plan, packed_variants::run};
extern constinit const primitives::prepare_spmv_variant prepare_spmv_packed{
    "opengl.packed", backend_kind::opengl, packed_variants::plan_kept, packed_variants::keep};

}  // namespace sheaf::opengl
