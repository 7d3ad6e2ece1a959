#pragma once

#include <string>
#include <string_view>

#include "opengl/device/api.hpp"

namespace sheaf::opengl {

/// "GL_OUT_OF_MEMORY", or the number of an error without a name.
std::string name_of_gl_error(GLenum code);
/// "EGL_BAD_ACCESS", or the number of an error without a name.
std::string name_of_egl_error(EGLint code);

/// Reads all errors of the current OpenGL context. @throws error(out_of_memory) or error(device_failure) for the first,
/// with a message that begins with `operation`
void require_no_error(std::string_view operation);
/// Reads all errors and forgets them.
void forget_errors() noexcept;

}  // namespace sheaf::opengl
