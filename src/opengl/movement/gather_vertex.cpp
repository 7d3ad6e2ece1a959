#include "opengl/device/record_numbers.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/cost.hpp"
#include "opengl/movement/draw_vertices.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

constexpr program_files vertex_files{"gather_vertex.vert", "gather_vertex.geom", "record.frag"};

// The table goes to a vertex buffer and the list is the element array, so the vertex stage resolves the indirection; a
// point takes each record to its pixel. A record costs a lookup and a point, so lookups by fragments are always
// cheaper, as Ujaldon and Saltz found: 2.40 ms against 0.65 ms for a list of their matrix.
plan::planned plan_vertex(const gather_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* const why = unmovable(problem)) return plan::rejected(why);
  const std::uint64_t texel = texel_bytes(problem.record_bytes);
  plan::planned plan;
  plan.scratch_bytes = 2 * record_number_bytes(problem);
  plan.add("upload", machine.uploaded(problem.indexed_count * problem.record_bytes + record_number_bytes(problem)));
  plan.add("passes", pass_seconds(machine, problem.count, problem.indexed_count));
  plan.add("vertex lookups", machine.random_reads(problem.count, texel, problem.indexed_count * problem.record_bytes));
  plan.add("points", machine.random_writes(problem.count, texel, problem.count * texel));
  plan.add("readback", machine.read_back(problem.count * texel));
  return plan;
}

void run_vertex(const context& ctx, const gather_problem& problem, const plan::planned&, const gather_buffers& buffers,
                std::byte* scratch) {
  opengl_state& state = state_of(ctx);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(scratch);
  write_record_numbers(state, problem, buffers.index, gather_wording, numbers);
  pipeline_call call(state, "gather");
  const program& points = state.program_of(vertex_files);
  points.use();
  for (const tile& t : tiles_of(problem.count, state.limits().texture_edge)) {
    const draw_target out(texels_for(problem.record_bytes), t);
    out.clear();
    draw_vertices(state, points, t, numbers, buffers.table, numbers + problem.count);
    out.read_back(buffers.out);
  }
  call.finish();
}

}  // namespace

extern constinit const gather_variant gather_vertex{"opengl.vertex", backend_kind::opengl, plan_vertex, run_vertex};

}  // namespace sheaf::opengl
