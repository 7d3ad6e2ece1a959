#pragma once

#include <deque>
#include <mutex>

#include "core/host_state.hpp"
#include "opengl/device/current.hpp"
#include "opengl/device/platform.hpp"
#include "opengl/device/program.hpp"

namespace sheaf::opengl {

/// Sizes at which arrays are cut, or beyond which plans refuse them. Tests lower them, so that small arrays take many
/// pieces.
struct size_limits {
  std::uint32_t texture_edge = 0;                          ///< longest side of a texture and of a frame buffer
  std::uint32_t texture_layers = ~0U;                      ///< of a texture of many, all of which a draw reaches
  std::uint32_t volume_edge = ~0U;                         ///< longest side of a texture of three dimensions
  std::uint64_t buffer_texels = ~0ULL;                     ///< of a buffer that shaders read as a texture of one row
  std::uint64_t points_per_draw = std::uint64_t{1} << 22;  ///< whose attributes lie in one buffer
  std::uint64_t vertices_per_buffer = std::uint64_t{1} << 24;  ///< records of a table that lie in one buffer
};

/// An OpenGL context of this library: a device, and the programs that its calls have linked so far.
class opengl_state final : public core::host_state {
 public:
  opengl_state(const egl_device& device, int number, egl_context own);
  ~opengl_state() override;

  int device() const noexcept override { return number_; }
  const egl_context& handle() const noexcept { return context_; }

  const size_limits& limits() const noexcept { return limits_; }
  /// Cuts arrays at these sizes, or at the device's own where they are smaller.
  void lower_limits(const size_limits& most);

  /// Whether the renderer draws with the host's processor, in the host's memory.
  bool is_software() const noexcept { return is_software_; }

  /// Whether the device can count rows of pixels from the top (glClipControl), which no call here does.
  bool has_clip_control() const noexcept { return has_clip_control_; }

  /// Stands behind each draw of points, of which a draw has at most limits().points_per_draw. A renderer in software
  /// sorts all points that it was given into tiles of the frame buffer before it draws any; a glFlush makes it draw
  /// these few while they are in the caches. Hardware draws points as they come and is left alone.
  void flush_points_in_software() const noexcept {
    if (is_software_) glFlush();
  }

  /// Linked at the first call, and there as long as this object. The context is current.
  const program& program_of(const program_files& files);
  std::size_t linked_programs() const noexcept { return programs_.size(); }

  /// Keeps objects whose owner has ended until the next call, for which the context is current, or the context's end.
  void leave(std::shared_ptr<void> objects) noexcept;
  /// Deletes what was left. The context is current.
  void delete_left_objects() noexcept;

  /// Asks this function, in place of the driver, what became of the context; for tests of its loss.
  void ask_reset_status_of(GLenum (*ask)()) noexcept { reset_status_ = ask; }
  /// @throws error(device_failure), naming `call`, if the device has been reset since the context was made, now and at
  /// every later call
  void require_not_lost(std::string_view call);

 private:
  std::string_view lost_in_a_fork() const noexcept override { return "OpenGL works only in the parent"; }
  std::string_view works_on() const noexcept override { return "host memory and OpenGL"; }

  int number_;
  bool is_software_;
  bool has_clip_control_ = false;
  egl_context context_;
  size_limits limits_;
  GLenum (*reset_status_)() = nullptr;  ///< null where the driver does not tell
  std::string loss_;                    ///< empty while the context works
  std::mutex left_mutex_;
  std::vector<std::shared_ptr<void>> left_;                 ///< objects of OpenGL whose owners have ended
  std::deque<std::pair<program_files, program>> programs_;  ///< which stay where they are as more are linked
};

/// The state of a context whose backend is known to be OpenGL.
inline opengl_state& state_of(const context& ctx) { return static_cast<opengl_state&>(ctx.state()); }

/// The state of a context of any backend. @throws error(bad_argument), naming `call`, unless that is OpenGL;
/// error(backend_unavailable) in a child of the process that made the context
opengl_state& require_opengl(const context& ctx, std::string_view call);

/// One call of the library: its context is current and in a known state. The call ends with finish(), which throws what
/// went wrong since.
class pipeline_call {
 public:
  pipeline_call(opengl_state& state, std::string_view call);
  void finish();

 private:
  opengl_state& state_;
  std::string_view call_;
  current_scope current_;
};

/// Begins a call and does work(state) as a pipeline_call. Returns the call's number, with which what its input has
/// wrong is reported.
template <class Work>
std::uint64_t run_call(const context& ctx, std::string_view call, Work work) {
  opengl_state& state = state_of(ctx);
  const std::uint64_t number = state.begin_call();
  pipeline_call running(state, call);
  work(state);
  running.finish();
  return number;
}

}  // namespace sheaf::opengl
