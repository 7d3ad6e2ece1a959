#pragma once

#include <omp.h>

#include <sheaf/context.hpp>

namespace sheaf::jobs {

/// Threads for host work of a caller that uses ctx: those of a CPU context, all of the host for other contexts.
inline int host_threads(const context& ctx) {
  return ctx.backend() == backend_kind::cpu ? ctx.threads() : omp_get_max_threads();
}

}  // namespace sheaf::jobs
