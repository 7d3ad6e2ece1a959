#pragma once

#include <sheaf/cuda/detail/list_nodes.cuh>

#include "cuda/device/index_guard.hpp"
#include "cuda/device/state.hpp"
#include "cuda/linked_list/operators.hpp"
#include "cuda/linked_list/plan.hpp"

// The steps of a call that all variants share, each of them a kernel or two on the context's stream.
namespace sheaf::cuda {

/// Successors as the caller has them; of packed nodes every second number of 4 bytes.
struct successor_view {
  const void* data;
  std::uint32_t bytes;
  std::uint32_t stride;  ///< in successors
  std::uint32_t is_signed;
};

/// The successor of a node as list_kernels::canonical_successor gives it.
template <class Successor>
__device__ __forceinline__ std::uint32_t successor_of(const successor_view& list, std::uint32_t node) {
  const Successor bits = static_cast<const Successor*>(list.data)[std::uint64_t{node} * list.stride];
  return list_kernels::canonical_successor(bits, node, list.is_signed);
}

/// One call on the context's device, and the kernels for its operator.
class list_call {
 public:
  list_call(const context& ctx, const primitives::list_problem& problem, const primitives::list_buffers& buffers,
            const list_cuts& cuts, const list_arrays& arrays);

  /// Clears the call's state, packs nodes where values lie apart, and finds the heads of a forest. The successors of
  /// one list are summed by the packing, or beside the walk.
  void begin();
  /// Step 4, after a walk over level 0.
  void scan_sublists();
  /// Step 4 by the host, which waits for the walk.
  void scan_sublists_on_host();
  /// Step 6 resolves what the steps before have left open. If they found the list bad, or `always`, it looks for what
  /// is wrong and reports it. If nothing is, the sublists were too long, and it writes the results by pointer jumping.
  void resolve(std::byte* scratch, bool always);

  list_kernels::walk_arguments walk_arguments() const;
  list_kernels::finish_arguments finish_arguments() const;
  list_kernels::list_input input() const;
  const detail::device_scan_operator& kernels() const noexcept { return kernels_; }

  const context& ctx;
  const primitives::list_problem& problem;
  const primitives::list_buffers& buffers;
  const list_cuts& cuts;
  const list_arrays& at;  ///< in scratch

 private:
  list_kernels::list_heads heads() const;
  successor_view successors() const;

  const device_scope device_;
  builtin_scan builtin_;
  detail::device_scan_operator kernels_;
};

/// Scratch of resolve() beyond that of list_arrays, in bytes.
std::uint64_t resolve_bytes(const primitives::list_problem& problem);

}  // namespace sheaf::cuda
