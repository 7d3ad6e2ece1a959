#pragma once

#include <cstddef>
#include <cstdint>

#include "opengl/device/number_arrays.hpp"
#include "opengl/device/objects.hpp"

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

}  // namespace sheaf::opengl
