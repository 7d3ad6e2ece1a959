#include "cpu/split/call.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Stable counting sort by category, with write-combining buffers.
void run_buffered(const context& ctx, const split_problem& problem, const plan::planned& plan,
                  const split_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call_number = state.begin_call();
  split_call call(problem, plan.decided.get<split_decision>(), buffers, scratch);
  if (call.passes == 1) {
    split_in_one_pass(call);
  } else {
    split_in_several_passes(call);
  }
  const first_bad bad = call.bad();
  if (!bad.found()) return;
  const std::uint32_t category = field_of(buffers.keys.data + bad.position * problem.key_stride_bytes, problem.bits);
  state.keep_first({call_number, bad.position, category, problem.categories, &category_wording, 0});
}

}  // namespace

extern constinit const split_variant split_buffered{"cpu.buffered", backend_kind::cpu, plan_split, run_buffered};

}  // namespace sheaf::cpu
