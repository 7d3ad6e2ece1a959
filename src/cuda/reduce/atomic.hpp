#pragma once

#include "cuda/movement/copy/records.cuh"
#include "primitives/scatter_reduce.hpp"

// What cuda.atomic does for cuda.bucketed.
namespace sheaf::cuda {

/// How the values of a list are added up, as a sample of it says: the verdict of an order_verdict whose call number is
/// 1, for which `buckets` is the verdict that the list is scattered.
struct sum_route {
  static constexpr unsigned long long atomics = 2;
  static constexpr unsigned long long buckets = 3;
  static constexpr unsigned long long block_sums = 4;  ///< atomics, of hot slots through the sums of blocks
};

/// What cuda.bucketed knows of the list on the device; null where nothing does.
struct device_route {
  const unsigned long long* verdict = nullptr;  ///< copies of the sum_route
  std::uint32_t* tile_counter = nullptr;        ///< zero before: blocks draw their tiles from it
};

/// Queues the atomics for a list of sums, by the route that the device has chosen: none for buckets. Where it has
/// chosen none, blocks look for hot slots themselves and take their tiles in turn.
void add_by_route(const context& ctx, const char* operation, const primitives::scatter_reduce_problem& p,
                  const move_arguments& a, const primitives::scatter_reduce_buffers& b, const device_route& route);

}  // namespace sheaf::cuda
