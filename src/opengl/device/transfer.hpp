#pragma once

#include <sheaf/records.hpp>

#include "opengl/device/api.hpp"
#include "opengl/device/number_arrays.hpp"
#include "opengl/device/objects.hpp"
#include "opengl/device/tile.hpp"

// Arrays between host memory and textures, frame buffers and vertex buffers.
namespace sheaf::opengl {

/// How records lie in texels. Records of 12 bytes take texels of 16, because no frame buffer has three channels of 32
/// bits.
struct texel_format {
  GLint internal = GL_R32UI;
  GLenum format = GL_RED_INTEGER;
  GLenum type = GL_UNSIGNED_INT;
  std::uint32_t bytes = 4;
};

constexpr texel_format float_texels{GL_R32F, GL_RED, GL_FLOAT, 4};

/// Integer texels, which keep every bit, for records of 4, 8, 12 or 16 bytes.
constexpr texel_format texels_for(std::uint64_t record_bytes) {
  if (record_bytes == 4) return {};
  if (record_bytes == 8) return {GL_RG32UI, GL_RG_INTEGER, GL_UNSIGNED_INT, 8};
  return {GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT, 16};
}

/// Texels of records that lie side by side, which transfers of pixels read and write as they are: of 12 bytes the
/// driver adds a fourth channel and leaves it out.
constexpr texel_format side_by_side_texels_for(std::uint64_t record_bytes) {
  if (record_bytes == 12) return {GL_RGBA32UI, GL_RGB_INTEGER, GL_UNSIGNED_INT, 12};
  return texels_for(record_bytes);
}

/// Why no texel holds records of this width, or null.
constexpr const char* no_texel_for(std::uint64_t record_bytes) {
  const bool fits = record_bytes == 4 || record_bytes == 8 || record_bytes == 12 || record_bytes == 16;
  return fits ? nullptr : "texels hold records of 4, 8, 12 or 16 bytes";
}

/// A texture of undefined texels that is read without a filter. It is bound to GL_TEXTURE_2D of the active unit, which
/// is one that no shader reads from.
texture make_texture(const texel_format& texels, const tile& tile);
/// A texture with the tile's records of an array.
texture uploaded(const texel_format& texels, const tile& tile, const_records array);
/// A texture with the tile's records of an array in which they lie side by side and have the bytes of texels.
texture uploaded(const texel_format& texels, const tile& tile, const source_array& array);
/// Lets a texture unit read from a texture.
void bind_texture(std::uint32_t unit, const texture& texture);

/// A frame buffer over a texture: what draws write.
class draw_target {
 public:
  /// Of undefined pixels.
  draw_target(const texel_format& texels, const tile& tile);
  /// With the tile's records of an array.
  draw_target(const texel_format& texels, const tile& tile, const_records array);
  /// With those of an array in which they lie side by side and have the bytes of texels.
  draw_target(const texel_format& texels, const tile& tile, const source_array& array);

  /// Draws go here from now on.
  void bind() const;
  /// Zeroes all pixels.
  void clear() const;
  /// Copies the pixels of the tile's records into an array. Bytes between records keep their value.
  void read_back(records array) const;
  /// Likewise into an array in which records lie side by side: 1 to 4 floats, or the bytes of texels.
  void read_back(const result_array& array, std::uint64_t record_bytes) const;
  const texture& color() const noexcept { return color_; }

 private:
  draw_target(const texel_format& texels, const tile& tile, texture color);

  texel_format texels_;
  tile tile_;
  texture color_;
  frame_buffer frame_;
};

/// Fills a vertex buffer with records [first, first + count) of an array, side by side. Binds it to GL_ARRAY_BUFFER.
void fill_buffer(const buffer_object& to, const_records array, std::uint64_t first, std::uint64_t count);

/// One fragment for each pixel of the bound target. The caller has a program with pixels.vert in use.
void draw_all_pixels();

}  // namespace sheaf::opengl
