#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/command.hpp"
#include "core/backends.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

namespace sheaf::cli {

/// Whether a backend has a variant of conjugate gradient.
inline bool solves_systems(backend_kind kind) {
  const auto variants = primitives::conjugate_gradient_variants();
  return std::any_of(variants.begin(), variants.end(), [&](const auto& v) { return v.works_on(kind); });
}

/// The context of a command that solves systems. --backend auto takes the CPU where a device's backend has no variant
/// of conjugate gradient. @throws error(no_variant) saying what to take instead, before any work, where a backend that
/// has none is named
inline context system_context(const common_options& common) {
  context ctx = common.make_context();
  if (solves_systems(ctx.backend())) return ctx;
  if (common.backend == "auto") return common.make_context(backend_kind::cpu);
  std::string others;
  for (const core::backend& b : core::backends()) {
    if (b.has_device() && solves_systems(b.kind))
      others += fmt::format("{}--backend {}", others.empty() ? "" : " or ", b.name);
  }
  throw error(
      error_code::no_variant,
      fmt::format("--backend {} has no conjugate gradient; take {}, or leave --backend out", common.backend, others));
}

}  // namespace sheaf::cli
