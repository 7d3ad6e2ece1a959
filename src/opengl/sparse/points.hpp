#pragma once

#include <cstdint>

#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/point_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// Products by points, called or prepared; forms differ in what looks x up.
namespace sheaf::opengl {

/// Bytes of the points of all entries.
std::uint64_t point_bytes(const primitives::spmv_problem& p, point_form form) noexcept;
/// Points of all entries, as far as a plan can know.
std::uint64_t point_count(const primitives::spmv_problem& p, point_form form) noexcept;

/// Draws piece after piece as the matrix is read, so that the device holds one of them.
void run_points(const context& ctx, const primitives::spmv_problem& p, const primitives::spmv_buffers& b,
                point_form form);
/// Keeps all pieces on the device.
void prepare_points(const context& ctx, const primitives::prepare_spmv_problem& p,
                    const primitives::prepare_spmv_buffers& b, point_form form);

/// The functions of a form's variants. A scheme has the form, the variants' name, and plan_run(problem, scope): what
/// a run takes once its points are on the device.
template <class Scheme>
struct point_variants {
  static plan::planned plan(const primitives::spmv_problem& p, const plan::scope& scope) {
    plan::planned plan = Scheme::plan_run(p, scope);
    if (plan.applicable()) plan.add("upload", scope.machine.uploaded(point_bytes(p, Scheme::form)));
    return plan;
  }
  static void run(const context& ctx, const primitives::spmv_problem& p, const plan::planned&,
                  const primitives::spmv_buffers& b, std::byte*) {
    run_points(ctx, p, b, Scheme::form);
  }
  static plan::planned plan_kept(const primitives::prepare_spmv_problem& p, const plan::scope& scope) {
    const plan::planned run = Scheme::plan_run(p.product, scope);
    return prepared_plan(p, scope, point_bytes(p.product, Scheme::form), run, Scheme::name);
  }
  static void keep(const context& ctx, const primitives::prepare_spmv_problem& p, const plan::planned&,
                   const primitives::prepare_spmv_buffers& b, std::byte*) {
    prepare_points(ctx, p, b, Scheme::form);
  }
};

}  // namespace sheaf::opengl
