#pragma once

#include <type_traits>

#include <sheaf/cuda/detail/edge_function.cuh>
#include <sheaf/edge_sum.hpp>

// edge_sum by a function of the program, which its own CUDA compiler compiles (C++20, for compute capability 8.0 and
// above; relocatable device code is not needed). The program links the library and the CUDA runtime.
namespace sheaf {

namespace edge_kernels {

template <std::uint32_t ValueComponents, std::uint32_t Components, class T, class F>
detail::device_edge_function checked_function(const F& function) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "values are f32 or f64");
  static_assert(ValueComponents >= 1 && ValueComponents <= most_edge_components);
  static_assert(Components >= 1 && Components <= most_edge_components);
  static_assert(std::is_trivially_copyable_v<F>, "the function is an argument of kernels");
  return device_function<T, ValueComponents, Components>(function);
}

template <std::uint32_t ValueComponents, std::uint32_t Components, class T>
constexpr detail::device_edge_shape shape_of{sizeof(T), ValueComponents, Components};

}  // namespace edge_kernels

/// edge_sum on a CUDA context by f(first, second, weights, contribution), a function object that is callable on the
/// device. `first` and `second` point to the values of both ends, `weights` to those of the edge or is null, and f
/// writes every component of the contribution. f may not keep the pointers, and is called once or twice for each edge.
/// Called as edge_sum<3, 5, float>(...).
/// @tparam ValueComponents  of a node's value, 1 to 8.
/// @tparam Components       of a contribution and of a node's result, 1 to 8.
/// @tparam T                float or double, the type of all values.
/// @param weights           0 to 8 for each edge, those of an edge side by side.
/// @param f                 trivially copyable. A member `static constexpr bool is_antisymmetric = true` says that
///                          exchanged ends give the contribution with the other sign, bit by bit, and that one node at
///                          both ends gives 0; this saves time.
/// @throws error(bad_argument) as edge_sum in sheaf/edge_sum.hpp does, if values are not of type T, and for a context
/// that is not a CUDA context.
/// Everything else is as for that edge_sum: inputs, bad ends, determinism and synchrony.
template <std::uint32_t ValueComponents, std::uint32_t Components, class T, class F>
void edge_sum(const context& ctx, const edge_view& edges, std::type_identity_t<const_values> node_values,
              std::type_identity_t<const_values> weights, std::type_identity_t<values> result, const F& f,
              const edge_sum_options& options = {}) {
  detail::edge_sum_by(ctx, edges, node_values, weights, result,
                      edge_kernels::checked_function<ValueComponents, Components, T>(f),
                      edge_kernels::shape_of<ValueComponents, Components, T>, options);
}

/// prepared.run on a CUDA context by a function as above. Its components need not be those prepared for.
template <std::uint32_t ValueComponents, std::uint32_t Components, class T, class F>
void run_edge_sum(const prepared_edge_sum& prepared, std::type_identity_t<const_values> node_values,
                  std::type_identity_t<const_values> weights, std::type_identity_t<values> result, const F& f) {
  detail::edge_sum_by(prepared, node_values, weights, result,
                      edge_kernels::checked_function<ValueComponents, Components, T>(f),
                      edge_kernels::shape_of<ValueComponents, Components, T>);
}

}  // namespace sheaf
