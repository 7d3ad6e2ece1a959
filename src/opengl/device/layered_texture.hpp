#pragma once

#include <cstdint>
#include <string_view>

#include "opengl/device/number_arrays.hpp"
#include "opengl/device/objects.hpp"
#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"

namespace sheaf::opengl {

/// Whether one texture of many layers holds so many records. Plans ask this before anything is made.
bool fits_layers(const size_limits& limits, std::uint64_t count) noexcept;

/// An array in one texture of many layers, so that a shader reaches all of it in one draw. Rows and layers are a power
/// of two long: shaders find record i by masks and shifts (layered_texel_of in prelude.glsl).
class layered_texture {
 public:
  /// Of undefined texels. @throws std::logic_error, naming `what`, unless fits_layers() holds
  layered_texture(const opengl_state& state, std::string_view what, const texel_format& texels, std::uint64_t count);

  /// Fills it with records that lie side by side and have the bytes of a texel.
  void upload(const source_array& records) const;
  /// Lets a texture unit read it, and tells the program in use: sampler `name`, `name`_width_bits, `name`_layer_bits.
  void bind(std::uint32_t unit, const program& reader, const char* name) const;
  std::uint64_t bytes() const noexcept { return count_ * texels_.bytes; }

 private:
  texel_format texels_;
  std::uint64_t count_;
  std::uint32_t width_bits_ = 0;
  std::uint32_t layer_bits_ = 0;
  texture texture_;
};

constexpr texel_format pair_texels{GL_RG32UI, GL_RG_INTEGER, GL_UNSIGNED_INT, 8};

}  // namespace sheaf::opengl
