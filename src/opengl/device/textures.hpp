#pragma once

#include "opengl/device/number_arrays.hpp"
#include "opengl/device/objects.hpp"
#include "opengl/device/program.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"

namespace sheaf::opengl {

/// A buffer that shaders read as a texture of one row, of size_limits::buffer_texels records at most.
class buffer_texture {
 public:
  /// Lets a texture unit read the buffer, which has records of the format.
  void bind(std::uint32_t unit, GLenum format) const;
  const buffer_object& buffer() const noexcept { return buffer_; }

 private:
  buffer_object buffer_;
  texture texture_;
};

namespace detail {

std::byte* map_new_buffer(GLenum target, const buffer_object& to, std::uint64_t bytes);
void unmap_buffer(GLenum target);

}  // namespace detail

/// Makes a buffer of so many bytes, bound to `target`, and lets write(std::byte*) fill it. @throws error(out_of_memory)
/// or error(device_failure)
template <class Write>
void write_buffer(GLenum target, const buffer_object& to, std::uint64_t bytes, Write write) {
  write(detail::map_new_buffer(target, to, bytes));
  detail::unmap_buffer(target);
}

/// Makes a buffer of so many bytes, bound to `target`, with those of an array.
void copy_to_new_buffer(GLenum target, const buffer_object& to, const source_array& from, std::uint64_t bytes);

/// Host memory for an array in a buffer, for executors that take no other, and the array's bytes unless it `is_read`
/// nowhere.
buffer copy_on_host(const context& ctx, std::string_view call, const source_array& from, std::uint64_t bytes,
                    bool is_read = true);
/// Brings them back.
void copy_from_host(const context& ctx, std::string_view call, const buffer& from, std::uint64_t bytes,
                    const result_array& to);

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
