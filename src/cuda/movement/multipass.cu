#include "cuda/movement/pass_plan.cuh"
#include "cuda/movement/passes/kernels.cuh"

// cuda.multipass: a pass for each region of the indexed side (He et al. 2007, section 3.4).
namespace sheaf::cuda {
namespace {

// Each pass scans the index and moves its records, which are spread over the sequential side. A sector of a gather's
// output that is written in part is read first.
template <direction Direction>
plan::planned plan_multipass(const problem_of<Direction>& p, const plan::scope& scope) {
  if (const char* reason = order_rejection(p)) return plan::rejected(reason);
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes<Direction>(p, scope.machine);
}

template <direction Direction>
void run_multipass(const context& ctx, const problem_of<Direction>& p, const plan::planned& plan,
                   const buffers_of<Direction>& b, std::byte*) {
  const device_scope scope(ctx.device());
  launch_multipass<Direction>(ctx, p, plan, arguments_of<Direction>(ctx, p, b));
}

}  // namespace

extern constinit const primitives::gather_variant gather_multipass{
    "cuda.multipass", backend_kind::cuda, plan_multipass<direction::gather>, run_multipass<direction::gather>};
extern constinit const primitives::scatter_variant scatter_multipass{
    "cuda.multipass", backend_kind::cuda, plan_multipass<direction::scatter>, run_multipass<direction::scatter>};

}  // namespace sheaf::cuda
