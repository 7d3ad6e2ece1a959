#include "jobs/backends.hpp"

#include <sheaf/error.hpp>

namespace sheaf::jobs {

std::span<const backend> backends() {
  static constexpr backend all[] = {
      {backend_kind::cpu, [](int threads) { return context::cpu(threads); }},
      {backend_kind::cuda, [](int) { return context::cuda(); }},
  };
  return all;
}

const backend* backend_named(std::string_view name) noexcept {
  for (const backend& b : backends()) {
    if (sheaf::name(b.kind) == name) return &b;
  }
  return nullptr;
}

std::optional<context> context_if_available(const backend& of, int threads) {
  try {
    return of.make(threads);
  } catch (const error& e) {
    if (e.code() != error_code::backend_unavailable) throw;
    return std::nullopt;
  }
}

}  // namespace sheaf::jobs
