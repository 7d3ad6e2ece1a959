#include <sheaf/cuda/detail/edge_function.cuh>

#include "cuda/edges/builtin_function.cuh"
#include "cuda/edges/functions.hpp"

namespace sheaf::cuda {
namespace {

template <std::uint32_t Components>
detail::device_edge_function kernels_of(edge_function f, unsigned char* function) noexcept {
  using builtin = builtin_edge_function<float, Components>;
  return edge_kernels::device_function<float, Components, Components>(*new (function) builtin{f});
}

}  // namespace

detail::device_edge_function f32_kernels(std::uint32_t components, edge_function f, unsigned char* function) noexcept {
  switch (components) {
    case 1: return kernels_of<1>(f, function);
    case 2: return kernels_of<2>(f, function);
    case 3: return kernels_of<3>(f, function);
    case 4: return kernels_of<4>(f, function);
    case 5: return kernels_of<5>(f, function);
    case 6: return kernels_of<6>(f, function);
    case 7: return kernels_of<7>(f, function);
    default: return kernels_of<8>(f, function);
  }
}

}  // namespace sheaf::cuda
