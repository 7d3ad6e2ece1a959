#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/sides.cuh"

// cuda.direct: one random access for each record of one word, with several in flight for each thread.
namespace sheaf::cuda {
namespace {

// What plan decides for run.
struct direct_decision {
  bool is_cache_sized;  ///< a gather's table is about as large as L2
};

template <direction Direction>
plan::planned plan_direct(const problem_of<Direction>& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = order_rejection(problem)) return plan::rejected(reason);
  if (const char* reason = words_rejection(problem)) return plan::rejected(reason);
  plan::planned plan = plan_of<Direction>(cost_of<Direction>(problem, machine), machine);
  plan.decided.set(direct_decision{Direction == direction::gather &&
                                   problem.indexed_bytes() > machine.cache_bytes * 3 / 4 &&
                                   problem.indexed_bytes() < machine.cache_bytes * 3 / 2});
  return plan;
}

template <direction Direction>
void run_direct(const context& ctx, const problem_of<Direction>& p, const plan::planned& plan,
                const buffers_of<Direction>& b, std::byte*) {
  const device_scope scope(ctx.device());
  launch_words<Direction>(ctx, p, arguments_of<Direction>(ctx, p, b),
                          plan.decided.get<direct_decision>().is_cache_sized);
}

}  // namespace

extern constinit const primitives::gather_variant gather_direct{
    "cuda.direct", backend_kind::cuda, plan_direct<direction::gather>, run_direct<direction::gather>};
extern constinit const primitives::scatter_variant scatter_direct{
    "cuda.direct", backend_kind::cuda, plan_direct<direction::scatter>, run_direct<direction::scatter>};

}  // namespace sheaf::cuda
