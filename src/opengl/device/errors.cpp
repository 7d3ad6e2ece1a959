#include "opengl/device/errors.hpp"

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::opengl {
namespace {

// A context that is lost may go on returning errors.
constexpr int most_errors = 32;

}  // namespace

std::string name_of_gl_error(GLenum code) {
  switch (code) {
    case GL_INVALID_ENUM: return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE: return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION: return "GL_INVALID_OPERATION";
    case GL_INVALID_FRAMEBUFFER_OPERATION: return "GL_INVALID_FRAMEBUFFER_OPERATION";
    case GL_OUT_OF_MEMORY: return "GL_OUT_OF_MEMORY";
    case GL_CONTEXT_LOST: return "GL_CONTEXT_LOST";
    default: return fmt::format("error {:#x}", code);
  }
}

std::string name_of_egl_error(EGLint code) {
  switch (code) {
    case EGL_NOT_INITIALIZED: return "EGL_NOT_INITIALIZED";
    case EGL_BAD_ACCESS: return "EGL_BAD_ACCESS";
    case EGL_BAD_ALLOC: return "EGL_BAD_ALLOC";
    case EGL_BAD_ATTRIBUTE: return "EGL_BAD_ATTRIBUTE";
    case EGL_BAD_CONFIG: return "EGL_BAD_CONFIG";
    case EGL_BAD_CONTEXT: return "EGL_BAD_CONTEXT";
    case EGL_BAD_DISPLAY: return "EGL_BAD_DISPLAY";
    case EGL_BAD_MATCH: return "EGL_BAD_MATCH";
    case EGL_BAD_PARAMETER: return "EGL_BAD_PARAMETER";
    case EGL_CONTEXT_LOST: return "EGL_CONTEXT_LOST";
    default: return fmt::format("error {:#x}", code);
  }
}

void require_no_error(std::string_view operation) {
  const GLenum first = glGetError();
  if (first == GL_NO_ERROR) return;
  forget_errors();
  throw error(first == GL_OUT_OF_MEMORY ? error_code::out_of_memory : error_code::device_failure,
              fmt::format("{}: OpenGL says {}", operation, name_of_gl_error(first)));
}

void forget_errors() noexcept {
  for (int read = 0; read < most_errors && glGetError() != GL_NO_ERROR; ++read) continue;
}

}  // namespace sheaf::opengl
