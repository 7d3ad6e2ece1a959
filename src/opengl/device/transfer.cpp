#include "opengl/device/transfer.hpp"

#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

constexpr std::uint64_t word_bytes = 4;
constexpr GLenum transfer_unit = 15;  // the last that every fragment stage has; no shader reads from it

// Whether the driver can take the array as it lies: texels side by side, aligned to their channels.
bool is_packed(const_records array, std::uint64_t texel_bytes) {
  return array.record_bytes == texel_bytes && array.stride_bytes == texel_bytes &&
         reinterpret_cast<std::uintptr_t>(array.data) % word_bytes == 0;
}

/// A buffer of the driver's, bound and mapped into this process.
class mapped_buffer {
 public:
  mapped_buffer(GLenum target, std::uint64_t bytes, GLbitfield access) : target_(target) {
    data_ = static_cast<std::byte*>(glMapBufferRange(target, 0, static_cast<GLsizeiptr>(bytes), access));
    if (data_ == nullptr) require_no_error("glMapBufferRange");
    if (data_ == nullptr) {
      throw error(error_code::device_failure, fmt::format("glMapBufferRange: {} bytes were not mapped", bytes));
    }
  }
  mapped_buffer(const mapped_buffer&) = delete;
  mapped_buffer& operator=(const mapped_buffer&) = delete;
  ~mapped_buffer() {
    if (data_ != nullptr) glUnmapBuffer(target_);
  }
  std::byte* data() const noexcept { return data_; }
  /// The driver may have lost what was written meanwhile.
  void unmap() {
    data_ = nullptr;
    if (glUnmapBuffer(target_) == GL_TRUE) return;
    throw error(error_code::device_failure, "glUnmapBuffer: the driver lost the contents of a buffer");
  }

 private:
  GLenum target_;
  std::byte* data_;
};

// How pixels are read for records of a width. Three floats of four are what the driver reads as such: it leaves out the
// fourth on the way.
texel_format read_for(const texel_format& texels, std::uint64_t record_bytes) {
  texel_format read = texels;
  if (texels.format == GL_RGBA && texels.type == GL_FLOAT && record_bytes == 3 * sizeof(float)) {
    read.format = GL_RGB;
    read.bytes = 3 * sizeof(float);
  }
  return read;
}

// Puts records side by side, each in `slot_bytes`.
void pack(const_records array, std::uint64_t first, std::uint64_t count, std::uint64_t slot_bytes, std::byte* to) {
  const std::byte* from = array.data + first * array.stride_bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * slot_bytes, from + i * array.stride_bytes, array.record_bytes);
  }
}

void unpack(const std::byte* from, std::uint64_t slot_bytes, records array, std::uint64_t first, std::uint64_t count) {
  std::byte* to = array.data + first * array.stride_bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * array.stride_bytes, from + i * slot_bytes, array.record_bytes);
  }
}

// Calls move(y, width, height, texels before) for the rectangles of a tile's records: the full rows, and what the last
// row has.
template <class Move>
void for_each_rectangle(const tile& tile, Move move) {
  const auto width = static_cast<GLsizei>(tile.width());
  const auto full_rows = static_cast<GLsizei>(tile.count >> tile.width_bits);
  const auto rest = static_cast<GLsizei>(tile.count & (tile.width() - 1));
  if (full_rows > 0) move(GLint{0}, width, full_rows, std::uint64_t{0});
  if (rest > 0) move(GLint{full_rows}, rest, GLsizei{1}, tile.count - static_cast<std::uint64_t>(rest));
}

// What OpenGL takes as a pointer: an address, or with null an offset in the pixel buffer that is bound.
void* address_or_offset(const std::byte* data, std::uint64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) + bytes);  // NOLINT(performance-no-int-to-ptr)
}

void write_texels(const texel_format& texels, const tile& t, const std::byte* from) {
  for_each_rectangle(t, [&](GLint y, GLsizei width, GLsizei height, std::uint64_t before) {
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, y, width, height, texels.format, texels.type,
                    address_or_offset(from, before * texels.bytes));
  });
  require_no_error("glTexSubImage2D");
}

void read_pixels(const texel_format& texels, const tile& t, std::byte* to) {
  for_each_rectangle(t, [&](GLint y, GLsizei width, GLsizei height, std::uint64_t before) {
    glReadPixels(0, y, width, height, texels.format, texels.type, address_or_offset(to, before * texels.bytes));
  });
  require_no_error("glReadPixels");
}

}  // namespace

texture make_texture(const texel_format& texels, const tile& tile) {
  texture made;
  glActiveTexture(GL_TEXTURE0 + transfer_unit);
  glBindTexture(GL_TEXTURE_2D, made.name());
  for (const GLenum filter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER}) {
    glTexParameteri(GL_TEXTURE_2D, filter, GL_NEAREST);
  }
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, texels.internal, static_cast<GLsizei>(tile.width()), static_cast<GLsizei>(tile.height),
               0, texels.format, texels.type, nullptr);
  require_no_error(fmt::format("glTexImage2D of {} x {} texels of {} bytes", tile.width(), tile.height, texels.bytes));
  return made;
}

texture uploaded(const texel_format& texels, const tile& tile, const_records array) {
  texture made = make_texture(texels, tile);
  if (is_packed(array, texels.bytes)) {
    write_texels(texels, tile, array.data + tile.first * texels.bytes);
    return made;
  }
  const buffer_object staging;
  const std::uint64_t bytes = tile.count * texels.bytes;
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, staging.name());
  glBufferData(GL_PIXEL_UNPACK_BUFFER, static_cast<GLsizeiptr>(bytes), nullptr, GL_STREAM_DRAW);
  require_no_error(fmt::format("glBufferData of {} bytes", bytes));
  mapped_buffer mapped(GL_PIXEL_UNPACK_BUFFER, bytes, GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT);
  pack(array, tile.first, tile.count, texels.bytes, mapped.data());
  mapped.unmap();
  write_texels(texels, tile, nullptr);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return made;
}

texture uploaded(const texel_format& texels, const tile& t, const source_array& array) {
  texture made = make_texture(texels, t);
  const unpack_scope from(array);
  write_texels(texels, t, from.data() + t.first * texels.bytes);
  return made;
}

void bind_texture(std::uint32_t unit, const texture& t) {
  glActiveTexture(GL_TEXTURE0 + unit);
  glBindTexture(GL_TEXTURE_2D, t.name());
}

draw_target::draw_target(const texel_format& texels, const tile& t, texture color)
    : texels_(texels), tile_(t), color_(std::move(color)) {
  glBindFramebuffer(GL_FRAMEBUFFER, frame_.name());
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, color_.name(), 0);
  const GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
  require_no_error("glFramebufferTexture2D");
  if (status != GL_FRAMEBUFFER_COMPLETE) {
    throw error(error_code::device_failure,
                fmt::format("glCheckFramebufferStatus: pixels of {} bytes cannot be drawn to here, status {:#x}",
                            texels.bytes, status));
  }
}

draw_target::draw_target(const texel_format& texels, const tile& t) : draw_target(texels, t, make_texture(texels, t)) {}
draw_target::draw_target(const texel_format& texels, const tile& t, const_records array)
    : draw_target(texels, t, uploaded(texels, t, array)) {}
draw_target::draw_target(const texel_format& texels, const tile& t, const source_array& array)
    : draw_target(texels, t, uploaded(texels, t, array)) {}

void draw_target::bind() const {
  glBindFramebuffer(GL_FRAMEBUFFER, frame_.name());
  glViewport(0, 0, static_cast<GLsizei>(tile_.width()), static_cast<GLsizei>(tile_.height));
}

void draw_target::clear() const {
  bind();
  if (texels_.type == GL_FLOAT) {
    constexpr GLfloat zero[4] = {};
    glClearBufferfv(GL_COLOR, 0, zero);
  } else {
    constexpr GLuint zero[4] = {};
    glClearBufferuiv(GL_COLOR, 0, zero);
  }
}

void draw_target::read_back(records array) const {
  glBindFramebuffer(GL_FRAMEBUFFER, frame_.name());
  const texel_format read = read_for(texels_, array.record_bytes);
  if (is_packed(array, read.bytes)) {
    read_pixels(read, tile_, array.data + tile_.first * read.bytes);
    return;
  }
  const buffer_object staging;
  const std::uint64_t bytes = tile_.count * texels_.bytes;
  glBindBuffer(GL_PIXEL_PACK_BUFFER, staging.name());
  glBufferData(GL_PIXEL_PACK_BUFFER, static_cast<GLsizeiptr>(bytes), nullptr, GL_STREAM_READ);
  require_no_error(fmt::format("glBufferData of {} bytes", bytes));
  read_pixels(texels_, tile_, nullptr);
  {
    const mapped_buffer mapped(GL_PIXEL_PACK_BUFFER, bytes, GL_MAP_READ_BIT);
    unpack(mapped.data(), texels_.bytes, array, tile_.first, tile_.count);
  }
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

void draw_target::read_back(const result_array& array, std::uint64_t record_bytes) const {
  if (array.buffer == 0) return read_back(records(array.data, tile_.first + tile_.count, record_bytes));
  glBindFramebuffer(GL_FRAMEBUFFER, frame_.name());
  glBindBuffer(GL_PIXEL_PACK_BUFFER, array.buffer);
  read_pixels(read_for(texels_, record_bytes), tile_,
              static_cast<std::byte*>(address_or_offset(nullptr, array.offset + tile_.first * record_bytes)));
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

void fill_buffer(const buffer_object& to, const_records array, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t bytes = count * array.record_bytes;
  const bool in_place = array.stride_bytes == array.record_bytes;
  glBindBuffer(GL_ARRAY_BUFFER, to.name());
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(bytes),
               in_place ? array.data + first * array.record_bytes : nullptr, GL_STREAM_DRAW);
  require_no_error(fmt::format("glBufferData of {} bytes", bytes));
  if (in_place || bytes == 0) return;
  mapped_buffer mapped(GL_ARRAY_BUFFER, bytes, GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT);
  pack(array, first, count, array.record_bytes, mapped.data());
  mapped.unmap();
}

void draw_all_pixels() {
  const vertex_array no_attributes;
  glBindVertexArray(no_attributes.name());
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glBindVertexArray(0);
}

}  // namespace sheaf::opengl
