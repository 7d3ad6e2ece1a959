#include "opengl/device/textures.hpp"

#include <algorithm>
#include <bit>

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

buffer copy_on_host(const context& ctx, std::string_view call, const source_array& from, std::uint64_t bytes,
                    bool is_read) {
  buffer copy(ctx, std::max<std::uint64_t>(1, bytes));
  if (bytes == 0 || !is_read) return copy;
  pipeline_call running(state_of(ctx), call);
  read_array(from, bytes, copy.data());
  running.finish();
  return copy;
}

void copy_from_host(const context& ctx, std::string_view call, const buffer& from, std::uint64_t bytes,
                    const result_array& to) {
  if (bytes == 0) return;
  pipeline_call running(state_of(ctx), call);
  const buffer_object on_device;
  copy_to_new_buffer(GL_COPY_WRITE_BUFFER, on_device, from.data(), bytes);
  copy_to_array({on_device.name(), 0}, bytes, to);
  running.finish();
}

namespace {

constexpr GLenum layered_transfer_unit = 14;  // no shader reads from it

// Of the sides of a layer, which are powers of two.
std::uint32_t side_bits_of(const size_limits& limits) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(limits.texture_edge) - 1);
}

}  // namespace

bool fits_layers(const size_limits& limits, std::uint64_t count) noexcept {
  return count <= std::uint64_t{limits.texture_layers} << (2 * side_bits_of(limits));
}

layered_texture::layered_texture(const opengl_state& state, std::string_view what, const texel_format& texels,
                                 std::uint64_t count)
    : texels_(texels), count_(count) {
  // The layers of a large array are squares with the longest sides that there are.
  const std::uint32_t side_bits = side_bits_of(state.limits());
  const auto bits = static_cast<std::uint32_t>(std::bit_width(count <= 1 ? 0 : count - 1));
  width_bits_ = std::min(side_bits, (bits + 1) / 2);
  const std::uint64_t rows = std::max<std::uint64_t>(1, (count + (std::uint64_t{1} << width_bits_) - 1) >> width_bits_);
  layer_bits_ = width_bits_ + side_bits;
  const std::uint64_t layers = (rows + (std::uint64_t{1} << side_bits) - 1) >> side_bits;
  if (!fits_layers(state.limits(), count)) {
    throw std::logic_error(fmt::format("{}: {} records, as planned, take {} layers of a texture, more than {}", what,
                                       count, layers, state.limits().texture_layers));
  }
  const auto height = std::min<std::uint64_t>(rows, std::uint64_t{1} << side_bits);
  glActiveTexture(GL_TEXTURE0 + layered_transfer_unit);
  glBindTexture(GL_TEXTURE_2D_ARRAY, texture_.name());
  for (const GLenum filter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER}) {
    glTexParameteri(GL_TEXTURE_2D_ARRAY, filter, GL_NEAREST);
  }
  glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, texels_.internal, GLsizei{1} << width_bits_, static_cast<GLsizei>(height),
               static_cast<GLsizei>(layers), 0, texels_.format, texels_.type, nullptr);
  require_no_error(fmt::format("glTexImage3D of {} records of {} bytes", count, texels_.bytes));
}

void layered_texture::upload(const source_array& records) const {
  const unpack_scope from(records);
  glActiveTexture(GL_TEXTURE0 + layered_transfer_unit);
  glBindTexture(GL_TEXTURE_2D_ARRAY, texture_.name());
  // Whole layers at once, whole rows of the last one, and what its last row has.
  std::uint64_t done = 0;
  const auto write = [&](GLsizei width, std::uint64_t height, std::uint64_t layers) {
    const std::uint64_t layer = done >> layer_bits_;
    const std::uint64_t row = (done & ((std::uint64_t{1} << layer_bits_) - 1)) >> width_bits_;
    glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, static_cast<GLint>(row), static_cast<GLint>(layer), width,
                    static_cast<GLsizei>(height), static_cast<GLsizei>(layers), texels_.format, texels_.type,
                    from.data() + done * texels_.bytes);
    done += static_cast<std::uint64_t>(width) * height * layers;
  };
  const GLsizei width = GLsizei{1} << width_bits_;
  const std::uint64_t layers = count_ >> layer_bits_;
  if (layers > 0) write(width, std::uint64_t{1} << (layer_bits_ - width_bits_), layers);
  if (const std::uint64_t rows = (count_ - done) >> width_bits_; rows > 0) write(width, rows, 1);
  if (done < count_) write(static_cast<GLsizei>(count_ - done), 1, 1);
  require_no_error("glTexSubImage3D");
}

void layered_texture::bind(std::uint32_t unit, const program& reader, const char* name) const {
  glActiveTexture(GL_TEXTURE0 + unit);
  glBindTexture(GL_TEXTURE_2D_ARRAY, texture_.name());
  const std::string sampler = name;
  reader.set_unit(name, static_cast<std::int32_t>(unit));
  reader.set((sampler + "_width_bits").c_str(), width_bits_);
  reader.set((sampler + "_layer_bits").c_str(), layer_bits_);
}

}  // namespace sheaf::opengl
