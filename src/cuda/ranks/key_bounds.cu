#include "cuda/device/launch.cuh"
#include "cuda/ranks/steps.hpp"

// Places of keys among rows in order: a thread for each halves its range, all at once.
namespace sheaf::cuda {
namespace {

using namespace primitives;

__global__ void __launch_bounds__(block_threads)
    search_bounds(const __grid_constant__ const_records rows, const __grid_constant__ key_layout key,
                  const key_bound* bounds, std::uint64_t count, std::uint64_t* positions) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) positions[i] = position_of(rows, key, bounds[i]);
}

}  // namespace

void find_key_bounds(const context& ctx, const_records rows, const key_layout& key, const key_bound* bounds,
                     std::uint64_t count, std::uint64_t* positions) {
  const run_scope scope(ctx, "find_bounds");
  launch(ctx, search_bounds, ceil_div(count, block_threads), rows, key, bounds, count, positions);
}

}  // namespace sheaf::cuda
