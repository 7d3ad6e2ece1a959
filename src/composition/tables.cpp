#include "core/composition.hpp"
#include "plan/store/profile_files.hpp"
#include "primitives/backends.hpp"
#include "primitives/ranks/steps.hpp"
#include "primitives/sparse/rank_columns.hpp"
#include "primitives/sparse/rank_steps.hpp"

// The one place that knows all backends: the tables of them, their steps between ranks, and what core calls of the
// layers above it.
namespace sheaf {

namespace core {
namespace {

int one_host() noexcept { return 1; }

#if SHEAF_HAS_CUDA
constexpr auto make_cuda = make_cuda_state;
std::shared_ptr<context_state> make_first_cuda_state(int) { return make_cuda_state(0, nullptr, true); }
constexpr backend cuda_backend{
    backend_kind::cuda,        "cuda", processor_kind::gpu, false, true, cuda_device_count, make_first_cuda_state,
    cuda::make_microbenchmarks};
#else
constexpr std::shared_ptr<context_state> (*make_cuda)(int, CUstream_st*, bool) = nullptr;
constexpr backend cuda_backend{backend_kind::cuda, "cuda", processor_kind::gpu, false, true, nullptr, nullptr, nullptr};
#endif

// Not taken by itself: every plain call uploads its arrays, and the device may be a renderer in software.
#if SHEAF_HAS_OPENGL
constexpr auto make_opengl = make_opengl_state;
std::shared_ptr<context_state> make_first_opengl_state(int) { return make_opengl_state(0); }
constexpr backend opengl_backend{backend_kind::opengl,
                                 "opengl",
                                 processor_kind::pipeline,
                                 true,
                                 false,
                                 opengl_device_count,
                                 make_first_opengl_state,
                                 opengl::make_microbenchmarks};
#else
constexpr std::shared_ptr<context_state> (*make_opengl)(int) = nullptr;
constexpr backend opengl_backend{
    backend_kind::opengl, "opengl", processor_kind::pipeline, true, false, nullptr, nullptr, nullptr};
#endif

constexpr backend backend_table[] = {
    {backend_kind::cpu, "cpu", processor_kind::host_threads, true, true, one_host, make_cpu_state,
     cpu::make_microbenchmarks},
    cuda_backend,
    opengl_backend,
};

constinit const composition whole{backend_table, make_cuda, make_opengl, plan::profile_for,
                                  primitives::require_known_variant};

}  // namespace

const composition& composed() noexcept { return whole; }

}  // namespace core

namespace primitives {

std::span<const variant_tables* const> variants_of_backends() noexcept {
  static constexpr const variant_tables* table[] = {
    &reference::variants,
    &cpu::variants,
#if SHEAF_HAS_CUDA
    &cuda::variants,
#endif
#if SHEAF_HAS_OPENGL
    &opengl::variants,
#endif
  };
  return table;
}

const routing_steps& routing_steps_of(backend_kind backend) noexcept {
#if SHEAF_HAS_CUDA
  if (backend == backend_kind::cuda) return cuda::steps_of_routing;
#endif
  static_cast<void>(backend);
  return cpu::steps_of_routing;
}

const rank_steps& rank_steps_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::steps_of_rank;
#if SHEAF_HAS_CUDA
  if (backend == backend_kind::cuda) return cuda::steps_of_rank;
#endif
  throw error(error_code::internal, "this backend has no steps of systems between ranks");
}

const rank_column_steps& rank_column_steps_of(backend_kind backend) {
  if (backend == backend_kind::cpu) return cpu::steps_of_rank_columns;
#if SHEAF_HAS_CUDA
  if (backend == backend_kind::cuda) return cuda::steps_of_rank_columns;
#endif
  throw error(error_code::internal, "this backend has no steps of matrices between ranks");
}

}  // namespace primitives
}  // namespace sheaf
