#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <sheaf/scatter_reduce.hpp>

// Reductions of values that stay on the device (Ujaldon and Saltz 2005, section 7): in one rendering pass, by blending,
// beside the rendering passes of Kruger and Westermann, whose number grows with the logarithm of the values.
namespace sheaf::opengl {

enum class reduction_form : std::uint8_t {
  one_pass,    ///< values are points that blend at their slot's pixel
  log_passes,  ///< a pass combines four values that lie side by side in a texture, whose slots have equal room
};

/// slot s = values[offsets[s]] op values[offsets[s] + 1] op ..., of offsets[s + 1] - offsets[s] values; the operation's
/// identity (0, or an infinity) where there are none. Values are f32; NaNs are no values.
class kept_reduction {
 public:
  /// @param offsets  one more than there are slots: ascending, from 0 to the number of values
  /// @throws error(bad_argument) if they are not, if the operation is not add, min or max, or if one texture does not
  /// hold all slots with room for the longest one
  kept_reduction(const context& ctx, std::span<const float> values, std::span<const std::uint64_t> offsets,
                 reduction op, reduction_form form);
  ~kept_reduction();
  kept_reduction(const kept_reduction&) = delete;
  kept_reduction& operator=(const kept_reduction&) = delete;

  /// Rendering passes of a draw, for each texture that the slots take.
  std::uint64_t passes() const;
  /// Reduces all slots, and returns when the device has done it.
  void draw() const;
  /// Copies what the last draw made. @throws error(bad_argument) unless there is room for each slot
  void read_back(std::span<float> slots) const;

 private:
  struct kept;

  std::unique_ptr<kept> kept_;
};

}  // namespace sheaf::opengl
