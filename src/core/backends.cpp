#include "core/backends.hpp"

#include <algorithm>

#include "core/composition.hpp"

namespace sheaf::core {

std::span<const backend> backends() noexcept { return composed().backends; }

backend_kind best_backend() noexcept {
  const std::span<const backend> all = backends();
  return std::find_if(all.rbegin(), all.rend(), [](const backend& b) { return b.is_taken_by_itself && b.has_device(); })
      ->kind;
}

const backend& backend_of(backend_kind kind) noexcept {
  const std::span<const backend> all = backends();
  return *std::ranges::find(all, kind, &backend::kind);
}

std::optional<backend_kind> backend_named(std::string_view name) noexcept {
  const std::span<const backend> all = backends();
  const auto found = std::ranges::find(all, name, &backend::name);
  return found == all.end() ? std::nullopt : std::optional(found->kind);
}

bool is_named_as_software(std::string_view renderer) noexcept {
  constexpr std::string_view names[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader", "Software"};
  return std::ranges::any_of(names,
                             [&](std::string_view name) { return renderer.find(name) != std::string_view::npos; });
}

}  // namespace sheaf::core
