#pragma once

#include "opengl/device/number_arrays.hpp"
#include "primitives/movement/prepare.hpp"

namespace sheaf::opengl {

/// An executor whose records lie in host memory or, side by side, in buffer objects.
class array_movement : public primitives::prepared_movement {
 public:
  /// The buffers are checked. A result may not be there yet when this returns.
  virtual void run_buffers(const context& ctx, const source_array& from, const result_array& to) = 0;
};

}  // namespace sheaf::opengl
