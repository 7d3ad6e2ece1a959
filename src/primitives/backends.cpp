#include "primitives/backends.hpp"

namespace sheaf::primitives {

std::span<const backend_variants* const> all_backends() {
  static constexpr const backend_variants* all[] = {
    &reference::variants,
    &cpu::variants,
#if SHEAF_HAS_CUDA
    &cuda::variants,
#endif
#if SHEAF_HAS_OPENGL
    &opengl::variants,
#endif
  };
  return all;
}

}  // namespace sheaf::primitives
