#pragma once

#include "papers/ujaldon2005/opengl/expected_sums.hpp"

// The fidelity of results by the bits of a channel (Ujaldon and Saltz 2005, section 6 and figure 3): products and sums
// over edges by points, with textures and frame buffers of 8, 16 and 32 bits. The library itself has 32 bits in both.
// Every sum is held to the bound of its error (error_bounds.cpp).
namespace sheaf::opengl {

constexpr int most_precision_runs = 4;

/// y = A x. All numbers are f32, and are scaled so that x is in [-1, 1] and no sum on its way is past it. A frame
/// buffer of 8 bits has no sign: its zero is 128, and negative products are subtracted by a pass of their own.
/// @param runs  of which the fastest is timed
precision_figures spmv_at_precision(const context& ctx, const csr_view& a, const_values x, values y,
                                    const pipeline_precision& precision, int runs = most_precision_runs);

/// A sum over edges without weights of 1 to 4 components, scaled likewise.
precision_figures edge_sum_at_precision(const context& ctx, const edge_view& edges, const_values node_values,
                                        values result, std::uint32_t components, edge_function function,
                                        const pipeline_precision& precision, int runs = most_precision_runs);

}  // namespace sheaf::opengl
