#pragma once

#include "cuda/edges/bad_ends.hpp"

// The report of a bad end, by a thread of the last kernel of a call.
namespace sheaf::cuda {

__device__ __forceinline__ std::uint64_t end_at(const edge_kernels::end_arrays& edges, const void* ends,
                                                std::uint64_t edge) {
  return edges.is_wide ? static_cast<const std::uint64_t*>(ends)[edge * edges.stride]
                       : static_cast<const std::uint32_t*>(ends)[edge * edges.stride];
}

/// Reports the edge that was noted, if there is one; one thread calls it. The report is kept if it is the first by
/// (call, position); an edge is the place.
__device__ __forceinline__ void report_noted_end(const index_guard& guard, const edge_kernels::end_arrays& edges,
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

}  // namespace sheaf::cuda
