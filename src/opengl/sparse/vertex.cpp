#include <string_view>

#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/points.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

// x is an array of vertices and the columns are the array of elements, so the vertex stage resolves the indirection
// (Ujaldon and Saltz 2005, section 4.1, "Vertex indices"). A geometry stage brings row and value to the vertex from a
// texture. The paper found it the slowest scheme: 2.40 ms, against 0.65 ms by textures.
struct vertex_points {
  static constexpr point_form form = point_form::vertex_index;
  static constexpr std::string_view name = "opengl.vertex";

  static plan::planned plan_run(const spmv_problem& p, const plan::scope& scope) {
    const machine& m = scope.machine;
    if (const char* const why = no_points_for(p)) return plan::rejected(why);
    plan::planned plan;
    add_vectors(plan, p, m);
    plan.add("vertex lookups", m.random_reads(p.entries, sizeof(float), p.x_count() * sizeof(float)));
    plan.add("point lookups", m.streamed(p.entries * 8, p.entries * 8));
    add_points(plan, p, m, point_count(p, form));
    return plan;
  }
};

using vertex_variants = point_variants<vertex_points>;

}  // namespace

extern constinit const primitives::spmv_variant spmv_vertex{"opengl.vertex", backend_kind::opengl,
                                                            vertex_variants::plan, vertex_variants::run};
extern constinit const primitives::prepare_spmv_variant prepare_spmv_vertex{
    "opengl.vertex", backend_kind::opengl, vertex_variants::plan_kept, vertex_variants::keep};

}  // namespace sheaf::opengl
