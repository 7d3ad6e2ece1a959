#pragma once

#include <cstdint>

#include <sheaf/cuda/detail/edge_arguments.hpp>

#include "primitives/edges/edge_sum.hpp"

namespace sheaf::cuda {

/// The kernels of a call: those of the caller's function, or of a built-in one, which lives as long as the object.
class edge_sum_kernels {
 public:
  edge_sum_kernels(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b) noexcept;
  edge_sum_kernels(const edge_sum_kernels&) = delete;
  edge_sum_kernels& operator=(const edge_sum_kernels&) = delete;

  const detail::device_edge_function* operator->() const noexcept { return &kernels_; }

 private:
  alignas(8) unsigned char function_[8];
  detail::device_edge_function kernels_;
};

/// Kernels of built-in functions of float or double; `function` takes a builtin_edge_function.
template <class Value>
detail::device_edge_function builtin_kernels(std::uint32_t components, edge_function f,
                                             unsigned char* function) noexcept;

/// The caller's arrays as kernels take them.
edge_kernels::sum_views views_of(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b) noexcept;
edge_kernels::end_arrays ends_of(const primitives::edge_sum_problem& p, const edge_view& edges) noexcept;

}  // namespace sheaf::cuda
