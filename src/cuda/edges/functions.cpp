#include "cuda/edges/functions.hpp"

namespace sheaf::cuda {

edge_sum_kernels::edge_sum_kernels(const primitives::edge_sum_problem& p,
                                   const primitives::edge_sum_buffers& b) noexcept
    : function_{},
      kernels_(b.on_device != nullptr       ? *b.on_device
               : p.value == value_type::f64 ? builtin_kernels<double>(p.components, p.function, function_)
                                            : builtin_kernels<float>(p.components, p.function, function_)) {}

edge_kernels::sum_views views_of(const primitives::edge_sum_problem& p,
                                 const primitives::edge_sum_buffers& b) noexcept {
  return {b.values, b.weights, p.weight_components, b.result};
}

edge_kernels::end_arrays ends_of(const primitives::edge_sum_problem& p, const edge_view& edges) noexcept {
  return {edges.first, edges.second, edges.stride, edges.count, p.end_limit(), bytes(p.index) == 8};
}

}  // namespace sheaf::cuda
