#include "opengl/device/state.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/composition.hpp"
#include "opengl/device/errors.hpp"

namespace sheaf {
namespace opengl {
namespace {

// What flush_points_in_software() stands behind. On two cores llvmpipe draws 2^20 points at random in 0.10 s by draws
// of 2^13 that are flushed, in 0.38 s by draws of 2^14, and in 0.8 s by one.
constexpr std::uint64_t points_between_flushes_in_software = std::uint64_t{1} << 13;

GLenum status_of_driver() { return glGetGraphicsResetStatus(); }

const char* cause_of(GLenum status) {
  switch (status) {
    case GL_GUILTY_CONTEXT_RESET: return "by work of this context";
    case GL_INNOCENT_CONTEXT_RESET: return "by work of another context";
    default: return "for a reason that the driver does not know";
  }
}

std::uint32_t texture_edge_of_device() {
  GLint texture = 0;
  GLint viewport[2] = {0, 0};
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &texture);
  glGetIntegerv(GL_MAX_VIEWPORT_DIMS, viewport);
  return static_cast<std::uint32_t>(std::max(1, std::min({texture, viewport[0], viewport[1]})));
}

std::uint32_t positive_limit(GLenum name) {
  GLint most = 0;
  glGetIntegerv(name, &most);
  return static_cast<std::uint32_t>(std::max(most, 1));
}

// What every device has.
constexpr GLenum most_clip_planes = 8;
constexpr GLuint texture_units = 16;

// What a user of the context may have left switched on changes what a draw writes, and where a transfer reads.
void set_known_state(const opengl_state& state) {
  for (const GLenum capability :
       {GL_BLEND, GL_CULL_FACE, GL_DEPTH_TEST, GL_DITHER, GL_RASTERIZER_DISCARD, GL_SCISSOR_TEST, GL_STENCIL_TEST,
        GL_COLOR_LOGIC_OP, GL_PRIMITIVE_RESTART, GL_PROGRAM_POINT_SIZE, GL_FRAMEBUFFER_SRGB, GL_MULTISAMPLE}) {
    glDisable(capability);
  }
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  if (state.has_clip_control()) glClipControl(GL_LOWER_LEFT, GL_NEGATIVE_ONE_TO_ONE);
  glPointSize(1);
  glPolygonMode(GL_FRONT_AND_BACK, GL_FILL);
  glClampColor(GL_CLAMP_READ_COLOR, GL_FIXED_ONLY);
  for (GLenum plane = 0; plane < most_clip_planes; ++plane) glDisable(GL_CLIP_DISTANCE0 + plane);
  for (GLuint unit = 0; unit < texture_units; ++unit) glBindSampler(unit, 0);
  for (const GLenum parameter : {GL_UNPACK_ALIGNMENT, GL_PACK_ALIGNMENT}) glPixelStorei(parameter, 4);
  for (const GLenum parameter :
       {GL_UNPACK_SWAP_BYTES, GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS, GL_UNPACK_SKIP_PIXELS, GL_UNPACK_IMAGE_HEIGHT,
        GL_UNPACK_SKIP_IMAGES, GL_PACK_SWAP_BYTES, GL_PACK_ROW_LENGTH, GL_PACK_SKIP_ROWS, GL_PACK_SKIP_PIXELS}) {
    glPixelStorei(parameter, 0);
  }
  for (const GLenum target : {GL_PIXEL_UNPACK_BUFFER, GL_PIXEL_PACK_BUFFER, GL_ARRAY_BUFFER}) glBindBuffer(target, 0);
}

// For objects whose context can never be made current again: none of them may be asked to delete itself.
void keep_for_ever(std::vector<std::shared_ptr<void>> objects) {
  if (objects.empty()) return;
  const auto& kept = *new std::vector<std::shared_ptr<void>>(std::move(objects));
  static_cast<void>(kept);
}

}  // namespace

opengl_state::opengl_state(const egl_device& device, int number, egl_context own)
    : host_state(backend_kind::opengl, device.renderer),
      number_(number),
      is_software_(device.is_software),
      context_(std::move(own)) {
  const current_scope current(context_, "context::opengl");
  limits_.texture_edge = texture_edge_of_device();
  limits_.texture_layers = positive_limit(GL_MAX_ARRAY_TEXTURE_LAYERS);
  limits_.volume_edge = positive_limit(GL_MAX_3D_TEXTURE_SIZE);
  limits_.buffer_texels = positive_limit(GL_MAX_TEXTURE_BUFFER_SIZE);
  if (is_software_) limits_.points_per_draw = points_between_flushes_in_software;
  if (epoxy_gl_version() >= 45 || epoxy_has_gl_extension("GL_KHR_robustness")) reset_status_ = status_of_driver;
  has_clip_control_ = epoxy_gl_version() >= 45 || epoxy_has_gl_extension("GL_ARB_clip_control");
  require_no_error("context::opengl");
}

opengl_state::~opengl_state() {
  if (!made_by_this_process()) {
    keep_for_ever(std::move(left_));
    context_.abandon();
    return;
  }
  if (left_.empty()) return;
  try {
    const current_scope current(context_, "the end of a context");
    left_.clear();
  } catch (...) {  // current on another thread, where they end with the context
    keep_for_ever(std::move(left_));
  }
}

void opengl_state::leave(std::shared_ptr<void> objects) noexcept {
  if (!made_by_this_process()) return keep_for_ever(std::vector(1, objects));
  const std::lock_guard lock(left_mutex_);
  left_.push_back(std::move(objects));
}

void opengl_state::delete_left_objects() noexcept {
  const std::lock_guard lock(left_mutex_);
  left_.clear();
}

void opengl_state::lower_limits(const size_limits& most) {
  limits_.texture_edge = std::clamp<std::uint32_t>(most.texture_edge, 1, limits_.texture_edge);
  limits_.texture_layers = std::clamp<std::uint32_t>(most.texture_layers, 1, limits_.texture_layers);
  limits_.volume_edge = std::clamp<std::uint32_t>(most.volume_edge, 1, limits_.volume_edge);
  limits_.buffer_texels = std::clamp<std::uint64_t>(most.buffer_texels, 1, limits_.buffer_texels);
  limits_.points_per_draw = std::clamp<std::uint64_t>(most.points_per_draw, 1, limits_.points_per_draw);
  limits_.vertices_per_buffer = std::clamp<std::uint64_t>(most.vertices_per_buffer, 1, limits_.vertices_per_buffer);
  limit_scratch(scratch_limit());  // forgets plans, which were made with the limits before
}

const program& opengl_state::program_of(const program_files& files) {
  for (const auto& [known, linked] : programs_) {
    if (known == files) return linked;
  }
  return programs_.emplace_back(files, program(files)).second;
}

void opengl_state::require_not_lost(std::string_view call) {
  if (loss_.empty() && reset_status_ != nullptr) {
    const GLenum status = reset_status_();
    if (status != GL_NO_ERROR) loss_ = fmt::format("the OpenGL context was lost {}; make another", cause_of(status));
  }
  if (!loss_.empty()) throw error(error_code::device_failure, fmt::format("{}: {}", call, loss_));
}

opengl_state& require_opengl(const context& ctx, std::string_view call) {
  if (ctx.backend() != backend_kind::opengl) {
    throw error(error_code::bad_argument, fmt::format("{}: the context works on {}", call, name(ctx.backend())));
  }
  ctx.state().require_this_process(call);
  return state_of(ctx);
}

pipeline_call::pipeline_call(opengl_state& state, std::string_view call)
    : state_(state), call_(call), current_(state.handle(), call) {
  state.delete_left_objects();
  state.require_not_lost(call);
  forget_errors();
  set_known_state(state);
  require_no_error(call);
}

void pipeline_call::finish() {
  state_.require_not_lost(call_);
  require_no_error(call_);
}

}  // namespace opengl

namespace core {

int opengl_device_count() noexcept {
  try {
    return opengl::is_child_of_a_user() ? 0 : static_cast<int>(opengl::known_devices().devices.size());
  } catch (...) {
    return 0;
  }
}

std::shared_ptr<context_state> make_opengl_state(int device) {
  if (opengl::is_child_of_a_user()) {
    throw error(error_code::backend_unavailable,
                "context::opengl: this process was forked from one that had used OpenGL, which works only in the "
                "parent; use it only after the fork");
  }
  const opengl::device_list& known = opengl::known_devices();
  const auto count = static_cast<int>(known.devices.size());
  if (device < 0 || device >= count) {
    throw error(error_code::backend_unavailable,
                fmt::format("context::opengl: no OpenGL device {}; this machine has {}{}{}", device, count,
                            count == 0 ? ": " : "", count == 0 ? known.why_none : ""));
  }
  const opengl::egl_device& found = known.devices[static_cast<std::size_t>(device)];
  return std::make_shared<opengl::opengl_state>(found, device, opengl::egl_context(found.display));
}

}  // namespace core
}  // namespace sheaf
