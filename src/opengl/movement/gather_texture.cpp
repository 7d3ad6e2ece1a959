#include "opengl/device/record_numbers.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/cost.hpp"
#include "opengl/movement/table_lookup.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

// Table and list go to textures, each fragment looks up its index and then its record, and the frame buffer comes back.
// The index is read in the order of the pixels, so only the record's lookup is at random.
plan::planned plan_texture(const gather_problem& p, const plan::scope& scope) {
  if (const char* const why = unmovable(p)) return plan::rejected(why);
  plan::planned plan = lookup_plan(p, scope.machine, record_number_bytes(p));
  plan.scratch_bytes = record_number_bytes(p);
  return plan;
}

void run_texture(const context& ctx, const gather_problem& problem, const plan::planned&, const gather_buffers& buffers,
                 std::byte* scratch) {
  opengl_state& state = state_of(ctx);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(scratch);
  write_record_numbers(state, problem, buffers.index, gather_wording, numbers);
  pipeline_call call(state, "gather");
  const table_lookup lookup(state, buffers.table);
  for (const tile& t : tiles_of(problem.count, state.limits().texture_edge)) {
    const texture list = uploaded(texel_format{}, t, const_records(numbers, problem.count, sizeof *numbers));
    lookup.gathered(list, t).read_back(buffers.out);
  }
  call.finish();
}

}  // namespace

extern constinit const gather_variant gather_texture{"opengl.texture", backend_kind::opengl, plan_texture, run_texture};

}  // namespace sheaf::opengl
