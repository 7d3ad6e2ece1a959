#pragma once

// For programs that use OpenGL themselves. This header includes none of EGL or OpenGL, so that those of the program may
// come in any order. A build without the OpenGL backend has none of these functions.
#include <cstdint>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/edge_sum.hpp>
#include <sheaf/export.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/spmv.hpp>

namespace sheaf {

/// The EGLDisplay and EGLContext behind a context, both pointers to void in EGL. A program makes the context current
/// between the library's calls, or shares its objects with contexts of its own. A call of the library leaves the
/// context's bindings and switches undefined. It works whatever they were before, unless conditional rendering or
/// transform feedback is active. Where the driver offers robust contexts, this one is lost on a reset
/// (EGL_LOSE_CONTEXT_ON_RESET), as one that shares with it must be.
/// @throws error(bad_argument) if ctx is of another backend
SHEAF_API void* opengl_display(const context& ctx);
SHEAF_API void* opengl_context(const context& ctx);
/// What OpenGL calls the device: "llvmpipe (LLVM 15.0.6, 256 bits)". @throws error(bad_argument) as above
SHEAF_API std::string_view opengl_renderer(const context& ctx);

/// A view of 32-bit floats, or of records, side by side in a buffer object of the caller; it owns nothing.
struct opengl_buffer {
  /// From glGenBuffers, in the context that opengl_context() returns or in one that shares its objects.
  std::uint32_t name = 0;
  std::uint64_t offset_bytes = 0;  ///< of the first number or record; a multiple of 4
};

/// prepared.run(x, y, alpha, beta) with vectors that lie on the device. Nothing of them passes through host memory,
/// unless the variant of the preparation is "kept".
/// @param x, y  in buffers of any usage, which are not mapped except persistently. They may be parts of one buffer that
///              do not overlap.
/// What another context has written to a buffer must be complete (glFinish, or a fence that was waited for).
/// @throws error(bad_argument), before anything is written, if the preparation is of another backend or was moved from,
/// a name is not that of a buffer there, an offset is not a multiple of 4, a buffer is mapped or shorter than its
/// offset and the vector, or y overlaps x; and what run throws.
/// y has the bits that a run with arrays gives it. The work is done when the call returns, so that any context may read
/// y once it has bound the buffer anew.
SHEAF_API void opengl_run(const prepared_spmv& prepared, const opengl_buffer& x, const opengl_buffer& y,
                          double alpha = 1, double beta = 0);

/// prepared.run(node_values, weights, result, function) likewise, with as many components as prepared for. Results of 5
/// to 8 components pass through host memory.
/// @param weights  one for each edge, or the name 0 for none, which counts as 1 each.
SHEAF_API void opengl_run(const prepared_edge_sum& prepared, const opengl_buffer& node_values,
                          const opengl_buffer& weights, const opengl_buffer& result, edge_function function);

/// prepared.run(table, out) and prepared.run(in, out) likewise. Records lie side by side, in the width and number
/// prepared for.
SHEAF_API void opengl_run(const prepared_gather& prepared, const opengl_buffer& table, const opengl_buffer& out);
SHEAF_API void opengl_run(const prepared_scatter& prepared, const opengl_buffer& in, const opengl_buffer& out);

}  // namespace sheaf
