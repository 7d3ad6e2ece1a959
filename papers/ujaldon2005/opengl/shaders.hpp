#pragma once

#include <span>

#include "opengl/shaders/sources.hpp"

namespace sheaf::opengl {

/// The files of shaders/ here, with the library's prelude.glsl in front.
std::span<const shader_source> paper_shaders() noexcept;

}  // namespace sheaf::opengl
