#pragma once

#include "opengl/movement/sum_pixels.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::opengl {

/// What a product multiplies and writes, f32.
struct product_vectors {
  source_array x;
  result_array y;
  double alpha = 1;
  double beta = 0;
};

/// An executor whose vectors lie in host memory or in buffer objects.
class array_product : public primitives::prepared_product {
 public:
  void run(const context& ctx, const_values x, values y, double alpha, double beta) final {
    run_arrays(ctx, {x.data, y.data, alpha, beta});
  }
  /// The vectors are checked. A result in a buffer may not be there yet when this returns.
  virtual void run_arrays(const context& ctx, const product_vectors& vectors) = 0;
};

/// y = alpha sums + beta y, by one more rendering pass unless y is the sums.
void write_result(opengl_state& state, const std::vector<tile_target>& sums, const product_vectors& vectors);

/// The program of that pass, linked if this is its first use.
const program& result_program(opengl_state& state);

}  // namespace sheaf::opengl
