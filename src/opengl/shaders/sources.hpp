#pragma once

#include <span>
#include <string_view>

namespace sheaf::opengl {

/// A file of this folder, or one that a program brings along, with prelude.glsl in front. Its ending says the stage:
/// vert, geom or frag.
struct shader_source {
  std::string_view file;
  std::string_view text;
};

std::span<const shader_source> shader_sources() noexcept;

}  // namespace sheaf::opengl
