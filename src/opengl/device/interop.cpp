#include <sheaf/interop/opengl.hpp>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "opengl/device/state.hpp"

namespace sheaf {
namespace {

const opengl::opengl_state& opengl_state_of(const context& ctx, std::string_view call) {
  if (ctx.backend() == backend_kind::opengl) return opengl::state_of(ctx);
  throw error(error_code::bad_argument, fmt::format("{}: the context works on {}", call, name(ctx.backend())));
}

}  // namespace

void* opengl_display(const context& ctx) { return opengl_state_of(ctx, "opengl_display").handle().display(); }
void* opengl_context(const context& ctx) { return opengl_state_of(ctx, "opengl_context").handle().handle(); }
std::string_view opengl_renderer(const context& ctx) { return opengl_state_of(ctx, "opengl_renderer").device_name; }

}  // namespace sheaf
