#include "opengl/device/record_numbers.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/cost.hpp"
#include "opengl/movement/draw_points.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

// The whole output goes to frame buffers and comes back, because pixels that no point hits keep their value. Each
// record is a point. The pipeline writes a pixel in the order of the points (OpenGL 4.5, section 2.1), so the last
// writer wins, whether it is asked for or not.
plan::planned plan_points(const scatter_problem& p, const plan::scope& scope) {
  if (const char* const why = unmovable(p)) return plan::rejected(why);
  plan::planned plan = point_plan(p, scope.machine, record_number_bytes(p));
  plan.scratch_bytes = record_number_bytes(p);
  return plan;
}

void run_points(const context& ctx, const scatter_problem& problem, const plan::planned&,
                const scatter_buffers& buffers, std::byte* scratch) {
  opengl_state& state = state_of(ctx);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(scratch);
  write_record_numbers(state, problem, buffers.index, scatter_wording, numbers);
  pipeline_call call(state, "scatter");
  const std::vector<tile_target> targets =
      targets_of(state, texels_for(problem.record_bytes), buffers.out.count, buffers.out);
  const program& points = state.program_of(record_point_files);
  points.use();
  draw_points(state, points, targets, {numbers, problem.count}, buffers.in, point_payload::record);
  for (const tile_target& target : targets) target.pixels.read_back(buffers.out);
  call.finish();
}

}  // namespace

extern constinit const scatter_variant scatter_points{"opengl.points", backend_kind::opengl, plan_points, run_points};

}  // namespace sheaf::opengl
