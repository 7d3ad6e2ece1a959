#pragma once

#include <string_view>
#include <utility>

#include "opengl/device/api.hpp"

namespace sheaf::opengl {

/// An OpenGL context of a display, destroyed with its owner.
class egl_context {
 public:
  explicit egl_context(EGLDisplay display);
  egl_context(egl_context&& other) noexcept
      : display_(other.display_), handle_(std::exchange(other.handle_, EGL_NO_CONTEXT)) {}
  egl_context& operator=(egl_context&&) = delete;
  ~egl_context();

  EGLDisplay display() const noexcept { return display_; }
  EGLContext handle() const noexcept { return handle_; }
  /// Leaves the context as it is: in a child of a process, what the driver keeps is the parent's.
  void abandon() noexcept { handle_ = EGL_NO_CONTEXT; }

 private:
  EGLDisplay display_;
  EGLContext handle_;
};

/// Makes a context current on this thread until the end of the scope, and then what was current before. Between scopes
/// no thread holds the context, so threads may take turns.
class current_scope {
 public:
  /// @throws error(device_failure), naming `call`, where the context cannot be made current
  current_scope(const egl_context& context, std::string_view call);
  ~current_scope();
  current_scope(const current_scope&) = delete;
  current_scope& operator=(const current_scope&) = delete;

 private:
  EGLDisplay own_display_;
  EGLenum previous_api_;
  EGLDisplay display_;
  EGLContext context_;
  EGLSurface draw_;
  EGLSurface read_;
  bool is_switched_;
};

}  // namespace sheaf::opengl
