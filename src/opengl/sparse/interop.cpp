#include <sheaf/interop/opengl.hpp>

#include "opengl/device/textures.hpp"
#include "opengl/sparse/result_pixels.hpp"

// Prepared products of vectors in the caller's buffer objects.
namespace sheaf {
namespace opengl {
namespace {

using primitives::spmv_problem;

constexpr std::string_view spmv_interop_call = primitives::prepared_spmv_call;

product_vectors require_vectors(opengl_state& state, const spmv_problem& p, const opengl_buffer& x,
                                const opengl_buffer& y, double alpha, double beta) {
  const std::uint64_t x_bytes = p.x_count() * sizeof(float);
  const std::uint64_t y_bytes = p.y_count() * sizeof(float);
  pipeline_call call(state, spmv_interop_call);
  const product_vectors v{require_buffer(spmv_interop_call, "x", x, x_bytes),
                          require_buffer(spmv_interop_call, "y", y, y_bytes), alpha, beta};
  require_apart(spmv_interop_call, "y", y, y_bytes, "x", x, x_bytes);
  call.finish();
  return v;
}

// An executor that is not this backend's own takes arrays in host memory alone.
void run_through_host(const context& ctx, primitives::prepared_product& work, const spmv_problem& problem,
                      const product_vectors& vectors) {
  const std::uint64_t y_bytes = problem.y_count() * sizeof(float);
  const buffer x = copy_on_host(ctx, spmv_interop_call, vectors.x, problem.x_count() * sizeof(float));
  const buffer y = copy_on_host(ctx, spmv_interop_call, vectors.y, y_bytes, vectors.beta != 0);
  work.run(ctx, {x.data(), problem.x_count(), problem.value}, {y.data(), problem.y_count(), problem.value},
           vectors.alpha, vectors.beta);
  copy_from_host(ctx, spmv_interop_call, y, y_bytes, vectors.y);
}

}  // namespace
}  // namespace opengl

void opengl_run(const prepared_spmv& prepared, const opengl_buffer& x, const opengl_buffer& y, double alpha,
                double beta) {
  using namespace opengl;
  const auto& work = primitives::checked<primitives::checked_product>(primitives::prepared_spmv_call, prepared.work_);
  opengl_state& state = require_opengl(prepared.ctx_, spmv_interop_call);
  const primitives::spmv_problem& problem = work.problem();
  const current_scope current(state.handle(), spmv_interop_call);
  const product_vectors vectors = require_vectors(state, problem, x, y, alpha, beta);
  if (problem.y_count() == 0) return;
  if (auto* const own = dynamic_cast<array_product*>(&work.executor())) {
    own->run_arrays(prepared.ctx_, vectors);
  } else {
    run_through_host(prepared.ctx_, work.executor(), problem, vectors);
  }
  glFinish();  // what another context reads must be complete
  state.require_not_lost(spmv_interop_call);
}

}  // namespace sheaf
