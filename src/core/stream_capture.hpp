#pragma once

#include "core/context_state.hpp"

namespace sheaf {

#if SHEAF_HAS_CUDA
namespace cuda {
bool is_captured(CUstream_st* stream);
}
#endif

namespace core {

/// Whether what is queued on a context goes into a graph and does not run.
inline bool is_captured([[maybe_unused]] const context_state& state) {
#if SHEAF_HAS_CUDA
  if (state.backend == backend_kind::cuda) return cuda::is_captured(state.stream());
#endif
  return false;
}

}  // namespace core
}  // namespace sheaf
