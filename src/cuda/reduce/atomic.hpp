#pragma once

#include "cuda/movement/copy/records.cuh"
#include "primitives/reduce/contract.hpp"

// What cuda.atomic does for cuda.bucketed.
namespace sheaf::cuda {

/// How the values of a list are added up, as a sample of it says: the verdict of an order_verdict whose call number is
/// 1, for which `buckets` is the verdict that the list is scattered.
struct sum_route {
  static constexpr unsigned long long atomics = 2;
  static constexpr unsigned long long buckets = 3;
  static constexpr unsigned long long block_sums = 4;  ///< atomics, of hot slots through the sums of blocks
};

/// Queues the atomics for a list of sums, by the route that the copies of the verdict name: none for buckets.
void add_by_route(const context& ctx, const primitives::scatter_reduce_problem& problem, const move_arguments& args,
                  const primitives::scatter_reduce_buffers& buffers, const unsigned long long* verdict);

}  // namespace sheaf::cuda
