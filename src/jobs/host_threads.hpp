#pragma once

#include <omp.h>

#include <sheaf/context.hpp>

namespace sheaf::jobs {

/// Threads for work on the host beside a context: its own on the CPU, all there are on others.
inline int host_threads(const context& ctx) {
  return ctx.backend() == backend_kind::cpu ? ctx.threads() : omp_get_max_threads();
}

}  // namespace sheaf::jobs
