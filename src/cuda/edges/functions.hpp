#pragma once

#include <sheaf/cuda/detail/edge_arguments.hpp>

#include "primitives/edges/edge_sum.hpp"

namespace sheaf::cuda {

/// Kernels of built-in functions of float or double; `function` takes a builtin_edge_function.
template <class Value>
detail::device_edge_function builtin_kernels(std::uint32_t components, edge_function f,
                                             unsigned char* function) noexcept;
template <>
detail::device_edge_function builtin_kernels<float>(std::uint32_t, edge_function, unsigned char*) noexcept;
template <>
detail::device_edge_function builtin_kernels<double>(std::uint32_t, edge_function, unsigned char*) noexcept;

/// The kernels of a call: those of the caller's function, or of a built-in one, which lives as long as the object.
class edge_sum_kernels {
 public:
  edge_sum_kernels(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b) noexcept
      : function_{},
        kernels_(b.on_device != nullptr       ? *b.on_device
                 : p.value == value_type::f64 ? builtin_kernels<double>(p.components, p.function, function_)
                                              : builtin_kernels<float>(p.components, p.function, function_)) {}
  edge_sum_kernels(const edge_sum_kernels&) = delete;
  edge_sum_kernels& operator=(const edge_sum_kernels&) = delete;

  const detail::device_edge_function* operator->() const noexcept { return &kernels_; }

 private:
  alignas(8) unsigned char function_[8];
  detail::device_edge_function kernels_;
};

/// The caller's arrays as kernels take them.
inline edge_kernels::sum_views views_of(const primitives::edge_sum_problem& p,
                                        const primitives::edge_sum_buffers& b) noexcept {
  return {b.values, b.weights, p.weight_components, b.result};
}
inline edge_kernels::end_arrays ends_of(const primitives::edge_sum_problem& p, const edge_view& edges) noexcept {
  return {edges.first, edges.second, edges.stride, edges.count, p.end_limit(), bytes(p.index) == 8};
}

}  // namespace sheaf::cuda
