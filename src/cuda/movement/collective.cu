#include "cuda/movement/sides.cuh"

// cuda.collective: neighbouring lanes move neighbouring words of a record (Patidar and Narayanan 2009, section 4.1).
namespace sheaf::cuda {
namespace {

// If a record is one word, lanes have nothing to share, and staging indices in shared memory keeps few words in flight.
template <direction Direction>
plan::planned plan_collective(const problem_of<Direction>& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = order_rejection(p)) return plan::rejected(reason);
  memory_cost t = cost_of<Direction>(p, m);
  if (words_per_record(p) == 1) t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return plan_of<Direction>(t, m);
}

template <direction Direction>
void run_collective(const context& ctx, const problem_of<Direction>& p, const plan::planned&,
                    const buffers_of<Direction>& b, std::byte*) {
  const device_scope scope(ctx.device());
  launch_collective<Direction>(ctx, p, arguments_of<Direction>(ctx, p, b));
}

}  // namespace

extern constinit const primitives::gather_variant gather_collective{
    "cuda.collective", backend_kind::cuda, plan_collective<direction::gather>, run_collective<direction::gather>};
extern constinit const primitives::scatter_variant scatter_collective{
    "cuda.collective", backend_kind::cuda, plan_collective<direction::scatter>, run_collective<direction::scatter>};

}  // namespace sheaf::cuda
