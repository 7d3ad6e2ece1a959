#pragma once

#include <cstdint>
#include <vector>

#include "opengl/movement/sum_pixels.hpp"

namespace sheaf::opengl {

/// What a product multiplies and writes, f32.
struct product_vectors {
  source_array x;
  result_array y;
  double alpha = 1;
  double beta = 0;
};

/// y = alpha sums + beta y, by one more rendering pass unless y is the sums.
void write_result(opengl_state& state, const std::vector<tile_target>& sums, const product_vectors& v);

/// The program of that pass, linked if this is its first use.
const program& result_program(opengl_state& state);

}  // namespace sheaf::opengl
