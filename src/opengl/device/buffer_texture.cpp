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

void copy_to_new_buffer(GLenum target, const buffer_object& to, const source_array& from, std::uint64_t bytes) {
  if (from.buffer == 0) {
    return write_buffer(target, to, bytes, [&](std::byte* data) { std::copy_n(from.data, bytes, data); });
  }
  glBindBuffer(target, to.name());
  glBufferData(target, static_cast<GLsizeiptr>(std::max<std::uint64_t>(bytes, 1)), nullptr, GL_STREAM_DRAW);
  require_no_error(fmt::format("glBufferData of {} bytes", bytes));
  glBindBuffer(GL_COPY_READ_BUFFER, from.buffer);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, target, static_cast<GLintptr>(from.offset), 0,
                      static_cast<GLsizeiptr>(bytes));
  glBindBuffer(GL_COPY_READ_BUFFER, 0);
  require_no_error("glCopyBufferSubData");
}

}  // namespace sheaf::opengl
