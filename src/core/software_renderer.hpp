#pragma once

#include <algorithm>
#include <string_view>

namespace sheaf::core {

/// Whether OpenGL names a renderer as software, which takes the place of a device whose driver is missing.
inline bool is_named_as_software(std::string_view renderer) noexcept {
  constexpr std::string_view names[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader", "Software"};
  return std::ranges::any_of(names,
                             [&](std::string_view name) { return renderer.find(name) != std::string_view::npos; });
}

}  // namespace sheaf::core
