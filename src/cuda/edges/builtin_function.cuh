#pragma once

#include "primitives/edges/edge_sum.hpp"

namespace sheaf::cuda {

/// Any built-in function on values of some components. The switch inside costs little beside memory, and keeps the
/// kernels few.
template <class T, std::uint32_t Components>
struct builtin_edge_function {
  static constexpr bool is_antisymmetric = true;
  edge_function function;

  __device__ void operator()(const T* first, const T* second, const T* weight, T* out) const {
    const T given_factor = weight == nullptr ? T{1} : __ldg(weight);
    T step[Components];
    T square = 0;
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) {
      step[c] = second[c] - first[c];
      square += step[c] * step[c];
    }
    T factor = given_factor;
    T inverse = 1;
    if (function == edge_function::inverse_square) {
      // Nodes at one place have a strength of 0 and a distance of 1, so that nothing is divided by 0. The product of
      // distance and square would overflow where this does not.
      const T divisor = square == 0 ? T{1} : square;
      factor = (square == 0 ? T{0} : given_factor) / divisor;
      inverse = T{1} / sqrt(divisor);
    }
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) out[c] = factor * (step[c] * inverse);
  }
};

}  // namespace sheaf::cuda
