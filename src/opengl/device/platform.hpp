#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opengl/device/api.hpp"

namespace sheaf::opengl {

/// A device on which EGL makes OpenGL contexts without a window. Displays are shared by all of a process, so they are
/// initialised once and never terminated.
struct egl_device {
  EGLDisplay display = EGL_NO_DISPLAY;
  std::string extensions;    ///< that EGL says the device has, with spaces between them
  std::string renderer;      ///< as OpenGL names it
  bool is_software = false;  ///< by the two above
};

/// The devices in the order of their numbers: hardware first, renderers in software last, and either in the order of
/// the list. Says of each whether it is software.
std::vector<egl_device> hardware_first(std::vector<egl_device> found);

/// Why there is no device, by what was wrong with each that EGL lists. Messages of context::opengl stand without its
/// name, which the error that quotes this begins with.
std::string why_no_device(std::span<const std::string> problems);

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
