#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <sheaf/context.hpp>

namespace sheaf::jobs {

/// A backend that a command line can name.
struct backend {
  backend_kind kind;
  /// A context on its first device; `threads` are those of the CPU, 0 for all. @throws error(backend_unavailable)
  context (*make)(int threads);
};

/// All backends that sheaf has, built or not, the CPU first.
std::span<const backend> backends();
/// The backend of this name, or null.
const backend* backend_named(std::string_view name) noexcept;
/// Its context, or nothing where it is not built or has no device.
std::optional<context> context_if_available(const backend& of, int threads);

}  // namespace sheaf::jobs
