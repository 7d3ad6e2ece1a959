#include "opengl/device/platform.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/backends.hpp"
#include "core/forks.hpp"
#include "opengl/device/current.hpp"
#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

constexpr EGLint most_devices = 32;
constexpr std::string_view platform_call = "context::opengl";

bool names_extension(const char* extensions, std::string_view wanted) {
  std::string_view all = extensions == nullptr ? "" : extensions;
  while (!all.empty()) {
    const std::size_t end = std::min(all.find(' '), all.size());
    if (all.substr(0, end) == wanted) return true;
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  return false;
}

// libepoxy ends the process where it finds no library, so it is asked only where it will find them. Handles are kept.
bool can_load(const char* library) { return dlopen(library, RTLD_LAZY | RTLD_LOCAL) != nullptr; }

bool has_client_extension(std::string_view extension) {
  return names_extension(eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS), extension);
}

struct candidate {
  EGLDisplay display = EGL_NO_DISPLAY;
  std::string extensions;
};

std::vector<candidate> displays_of_devices() {
  std::vector<candidate> found;
  const bool enumerates =
      has_client_extension("EGL_EXT_device_enumeration") || has_client_extension("EGL_EXT_device_base");
  if (!enumerates || !has_client_extension("EGL_EXT_platform_device")) return found;
  std::array<EGLDeviceEXT, most_devices> devices{};
  EGLint count = 0;
  if (eglQueryDevicesEXT(most_devices, devices.data(), &count) == EGL_FALSE) return found;
  for (EGLint i = 0; i < count; ++i) {
    const EGLDeviceEXT device = devices[static_cast<std::size_t>(i)];
    const EGLDisplay display = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
    if (display == EGL_NO_DISPLAY) continue;
    const char* const extensions = eglQueryDeviceStringEXT(device, EGL_EXTENSIONS);
    found.push_back({display, extensions == nullptr ? "" : extensions});
  }
  return found;
}

std::vector<candidate> candidates() {
  std::vector<candidate> found = displays_of_devices();
  if (found.empty() && has_client_extension("EGL_MESA_platform_surfaceless") &&
      has_client_extension("EGL_EXT_platform_base")) {
    const EGLDisplay display = eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    if (display != EGL_NO_DISPLAY) found.push_back({display, ""});
  }
  return found;
}

// Why contexts of the display can do without a surface, or empty.
std::string missing_of(EGLDisplay display) {
  EGLint major = 0;
  EGLint minor = 0;
  if (eglInitialize(display, &major, &minor) == EGL_FALSE) {
    return fmt::format("eglInitialize says {}", name_of_egl_error(eglGetError()));
  }
  const char* extensions = eglQueryString(display, EGL_EXTENSIONS);
  if (!names_extension(extensions, "EGL_KHR_surfaceless_context")) return "has no EGL_KHR_surfaceless_context";
  if (major == 1 && minor < 5 && !names_extension(extensions, "EGL_KHR_create_context")) {
    return "has no EGL_KHR_create_context";
  }
  return "";
}

device_list find_devices() {
  device_list list;
  if (!can_load("libEGL.so.1")) return {{}, "libEGL.so.1 is not installed"};
  if (!can_load("libOpenGL.so.0") && !can_load("libGL.so.1")) {
    return {{}, "neither libOpenGL.so.0 nor libGL.so.1 is installed"};
  }
  std::vector<std::string> problems;
  for (candidate& candidate : candidates()) {
    if (std::string missing = missing_of(candidate.display); !missing.empty()) {
      problems.push_back(std::move(missing));
      continue;
    }
    try {
      const egl_context context(candidate.display);
      const current_scope current(context, platform_call);
      const auto* const text = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
      std::string renderer = text == nullptr || *text == '\0' ? "OpenGL" : text;
      list.devices.push_back({candidate.display, std::move(candidate.extensions), std::move(renderer)});
    } catch (const error& e) {
      problems.emplace_back(e.what());
    }
  }
  list.devices = hardware_first(std::move(list.devices));
  list.why_none = why_no_device(problems);
  return list;
}

std::uint32_t forks_before_first_use() noexcept {
  static const std::uint32_t forks = core::forks_so_far();
  return forks;
}

}  // namespace

std::vector<egl_device> hardware_first(std::vector<egl_device> found) {
  for (egl_device& d : found) {
    d.is_software =
        names_extension(d.extensions.c_str(), "EGL_MESA_device_software") || core::is_named_as_software(d.renderer);
  }
  std::stable_partition(found.begin(), found.end(), [](const egl_device& d) { return !d.is_software; });
  return found;
}

std::string why_no_device(std::span<const std::string> problems) {
  if (problems.empty()) return "EGL finds no device";
  const std::string prefix = fmt::format("{}: ", platform_call);
  std::string why;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    std::string_view problem = problems[i];
    if (problem.starts_with(prefix)) problem.remove_prefix(prefix.size());
    why += fmt::format("{}EGL's device {}: {}", i == 0 ? "" : "; ", i, problem);
  }
  return why;
}

bool is_child_of_a_user() noexcept { return core::forks_so_far() != forks_before_first_use(); }

const device_list& known_devices() {
  static const device_list list = find_devices();
  return list;
}

EGLContext make_context(EGLDisplay display) {
  const EGLenum previous_api = eglQueryAPI();
  if (eglBindAPI(EGL_OPENGL_API) == EGL_FALSE) {
    throw error(error_code::backend_unavailable,
                fmt::format("{}: the driver has no OpenGL, only other interfaces", platform_call));
  }
  // A context of a later version where the driver has one.
  constexpr EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,       3,
                                EGL_CONTEXT_MINOR_VERSION,       3,
                                EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT};
  std::vector<EGLint> robust(std::begin(version), std::end(version));
  robust.insert(robust.end(), {EGL_CONTEXT_OPENGL_ROBUST_ACCESS, EGL_TRUE,
                               EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY, EGL_LOSE_CONTEXT_ON_RESET, EGL_NONE});
  std::vector<EGLint> plain(std::begin(version), std::end(version));
  plain.push_back(EGL_NONE);

  // No surface will be drawn to, so a config is named only where the display wants one.
  EGLConfig config = EGL_NO_CONFIG_KHR;
  if (!names_extension(eglQueryString(display, EGL_EXTENSIONS), "EGL_KHR_no_config_context")) {
    constexpr EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
    EGLint count = 0;
    eglChooseConfig(display, wanted, &config, 1, &count);
  }
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, robust.data());
  if (context == EGL_NO_CONTEXT) context = eglCreateContext(display, config, EGL_NO_CONTEXT, plain.data());
  const EGLint problem = eglGetError();
  eglBindAPI(previous_api);
  if (context == EGL_NO_CONTEXT) {
    throw error(error_code::backend_unavailable,
                fmt::format("{}: no core context of OpenGL 3.3: eglCreateContext says {}", platform_call,
                            name_of_egl_error(problem)));
  }
  return context;
}

}  // namespace sheaf::opengl
