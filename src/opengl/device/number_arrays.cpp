#include "opengl/device/number_arrays.hpp"

#include <sheaf/interop/opengl.hpp>

#include "opengl/device/errors.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

// Calls of OpenGL fail on buffers that are mapped, but for those that may stay so (OpenGL 4.4).
bool is_mapped(GLenum target) {
  GLint mapped = GL_FALSE;
  GLint access = 0;
  glGetBufferParameteriv(target, GL_BUFFER_MAPPED, &mapped);
  glGetBufferParameteriv(target, GL_BUFFER_ACCESS_FLAGS, &access);
  return mapped == GL_TRUE && (access & GL_MAP_PERSISTENT_BIT) == 0;
}

}  // namespace

result_array require_buffer(std::string_view call, std::string_view what, const opengl_buffer& buffer,
                            std::uint64_t bytes) {
  using primitives::refuse;
  if (bytes == 0) return {buffer.name, buffer.offset_bytes};
  if (buffer.name == 0 || glIsBuffer(buffer.name) == GL_FALSE) {
    refuse("{}: {} is in buffer {}, which belongs neither to this OpenGL context nor to one that shares its objects",
           call, what, buffer.name);
  }
  if (buffer.offset_bytes % sizeof(float) != 0) {
    refuse("{}: {} begins at byte {} of buffer {}, not at a multiple of 4", call, what, buffer.offset_bytes,
           buffer.name);
  }
  GLint64 size = 0;
  glBindBuffer(GL_COPY_READ_BUFFER, buffer.name);
  glGetBufferParameteri64v(GL_COPY_READ_BUFFER, GL_BUFFER_SIZE, &size);
  const bool mapped = is_mapped(GL_COPY_READ_BUFFER);
  glBindBuffer(GL_COPY_READ_BUFFER, 0);
  require_no_error(call);
  const auto has = static_cast<std::uint64_t>(size);
  if (buffer.offset_bytes > has || has - buffer.offset_bytes < bytes) {
    refuse("{}: {} takes {} bytes from byte {} on, but buffer {} has {}", call, what, bytes, buffer.offset_bytes,
           buffer.name, has);
  }
  if (mapped) refuse("{}: {} is in buffer {}, which is mapped", call, what, buffer.name);
  return {buffer.name, buffer.offset_bytes};
}

void require_apart(std::string_view call, std::string_view what, const opengl_buffer& buffer, std::uint64_t bytes,
                   std::string_view other_what, const opengl_buffer& other, std::uint64_t other_bytes) {
  if (buffer.name != other.name || bytes == 0 || other_bytes == 0) return;
  // Both lie in the buffer, so no sum overflows.
  if (buffer.offset_bytes < other.offset_bytes + other_bytes && other.offset_bytes < buffer.offset_bytes + bytes) {
    primitives::refuse("{}: {} overlaps {} in buffer {}", call, what, other_what, buffer.name);
  }
}

void read_array(const source_array& from, std::uint64_t bytes, void* to) {
  glBindBuffer(GL_COPY_READ_BUFFER, from.buffer);
  glGetBufferSubData(GL_COPY_READ_BUFFER, static_cast<GLintptr>(from.offset), static_cast<GLsizeiptr>(bytes), to);
  glBindBuffer(GL_COPY_READ_BUFFER, 0);
  require_no_error("glGetBufferSubData");
}

void copy_to_array(const source_array& own, std::uint64_t bytes, const result_array& to) {
  glBindBuffer(GL_COPY_READ_BUFFER, own.buffer);
  glBindBuffer(GL_COPY_WRITE_BUFFER, to.buffer);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, static_cast<GLintptr>(own.offset),
                      static_cast<GLintptr>(to.offset), static_cast<GLsizeiptr>(bytes));
  glBindBuffer(GL_COPY_READ_BUFFER, 0);
  glBindBuffer(GL_COPY_WRITE_BUFFER, 0);
  require_no_error("glCopyBufferSubData");
}

}  // namespace sheaf::opengl
