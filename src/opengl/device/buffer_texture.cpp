#include "opengl/device/buffer_texture.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {

void buffer_texture::bind(std::uint32_t unit, GLenum format) const {
  glActiveTexture(GL_TEXTURE0 + unit);
  glBindTexture(GL_TEXTURE_BUFFER, texture_.name());
  glTexBuffer(GL_TEXTURE_BUFFER, format, buffer_.name());
}

std::uint64_t buffer_texture::most_records() {
  GLint texels = 0;
  glGetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &texels);
  return static_cast<std::uint64_t>(std::max(texels, 1));
}

namespace detail {

std::byte* map_new_buffer(GLenum target, const buffer_object& to, std::uint64_t bytes) {
  const auto size = static_cast<GLsizeiptr>(std::max<std::uint64_t>(bytes, 1));
  glBindBuffer(target, to.name());
  glBufferData(target, size, nullptr, GL_STATIC_DRAW);
  require_no_error(fmt::format("glBufferData of {} bytes", bytes));
  void* const data = glMapBufferRange(target, 0, size, GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT);
  if (data == nullptr) require_no_error("glMapBufferRange");
  if (data == nullptr) {
    throw error(error_code::device_failure, fmt::format("glMapBufferRange: {} bytes were not mapped", bytes));
  }
  return static_cast<std::byte*>(data);
}

void unmap_buffer(GLenum target) {
  if (glUnmapBuffer(target) == GL_TRUE) return;
  require_no_error("glUnmapBuffer");
  throw error(error_code::device_failure, "glUnmapBuffer: the driver lost the contents of a buffer");
}

}  // namespace detail
}  // namespace sheaf::opengl
