#pragma once

#include "opengl/sparse/result_pixels.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::opengl {

/// An executor whose vectors lie in host memory or in buffer objects.
class array_product : public primitives::prepared_product {
 public:
  void run(const context& ctx, const_values x, values y, double alpha, double beta) final {
    run_arrays(ctx, {x.data, y.data, alpha, beta});
  }
  /// The vectors are checked. A result in a buffer may not be there yet when this returns.
  virtual void run_arrays(const context& ctx, const product_vectors& v) = 0;
};

}  // namespace sheaf::opengl
