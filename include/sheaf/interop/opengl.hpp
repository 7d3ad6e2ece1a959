#pragma once

// For programs that use OpenGL themselves. No header of EGL or OpenGL is needed here, so the caller's own come in any
// order.
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>

namespace sheaf {

/// The EGLDisplay and EGLContext behind a context, both pointers to void in EGL: for making the context current between
/// the library's calls, or for sharing its objects with contexts of the caller's. A call of the library leaves the
/// context's bindings and switches undefined, and works whatever they are before it, but for conditional rendering and
/// transform feedback that have not been ended. A build without the OpenGL backend has none of these functions.
/// @throws error(bad_argument) if ctx is of another backend
SHEAF_API void* opengl_display(const context& ctx);
SHEAF_API void* opengl_context(const context& ctx);
/// What OpenGL calls the device: "llvmpipe (LLVM 15.0.6, 256 bits)".
SHEAF_API std::string_view opengl_renderer(const context& ctx);

}  // namespace sheaf
