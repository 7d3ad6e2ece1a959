#include <sheaf/interop/opengl.hpp>

#include "opengl/device/state.hpp"
#include "opengl/device/textures.hpp"
#include "opengl/movement/array_records.hpp"

// Prepared gathers and scatters of records in the caller's buffer objects.
namespace sheaf {
namespace opengl {

using namespace primitives;

namespace {

/// The two sides of a run.
struct movement_sides {
  std::string_view call;
  std::string_view from_name;
  std::uint64_t from_count;
  std::uint64_t to_count;
  std::uint64_t record_bytes;

  explicit movement_sides(const prepare_problem& problem) : record_bytes(problem.record_bytes) {
    const bool gathers = problem.direction == prepared_direction::gather;
    call = gathers ? prepared_gather_call : prepared_scatter_call;
    from_name = gathers ? "table" : "in";
    from_count = gathers ? problem.indexed_count : problem.count;
    to_count = gathers ? problem.count : problem.indexed_count;
  }
  std::uint64_t from_bytes() const noexcept { return from_count * record_bytes; }
  std::uint64_t to_bytes() const noexcept { return to_count * record_bytes; }
};

struct movement_arrays {
  source_array from;
  result_array to;
};

movement_arrays require_arrays(opengl_state& state, const movement_sides& sides, const opengl_buffer& from,
                               const opengl_buffer& to) {
  pipeline_call call(state, sides.call);
  const movement_arrays arrays{require_buffer(sides.call, sides.from_name, from, sides.from_bytes()),
                               require_buffer(sides.call, "out", to, sides.to_bytes())};
  require_apart(sides.call, "out", to, sides.to_bytes(), sides.from_name, from, sides.from_bytes());
  call.finish();
  return arrays;
}

// An executor that is not this backend's own takes arrays in host memory alone. Records of a scatter's output that no
// index names keep their value, so the output goes both ways.
void run_through_host(const context& ctx, prepared_movement& work, const movement_sides& sides,
                      const movement_arrays& arrays) {
  const buffer from = copy_on_host(ctx, sides.call, arrays.from, sides.from_bytes());
  const buffer to = copy_on_host(ctx, sides.call, arrays.to, sides.to_bytes());
  work.run(ctx, {from.data(), sides.from_count, sides.record_bytes}, {to.data(), sides.to_count, sides.record_bytes});
  copy_from_host(ctx, sides.call, to, sides.to_bytes(), arrays.to);
}

void run_buffers(const context& ctx, std::string_view call, const std::shared_ptr<prepared_movement>& held,
                 const opengl_buffer& from, const opengl_buffer& to) {
  const checked_movement& work = checked<checked_movement>(call, held);
  opengl_state& state = require_opengl(ctx, call);
  const movement_sides sides(work.problem());
  const current_scope current(state.handle(), call);
  const movement_arrays arrays = require_arrays(state, sides, from, to);
  if (work.problem().count == 0) return;
  if (auto* const own = dynamic_cast<array_movement*>(&work.executor())) {
    own->run_buffers(ctx, arrays.from, arrays.to);
  } else {
    run_through_host(ctx, work.executor(), sides, arrays);
  }
  glFinish();  // what another context reads must be complete
  state.require_not_lost(call);
}

}  // namespace
}  // namespace opengl

void opengl_run(const prepared_gather& prepared, const opengl_buffer& table, const opengl_buffer& out) {
  opengl::run_buffers(prepared.ctx_, primitives::prepared_gather_call, prepared.work_, table, out);
}

void opengl_run(const prepared_scatter& prepared, const opengl_buffer& in, const opengl_buffer& out) {
  opengl::run_buffers(prepared.ctx_, primitives::prepared_scatter_call, prepared.work_, in, out);
}

}  // namespace sheaf
