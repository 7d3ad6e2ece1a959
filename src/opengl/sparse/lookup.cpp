#include <string_view>

#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/points.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

// Values that every device takes in a table of one row.
constexpr std::uint64_t most_colors = 65536;

// x is the color table, and the column a color index (Ujaldon and Saltz 2005, section 4.1, "Color table"). Hardware has
// no color table today, so a table of one row stands for it, which the end of the fragment stage looks up.
struct lookup_points {
  static constexpr point_form form = point_form::color_table;
  static constexpr std::string_view name = "opengl.lookup";

  static plan::planned plan_run(const spmv_problem& p, const plan::scope& scope) {
    const machine& m = scope.machine;
    if (const char* const why = no_points_for(p)) return plan::rejected(why);
    if (p.x_count() > most_colors) return plan::rejected("the color table holds 65536 values of x");
    if (p.x_count() > limits_of(scope).buffer_texels)
      return plan::rejected("x has more values than a table of one row here");
    plan::planned plan;
    add_vectors(plan, p, m);
    plan.add("texture lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
    add_points(plan, p, m, point_count(p, form));
    return plan;
  }
};

using lookup_variants = point_variants<lookup_points>;

}  // namespace

extern constinit const primitives::spmv_variant spmv_lookup{"opengl.lookup", backend_kind::opengl,
                                                            lookup_variants::plan, lookup_variants::run};
extern constinit const primitives::prepare_spmv_variant prepare_spmv_lookup{
    "opengl.lookup", backend_kind::opengl, lookup_variants::plan_kept, lookup_variants::keep};

}  // namespace sheaf::opengl
