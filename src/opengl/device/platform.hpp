#pragma once

#include <span>
#include <string>
#include <vector>

#include "opengl/device/api.hpp"

namespace sheaf::opengl {

/// A device on which EGL makes OpenGL contexts without a window. Displays are shared by all of a process, so they are
/// initialised once and never terminated.
struct egl_device {
  EGLDisplay display = EGL_NO_DISPLAY;
  std::string renderer;  ///< as OpenGL names it
  bool is_software = false;
};

struct device_list {
  std::vector<egl_device> devices;  ///< hardware first
  std::string why_none;             ///< where there is none
};

/// The devices of this machine. Looks for them once in a process.
const device_list& known_devices();
/// Whether this process was forked from one that had looked for devices. Drivers work in the parent only.
bool is_child_of_a_user() noexcept;

/// A core context of OpenGL 3.3 or later, robust where the display makes such. @throws error(backend_unavailable)
EGLContext make_context(EGLDisplay display);

}  // namespace sheaf::opengl
