#pragma once

#include <cstdint>

#include <sheaf/cuda/detail/list_nodes.cuh>

#include "cuda/linked_list/steps.hpp"

namespace sheaf::cuda {

/// The successor of a node as list_kernels::canonical_successor gives it.
template <class Successor>
__device__ __forceinline__ std::uint32_t successor_of(const successor_view& list, std::uint32_t node) {
  const Successor bits = static_cast<const Successor*>(list.data)[std::uint64_t{node} * list.stride];
  return list_kernels::canonical_successor(bits, node, list.is_signed);
}

}  // namespace sheaf::cuda
