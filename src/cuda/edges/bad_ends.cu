#include "cuda/edges/bad_ends.hpp"

#include "cuda/device/launch.cuh"

namespace sheaf::cuda {
namespace {

__device__ std::uint64_t end_at(const edge_kernels::end_arrays& edges, const void* ends, std::uint64_t edge) {
  return edges.is_wide ? static_cast<const std::uint64_t*>(ends)[edge * edges.stride]
                       : static_cast<const std::uint32_t*>(ends)[edge * edges.stride];
}

/// One thread. The report is kept if it is the first by (call, position); an edge is the place.
__global__ void report_bad_end(const __grid_constant__ index_guard guard,
                               const __grid_constant__ edge_kernels::end_arrays edges,
                               const unsigned long long* first_bad) {
  const std::uint64_t edge = *first_bad;
  if (edge >= edges.count || guard.slot == nullptr) return;
  std::uint64_t end = end_at(edges, edges.first, edge);
  const std::uint64_t which = end < edges.limit ? 1 : 0;
  if (which == 1) end = end_at(edges, edges.second, edge);
  if (!edges.is_wide && guard.is_signed != 0) {
    end = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(end)));
  }
  volatile core::index_report& first = guard.slot->first;
  while (atomicCAS(&guard.slot->lock, 0U, 1U) != 0U) __nanosleep(200);
  __threadfence();
  if (guard.call < first.call || (guard.call == first.call && edge < first.position)) {
    first.value = end;
    first.limit = guard.records;
    first.wording = guard.wording;
    first.is_signed = guard.is_signed;
    first.row = which;
    first.position = edge;
    __threadfence();
    first.call = guard.call;
    *static_cast<volatile std::uint32_t*>(guard.flag) = 1;
    __threadfence_system();
  }
  __threadfence();
  atomicExch(&guard.slot->lock, 0U);
}

}  // namespace

bad_end_report::bad_end_report(const context& ctx, const primitives::edge_sum_problem& p, primitives::edge_call by,
                               unsigned long long* first_bad)
    : guard_(state_of(ctx).guard(primitives::end_wording(by), p.index, p.nodes)), first_bad_(first_bad) {
  require(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, ctx.stream()), ctx);
}

void bad_end_report::queue(const context& ctx, const edge_kernels::end_arrays& edges) const {
  if (edges.count > 0) launch_blocks(ctx, report_bad_end, 1, 1, guard_, edges, first_bad_);
}

}  // namespace sheaf::cuda
