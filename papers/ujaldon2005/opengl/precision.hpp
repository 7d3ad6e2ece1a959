#pragma once

#include "primitives/edges/edge_sum.hpp"
#include "primitives/sparse/spmv.hpp"

// The fidelity of results by the bits of a channel (Ujaldon and Saltz 2005, section 6 and figure 3): products and sums
// over edges by points, with textures and frame buffers of 8, 16 and 32 bits. The library itself has 32 bits in both.
namespace sheaf::opengl {

/// Of a channel: 8 are a fixed-point number, 16 and 32 are floats.
enum class channel_bits : std::uint8_t { fixed8, float16, float32 };

struct pipeline_precision {
  channel_bits texture = channel_bits::float32;
  channel_bits frame_buffer = channel_bits::float32;
};

/// Errors are differences from sums in f64, divided by the largest of these.
struct precision_figures {
  double largest_error = 0;
  double mean_error = 0;  ///< the root of the mean of the squares
  double seconds = 0;     ///< of a run whose geometry and textures lie on the device: draws and readback
};

/// y = A x. All numbers are f32, and are scaled so that x is in [-1, 1] and no sum on its way is past it. A frame
/// buffer of 8 bits has no sign: its zero is 128, and negative products are subtracted by a pass of their own.
precision_figures spmv_at_precision(const context& ctx, const csr_view& a, const_values x, values y,
                                    const pipeline_precision& precision);

/// A sum over edges without weights of 1 to 4 components, scaled likewise.
precision_figures edge_sum_at_precision(const context& ctx, const edge_view& edges, const_values node_values,
                                        values result, std::uint32_t components, edge_function function,
                                        const pipeline_precision& precision);

}  // namespace sheaf::opengl
