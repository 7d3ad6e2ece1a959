#pragma once

#include <algorithm>

#include "cli/command.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

namespace sheaf::cli {

/// The context of a command that solves systems. --backend auto takes the CPU where a device's backend has no variant
/// of conjugate gradient.
inline context system_context(const common_options& common) {
  const context ctx = common.make_context();
  const auto variants = primitives::conjugate_gradient_variants();
  const bool has_variant =
      std::any_of(variants.begin(), variants.end(), [&](const auto& v) { return v.works_on(ctx.backend()); });
  return has_variant || common.backend != "auto" ? ctx : common.make_context(backend_kind::cpu);
}

}  // namespace sheaf::cli
