#include <limits>

#include "opengl/device/record_numbers.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/cost.hpp"
#include "opengl/movement/draw_points.hpp"
#include "primitives/operators/reduce_value.hpp"
#include "primitives/reduce/contract.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

constexpr program_files value_files{"values.vert", "", "value.frag"};

std::uint64_t scratch_of(const scatter_reduce_problem& p) {
  return p.sums() ? record_number_bytes(p) : 2 * record_number_bytes(p) + p.indexed_count * sizeof(float);
}

// Each value is a point that blends into a frame buffer of floats (Ujaldon and Saltz 2005, section 3.2). The pipeline
// blends the points of a pixel in their order, so a sum or difference is that of a serial loop and the same in every
// run, except that a driver may take values below 2^-126 for zero.
plan::planned plan_blended(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.type != value_type::f32) return plan::rejected("frame buffers blend only values that are 32-bit floats");
  if (const char* const why = unmovable(problem)) return plan::rejected(why);
  constexpr std::uint64_t width = sizeof(float);
  plan::planned plan;
  plan.scratch_bytes = scratch_of(problem);
  plan.add("upload", machine.uploaded((problem.indexed_count + problem.count) * width + record_number_bytes(problem)));
  plan.add("passes", pass_seconds(machine, problem.indexed_count, 0));
  plan.add("blended points", machine.atomic_adds(problem.count, width, problem.indexed_count * width));
  plan.add("readback", machine.read_back(problem.indexed_count * width));
  return plan;
}

const_records records_of(const_values v) { return {v.data, v.count, sizeof(float)}; }

GLenum equation_of(reduction op) {
  switch (op) {
    case reduction::add: return GL_FUNC_ADD;
    case reduction::min: return GL_MIN;
    case reduction::max: return GL_MAX;
    case reduction::subtract: return GL_FUNC_REVERSE_SUBTRACT;  // what the pixel has, less the point
    default: break;
  }
  return GL_FUNC_ADD;
}

// Blends the values at `numbers` into the slots, from `before` to `after`, which may be one array.
void blend(opengl_state& state, reduction op, std::span<const std::uint32_t> numbers, const_records in,
           const_records before, records after) {
  pipeline_call call(state, "scatter_reduce");
  const std::vector<tile_target> targets = targets_of(state, float_texels, before.count, before);
  const program& points = state.program_of(value_files);
  points.use();
  glEnable(GL_BLEND);
  glBlendEquation(equation_of(op));
  glBlendFunc(GL_ONE, GL_ONE);
  draw_points(state, points, targets, numbers, in, point_payload::value);
  glDisable(GL_BLEND);
  for (const tile_target& target : targets) target.pixels.read_back(after);
  call.finish();
}

// OpenGL leaves open what the minimum of a NaN or of two zeros is, and drivers may take small values for zero. So only
// normal numbers are blended. The host combines the others, in values and slots, with what comes back; minima and
// maxima do not depend on the order.
template <reduction Op>
void run_extremum(opengl_state& state, const scatter_reduce_problem& problem, const scatter_reduce_buffers& buffers,
                  const std::uint32_t* numbers) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float identity = Op == reduction::min ? infinity : -infinity;
  auto* const drawn = const_cast<std::uint32_t*>(numbers) + problem.count;
  auto* const blended = reinterpret_cast<float*>(drawn + problem.count);
  const auto* const in = static_cast<const float*>(buffers.in.data);
  auto* const out = static_cast<float*>(buffers.out.data);
  for (std::uint64_t i = 0; i < problem.count; ++i) drawn[i] = std::isnormal(in[i]) ? numbers[i] : no_record;
  for (std::uint64_t s = 0; s < problem.indexed_count; ++s) blended[s] = std::isnormal(out[s]) ? out[s] : identity;
  blend(state, Op, {drawn, problem.count}, records_of(buffers.in), {blended, problem.indexed_count, sizeof(float)},
        {blended, problem.indexed_count, sizeof(float)});
  for (std::uint64_t s = 0; s < problem.indexed_count; ++s) {
    if (std::isnormal(out[s])) {
      out[s] = blended[s];
    } else if (blended[s] != identity) {  // no normal number is
      out[s] = reduced<Op>(out[s], blended[s]);
    }
  }
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    if (std::isnormal(in[i]) || numbers[i] == no_record) continue;
    out[numbers[i]] = reduced<Op>(out[numbers[i]], in[i]);
  }
}

void run_blended(const context& ctx, const scatter_reduce_problem& problem, const plan::planned&,
                 const scatter_reduce_buffers& buffers, std::byte* scratch) {
  opengl_state& state = state_of(ctx);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(scratch);
  write_record_numbers(state, problem, buffers.index, scatter_reduce_wording, numbers);
  if (problem.op == reduction::min) return run_extremum<reduction::min>(state, problem, buffers, numbers);
  if (problem.op == reduction::max) return run_extremum<reduction::max>(state, problem, buffers, numbers);
  const records out(buffers.out.data, problem.indexed_count, sizeof(float));
  blend(state, problem.op, {numbers, problem.count}, records_of(buffers.in), out, out);
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_blended{"opengl.blended", backend_kind::opengl,
                                                                     plan_blended, run_blended};

}  // namespace sheaf::opengl
