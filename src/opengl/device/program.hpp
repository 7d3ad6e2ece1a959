#pragma once

#include <cstdint>

#include "opengl/device/api.hpp"
#include "opengl/shaders/sources.hpp"

namespace sheaf::opengl {

/// The files of shaders/ that a program is linked of; no geometry stage where its name is empty. Whoever has shaders of
/// its own brings them along; they are looked through first.
struct program_files {
  std::string_view vertex;
  std::string_view geometry;
  std::string_view fragment;
  std::span<const shader_source> (*brought)() noexcept = nullptr;

  friend bool operator==(const program_files&, const program_files&) = default;
};

/// A shader, compiled; the caller deletes it. @throws error(device_failure) with the compiler's log
GLuint compiled_shader(const shader_source& source);

/// A linked program, by its name. It lives as long as its context, which deletes it.
class program {
 public:
  /// @throws error(device_failure) with the log of the compiler or linker
  explicit program(const program_files& files);

  void use() const;
  // Values of uniforms of the program that is in use. A name that the linker has left out is not an error.
  void set(const char* uniform, std::uint32_t value) const;
  void set(const char* uniform, std::int32_t value) const;
  void set(const char* uniform, float x, float y) const;
  /// Reads the sampler from a texture unit.
  void set_unit(const char* sampler, std::int32_t unit) const { set(sampler, unit); }

 private:
  GLuint name_;
};

}  // namespace sheaf::opengl
