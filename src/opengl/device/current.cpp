#include "opengl/device/current.hpp"

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "opengl/device/errors.hpp"
#include "opengl/device/platform.hpp"

namespace sheaf::opengl {

egl_context::egl_context(EGLDisplay display) : display_(display), handle_(make_context(display)) {}

egl_context::~egl_context() {
  if (handle_ != EGL_NO_CONTEXT) eglDestroyContext(display_, handle_);
}

// What eglGetCurrentContext() and its kin return depends on the interface that the thread has bound.
current_scope::current_scope(const egl_context& context, std::string_view call)
    : own_display_(context.display()), previous_api_(eglQueryAPI()) {
  eglBindAPI(EGL_OPENGL_API);
  display_ = eglGetCurrentDisplay();
  context_ = eglGetCurrentContext();
  draw_ = eglGetCurrentSurface(EGL_DRAW);
  read_ = eglGetCurrentSurface(EGL_READ);
  is_switched_ = context_ != context.handle();
  if (!is_switched_) return;
  if (eglMakeCurrent(context.display(), EGL_NO_SURFACE, EGL_NO_SURFACE, context.handle()) == EGL_TRUE) return;
  const EGLint problem = eglGetError();
  eglBindAPI(previous_api_);
  throw error(error_code::device_failure,
              fmt::format("{}: eglMakeCurrent says {}{}", call, name_of_egl_error(problem),
                          problem == EGL_BAD_ACCESS ? "; one thread uses a context at a time" : ""));
}

current_scope::~current_scope() {
  if (is_switched_ && context_ != EGL_NO_CONTEXT) {
    eglMakeCurrent(display_, draw_, read_, context_);
  } else if (is_switched_) {
    eglMakeCurrent(own_display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  }
  eglBindAPI(previous_api_);
}

}  // namespace sheaf::opengl
