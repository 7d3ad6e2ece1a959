#pragma once

// For programs that use OpenGL themselves. No header of EGL or OpenGL is needed here, so the caller's own come in any
// order.
#include <cstdint>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/edge_sum.hpp>
#include <sheaf/export.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/spmv.hpp>

namespace sheaf {

/// The EGLDisplay and EGLContext behind a context, both pointers to void in EGL: for making the context current between
/// the library's calls, or for sharing its objects with contexts of the caller's. A call of the library leaves the
/// context's bindings and switches undefined, and works whatever they are before it, but for conditional rendering and
/// transform feedback that have not been ended. Where the driver offers robust contexts, this is one that is lost on a
/// reset (EGL_LOSE_CONTEXT_ON_RESET), as one that shares with it has to be. A build without the OpenGL backend has none
/// of these functions.
/// @throws error(bad_argument) if ctx is of another backend
SHEAF_API void* opengl_display(const context& ctx);
SHEAF_API void* opengl_context(const context& ctx);
/// What OpenGL calls the device: "llvmpipe (LLVM 15.0.6, 256 bits)".
SHEAF_API std::string_view opengl_renderer(const context& ctx);

/// Numbers of 32-bit floats, or records, side by side in a buffer object of the caller's; a view that owns nothing.
struct opengl_buffer {
  /// As glGenBuffers gave it, in the context that opengl_context() returns or in one that shares its objects.
  std::uint32_t name = 0;
  std::uint64_t offset_bytes = 0;  ///< of the first number or record; a multiple of 4
};

/// prepared.run(x, y, alpha, beta) with vectors that lie on the device: nothing of them passes through host memory,
/// unless the preparation's variant is "kept". y has the bits that a run with arrays gives it.
/// @param x, y  in buffers of any usage, which are not mapped, but for persistent mappings; they may be parts of one
///              buffer that do not overlap.
/// What another context has written to a buffer must be complete (glFinish, or a fence that was waited for). The work
/// is done when the call returns, so that any context may read y once it has bound the buffer anew.
/// @throws error(bad_argument), before anything is written, if the preparation is of another backend or was moved from,
/// a name is no buffer there, a buffer is shorter than its offset and the vector, or y overlaps x; and what run throws
SHEAF_API void opengl_run(const prepared_spmv& prepared, const opengl_buffer& x, const opengl_buffer& y,
                          double alpha = 1, double beta = 0);

/// prepared.run(node_values, weights, result, function) likewise, with as many components as prepared for. Results of
/// 5 to 8 components are put together in host memory.
/// @param weights  one for each edge, or the name 0 for none, which counts as 1 each.
SHEAF_API void opengl_run(const prepared_edge_sum& prepared, const opengl_buffer& node_values,
                          const opengl_buffer& weights, const opengl_buffer& result, edge_function function);

/// prepared.run(table, out) and prepared.run(in, out) likewise, with records side by side, of the width and as many as
/// prepared for.
SHEAF_API void opengl_run(const prepared_gather& prepared, const opengl_buffer& table, const opengl_buffer& out);
SHEAF_API void opengl_run(const prepared_scatter& prepared, const opengl_buffer& in, const opengl_buffer& out);

}  // namespace sheaf
