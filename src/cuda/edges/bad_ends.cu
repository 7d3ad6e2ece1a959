#include "cuda/edges/bad_ends.cuh"

#include "cuda/device/launch.cuh"

namespace sheaf::cuda {
namespace {

/// One thread.
__global__ void report_bad_end(const __grid_constant__ index_guard guard,
                               const __grid_constant__ edge_kernels::end_arrays edges,
                               const unsigned long long* first_bad) {
  report_noted_end(guard, edges, first_bad);
}

}  // namespace

bad_end_report::bad_end_report(const context& ctx, const primitives::edge_sum_problem& p, primitives::edge_call by,
                               unsigned long long* first_bad, bool is_cleared)
    : guard_(state_of(ctx).guard(primitives::end_wording(by), p.index, p.nodes)), first_bad_(first_bad) {
  if (!is_cleared) require(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, ctx.stream()), ctx);
}

void bad_end_report::queue(const context& ctx, const edge_kernels::end_arrays& edges) const {
  if (edges.count > 0) launch_blocks(ctx, report_bad_end, 1, 1, guard_, edges, first_bad_);
}

}  // namespace sheaf::cuda
