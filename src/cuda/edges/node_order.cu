#include "cuda/edges/node_order.hpp"

#include "cuda/device/launch.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"

namespace sheaf::cuda {

/// Lowest and highest finite coordinate of each dimension, as words that ascend with the numbers.
struct coordinate_box {
  unsigned long long low[3];
  unsigned long long high[3];
};

namespace {

using primitives::prepare_edge_sum_problem;

constexpr std::uint32_t half_bits = 24;  // of a key of 48 bits

__device__ unsigned long long ascending_word(double number) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(number));
  return bits >> 63 != 0 ? ~bits : bits | 1ULL << 63;
}
__device__ double number_of_word(unsigned long long word) {
  return __longlong_as_double(static_cast<long long>(word >> 63 != 0 ? word & ~(1ULL << 63) : ~word));
}

__global__ void clear_box(coordinate_box* box) {
  if (threadIdx.x >= 3) return;
  box->low[threadIdx.x] = ~0ULL;
  box->high[threadIdx.x] = 0;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    find_box(const T* coordinates, std::uint64_t nodes, std::uint32_t dimensions, coordinate_box* box) {
  for (std::uint32_t dimension = 0; dimension < dimensions; ++dimension) {
    unsigned long long low = ~0ULL;
    unsigned long long high = 0;
    for (std::uint64_t n = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; n < nodes;
         n += std::uint64_t{gridDim.x} * block_threads) {
      const double at = coordinates[n * dimensions + dimension];
      if (!isfinite(at)) continue;
      const unsigned long long word = ascending_word(at);
      low = min(low, word);
      high = max(high, word);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      low = min(low, __shfl_down_sync(~0U, low, step));
      high = max(high, __shfl_down_sync(~0U, high, step));
    }
    if (threadIdx.x % 32 != 0) continue;
    atomicMin(&box->low[dimension], low);
    atomicMax(&box->high[dimension], high);
  }
}

/// The bits of a number below 2^24, so many places from each other.
__device__ unsigned long long spread(unsigned long long number, std::uint32_t dimensions) {
  if (dimensions == 2) {
    number = (number | number << 16) & 0x0000ffff0000ffffULL;
    number = (number | number << 8) & 0x00ff00ff00ff00ffULL;
    number = (number | number << 4) & 0x0f0f0f0f0f0f0f0fULL;
    number = (number | number << 2) & 0x3333333333333333ULL;
    return (number | number << 1) & 0x5555555555555555ULL;
  }
  number = (number | number << 32) & 0x001f00000000ffffULL;
  number = (number | number << 16) & 0x001f0000ff0000ffULL;
  number = (number | number << 8) & 0x100f00f00f00f00fULL;
  number = (number | number << 4) & 0x10c30c30c30c30c3ULL;
  return (number | number << 2) & 0x1249249249249249ULL;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    make_keys(const T* coordinates, std::uint64_t nodes, std::uint32_t dimensions, const coordinate_box* box,
              std::uint32_t* low_keys, std::uint32_t* high_keys) {
  const std::uint64_t n = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= nodes) return;
  double low[3];
  double longest_side = 0;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    const bool is_empty = box->low[d] > box->high[d];
    low[d] = is_empty ? 0 : number_of_word(box->low[d]);
    // Halves, because the difference of the largest numbers would be infinite.
    if (!is_empty) longest_side = max(longest_side, number_of_word(box->high[d]) / 2 - low[d] / 2);
  }
  const double cells = static_cast<double>(1U << (2 * half_bits / dimensions));
  unsigned long long key = 0;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    const double at = coordinates[n * dimensions + d];
    const double share = longest_side > 0 ? (at / 2 - low[d] / 2) / longest_side : 0;
    const double cell = isfinite(share) ? min(max(share * cells, 0.0), cells - 1) : 0;
    key |= spread(static_cast<unsigned long long>(cell), dimensions) << d;
  }
  low_keys[n] = static_cast<std::uint32_t>(key & ((1U << half_bits) - 1));
  high_keys[n] = static_cast<std::uint32_t>(key >> half_bits);
}

__global__ void __launch_bounds__(block_threads)
    gather_keys(const std::uint32_t* keys, const std::uint32_t* order, std::uint64_t nodes, std::uint32_t* to) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (k < nodes) to[k] = __ldg(keys + order[k]);
}

__global__ void __launch_bounds__(block_threads)
    find_places(std::uint32_t* order, std::uint64_t nodes, bool has_order, std::uint32_t* place) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (k >= nodes) return;
  if (!has_order) order[k] = static_cast<std::uint32_t>(k);
  place[has_order ? order[k] : k] = static_cast<std::uint32_t>(k);
}

pair_passes passes_of(std::uint64_t nodes) {
  pair_passes passes;
  passes.key_bits = half_bits;
  passes.value_bytes = sizeof(std::uint32_t);
  passes.count = nodes;
  passes.keys.stride = passes.keys.word_bytes = sizeof(std::uint32_t);
  passes.keys.bits = {0, half_bits};
  passes.keys.categories = 1U << half_bits;
  return passes;
}

template <class T>
void queue_keys(const context& ctx, const prepare_edge_sum_problem& problem, const void* coordinates,
                coordinate_box* box, std::uint32_t* low_keys, std::uint32_t* high_keys) {
  const auto* const at = static_cast<const T*>(coordinates);
  const std::uint64_t blocks = ceil_div(problem.sum.nodes, block_threads);
  constexpr std::uint64_t most_blocks = 1024;
  launch_blocks(ctx, clear_box, 1, 32, box);
  launch(ctx, find_box<T>, std::min(blocks, most_blocks), at, problem.sum.nodes, problem.dimensions, box);
  launch(ctx, make_keys<T>, blocks, at, problem.sum.nodes, problem.dimensions, box, low_keys, high_keys);
}

}  // namespace

node_order_scratch::node_order_scratch(const prepare_edge_sum_problem& problem, core::scratch_arrays& arrays) {
  if (problem.dimensions == 0) return;
  box = arrays.take<coordinate_box>(1);
  for (std::uint32_t*& half : keys) half = arrays.take<std::uint32_t>(problem.sum.nodes);
  sorted_keys = arrays.take<std::uint32_t>(problem.sum.nodes);
  low_order = arrays.take<std::uint32_t>(problem.sum.nodes);
  passes = arrays.take<std::byte>(pair_scratch_bytes(passes_of(problem.sum.nodes)));
}

void queue_node_order(const context& ctx, const prepare_edge_sum_problem& problem,
                      const primitives::prepare_edge_sum_buffers& buffers, std::uint64_t part_nodes,
                      const node_order_scratch& scratch, std::uint32_t* order, std::uint32_t* place) {
  const std::uint64_t nodes = problem.sum.nodes;
  const std::uint64_t blocks = ceil_div(nodes, block_threads);
  if (problem.dimensions > 0) {
    const auto [low_keys, high_keys] = scratch.keys;
    if (problem.coordinate == value_type::f64) {
      queue_keys<double>(ctx, problem, buffers.coordinates, scratch.box, low_keys, high_keys);
    } else {
      queue_keys<float>(ctx, problem, buffers.coordinates, scratch.box, low_keys, high_keys);
    }
    pair_passes passes = passes_of(nodes);
    passes.keys.data = reinterpret_cast<const std::byte*>(low_keys);
    passes.out = reinterpret_cast<std::byte*>(scratch.low_order);
    run_pair_passes(ctx, passes, scratch.passes);
    launch(ctx, gather_keys, blocks, high_keys, scratch.low_order, nodes, scratch.sorted_keys);
    passes.keys.data = reinterpret_cast<const std::byte*>(scratch.sorted_keys);
    passes.values = reinterpret_cast<const std::byte*>(scratch.low_order);
    passes.out = reinterpret_cast<std::byte*>(order);
    run_pair_passes(ctx, passes, scratch.passes);
  } else if (is_order_grown(problem)) {
    grow_node_order(ctx, problem.sum, buffers.edges, part_nodes, order);
  }
  launch(ctx, find_places, blocks, order, nodes, problem.dimensions > 0 || is_order_grown(problem), place);
}

double node_order_seconds(const prepare_edge_sum_problem& problem, const machine& machine) {
  const std::uint64_t nodes = problem.sum.nodes;
  const double places = machine.step_seconds + machine.random_writes(nodes, 4, nodes * 4);
  if (is_order_grown(problem)) return places + grown_order_seconds(problem.sum, machine);
  if (problem.dimensions == 0) return places;
  const std::uint64_t keyed = nodes * (2 * problem.dimensions * bytes(problem.coordinate) + 8);
  return places + 2 * pair_passes_cost(passes_of(nodes), machine).seconds + 4 * machine.step_seconds +
         machine.streamed(keyed, keyed) + machine.random_reads(nodes, 4, nodes * 4);
}

}  // namespace sheaf::cuda
