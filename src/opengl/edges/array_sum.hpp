#pragma once

#include "opengl/edges/node_values.hpp"
#include "primitives/edges/prepare.hpp"

namespace sheaf::opengl {

/// An executor whose values, weights and results lie in host memory or in buffer objects.
class array_edges : public primitives::prepared_edges {
 public:
  void run(const context& ctx, const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b) final {
    run_arrays(ctx, p, {b.values, b.weights, b.result});
  }
  /// The arrays are checked. A result in a buffer may not be there yet when this returns.
  virtual void run_arrays(const context& ctx, const primitives::edge_sum_problem& p, const edge_arrays& b) = 0;
};

}  // namespace sheaf::opengl
