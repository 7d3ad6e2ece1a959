#pragma once

#include "core/backends.hpp"
#include "core/context_state.hpp"

namespace sheaf {

namespace core {

/// What core calls of the layers above it, and nothing else that is defined there. src/composition says what that is.
struct composition {
  std::span<const backend> backends;
  /// Contexts on a device and a stream that the caller names, where backend::make_state takes the first device and a
  /// stream of its own. Null where this build does not have the backend.
  std::shared_ptr<context_state> (*make_cuda_state)(int device, CUstream_st* stream, bool own_stream);
  std::shared_ptr<context_state> (*make_opengl_state)(int device);
  chosen_profile (*profile_for)(backend_kind backend, const std::string& device_name);
  /// Checks what SHEAF_VARIANT forces, and throws error(bad_argument) for what is not there.
  void (*require_known_variant)(std::string_view primitive, std::string_view variant);
};

const composition& composed() noexcept;

// What each backend defines beside its variants: states of new contexts, and how many devices there are. Of the layers,
// only src/composition refers to them, and a backend to its own.
std::shared_ptr<context_state> make_cuda_state(int device, CUstream_st* stream, bool own_stream);
int cuda_device_count() noexcept;
std::shared_ptr<context_state> make_opengl_state(int device);
int opengl_device_count() noexcept;

}  // namespace core

// And how it measures itself.
namespace cpu {
std::unique_ptr<plan::microbenchmarks> make_microbenchmarks(const context& ctx);
}
namespace cuda {
std::unique_ptr<plan::microbenchmarks> make_microbenchmarks(const context& ctx);
}
namespace opengl {
std::unique_ptr<plan::microbenchmarks> make_microbenchmarks(const context& ctx);
}

}  // namespace sheaf
