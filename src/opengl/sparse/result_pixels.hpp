#pragma once

#include <cstdint>
#include <vector>

#include "opengl/movement/sum_pixels.hpp"

namespace sheaf::opengl {

/// What a product multiplies and writes, f32 in host memory.
struct product_vectors {
  const void* x = nullptr;
  void* y = nullptr;
  double alpha = 1;
  double beta = 0;
};

/// y = alpha sums + beta y, by one more rendering pass unless y is the sums.
void write_result(opengl_state& state, const std::vector<tile_target>& sums, std::uint64_t count,
                  const product_vectors& v);

}  // namespace sheaf::opengl
