#include "core/backends.hpp"

#include <algorithm>
#include <iterator>

#include "core/context_state.hpp"

namespace sheaf {

namespace core {
namespace {

int one_host() noexcept { return 1; }

#if SHEAF_HAS_CUDA
std::shared_ptr<context_state> make_first_cuda_state(int) { return make_cuda_state(0, nullptr, true); }
constexpr backend cuda_backend{
    backend_kind::cuda,    "cuda",          processor_kind::gpu, false, true, cuda_device_count,
    make_first_cuda_state, cuda::make_probe};
#else
constexpr backend cuda_backend{backend_kind::cuda, "cuda", processor_kind::gpu, false, true, nullptr, nullptr, nullptr};
#endif

// Not taken by itself: every plain call uploads its arrays, and the device may be a renderer in software.
#if SHEAF_HAS_OPENGL
std::shared_ptr<context_state> make_first_opengl_state(int) { return make_opengl_state(0); }
constexpr backend opengl_backend{
    backend_kind::opengl,    "opengl",          processor_kind::pipeline, true, false, opengl_device_count,
    make_first_opengl_state, opengl::make_probe};
#else
constexpr backend opengl_backend{
    backend_kind::opengl, "opengl", processor_kind::pipeline, true, false, nullptr, nullptr, nullptr};
#endif

constexpr backend table[] = {
    {backend_kind::cpu, "cpu", processor_kind::host_threads, true, true, one_host, make_cpu_state, cpu::make_probe},
    cuda_backend,
    opengl_backend,
};

}  // namespace

std::span<const backend> backends() noexcept { return table; }

backend_kind best_backend() noexcept {
  const std::span<const backend> all = table;
  return std::find_if(all.rbegin(), all.rend(), [](const backend& b) { return b.is_taken_by_itself && b.has_device(); })
      ->kind;
}

const backend& backend_of(backend_kind kind) noexcept {
  return *std::find_if(std::begin(table), std::end(table), [&](const backend& b) { return b.kind == kind; });
}

std::optional<backend_kind> backend_named(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const backend& b) { return b.name == name; });
  return found == std::end(table) ? std::nullopt : std::optional(found->kind);
}

}  // namespace core
}  // namespace sheaf
