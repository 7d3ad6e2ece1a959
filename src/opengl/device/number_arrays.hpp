#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opengl/device/api.hpp"

// Where a call's numbers lie: in host memory, or in buffer objects of the caller's.
namespace sheaf {
struct opengl_buffer;  // in sheaf/interop/opengl.hpp
}

namespace sheaf::opengl {

/// Numbers to read, side by side, at an address or in a buffer object.
struct source_array {
  const std::byte* data = nullptr;  ///< null in a buffer
  GLuint buffer = 0;                ///< 0: host memory
  std::uint64_t offset = 0;         ///< of the first number in the buffer, in bytes

  source_array() = default;
  source_array(const void* address) : data(static_cast<const std::byte*>(address)) {}
  source_array(GLuint name, std::uint64_t first_byte) : buffer(name), offset(first_byte) {}

  bool exists() const noexcept { return data != nullptr || buffer != 0; }
};

/// Numbers to write; see source_array.
struct result_array {
  std::byte* data = nullptr;
  GLuint buffer = 0;
  std::uint64_t offset = 0;

  result_array() = default;
  result_array(void* address) : data(static_cast<std::byte*>(address)) {}
  result_array(GLuint name, std::uint64_t first_byte) : buffer(name), offset(first_byte) {}

  operator source_array() const noexcept { return buffer == 0 ? source_array(data) : source_array(buffer, offset); }
};

/// While it lives, transfers of pixels read from an array: what OpenGL takes as their pointer is an address, or an
/// offset in the buffer that is bound.
class unpack_scope {
 public:
  explicit unpack_scope(const source_array& from) : from_(from) { glBindBuffer(GL_PIXEL_UNPACK_BUFFER, from.buffer); }
  unpack_scope(const unpack_scope&) = delete;
  unpack_scope& operator=(const unpack_scope&) = delete;
  ~unpack_scope() { glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0); }

  /// The array's first number.
  const std::byte* data() const noexcept {
    if (from_.buffer == 0) return from_.data;
    return reinterpret_cast<const std::byte*>(from_.offset);  // NOLINT(performance-no-int-to-ptr)
  }

 private:
  source_array from_;
};

/// The caller's numbers in a buffer of the current context. Of `bytes` 0 the buffer need not exist.
/// @throws error(bad_argument), naming `call`, `what` and the buffer, unless it is one of the context, is not mapped,
/// and has as many bytes from the offset on, which is a multiple of 4
result_array require_buffer(std::string_view call, std::string_view what, const opengl_buffer& b, std::uint64_t bytes);
/// @throws error(bad_argument) if parts of buffers have a byte in common
void require_apart(std::string_view call, std::string_view what, const opengl_buffer& b, std::uint64_t bytes,
                   std::string_view other_what, const opengl_buffer& other, std::uint64_t other_bytes);

/// Copies a buffer's bytes to host memory.
void read_array(const source_array& from, std::uint64_t bytes, void* to);
/// Copies bytes of the library's own buffer to an array in a buffer. Buffers of any usage take copies.
void copy_to_array(const source_array& own, std::uint64_t bytes, const result_array& to);

}  // namespace sheaf::opengl
