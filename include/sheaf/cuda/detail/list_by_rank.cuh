#pragma once

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sheaf/cuda/detail/list_nodes.cuh>

// A scan in the order of ranks that are known.
namespace sheaf::list_kernels {

/// An inclusive scan by the whole grid, in runs of 64 items, each by one thread; then of the runs' totals in the same
/// way. The order of operations depends on `count` alone. `above` has room for items_above(count) items.
template <class Item, class Combine, class Grid>
__device__ void scan_runs(const Grid& grid, Item* items, std::uint64_t count, Item* above, const Combine& combine) {
  constexpr std::uint64_t run = 64;
  constexpr int most_heights = 7;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * list_threads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * list_threads;
  Item* at[most_heights] = {items};
  std::uint64_t counts[most_heights] = {count};
  int top = 0;
  for (;; ++top) {
    const std::uint64_t runs = (counts[top] + run - 1) / run;
    at[top + 1] = top == 0 ? above : at[top] + counts[top];
    counts[top + 1] = runs;
    for (std::uint64_t run_index = first; run_index < runs; run_index += threads) {
      const std::uint64_t end = min((run_index + 1) * run, counts[top]);
      Item sum = at[top][run_index * run];
      for (std::uint64_t i = run_index * run + 1; i < end; ++i) {
        sum = combine(sum, at[top][i]);
        at[top][i] = sum;
      }
      at[top + 1][run_index] = sum;
    }
    grid.sync();
    if (runs <= 1) break;
  }
  for (int height = top - 1; height >= 0; --height) {
    for (std::uint64_t i = first; i < counts[height]; i += threads) {
      if (i >= run) at[height][i] = combine(at[height + 1][i / run - 1], at[height][i]);
    }
    grid.sync();
  }
}

/// A flag that fills whatever a value of T leaves open of its words.
template <class T>
struct filling_flag {
  static constexpr std::size_t alignment = alignof(T) < 4 ? 4 : alignof(T);
  static constexpr std::size_t count = (sizeof(T) / alignment + 1) * alignment - sizeof(T);
  unsigned char bytes[count];

  __device__ filling_flag(unsigned flag) : bytes{static_cast<unsigned char>(flag)} {}
  __device__ operator unsigned() const { return bytes[0]; }
};

/// A sum of the values from the last beginning of a list on. There is no gap in it, because all its bytes are copied.
template <class T>
struct segment_sum {
  using wide_flag = std::conditional_t<alignof(T) == 8, std::uint64_t, filling_flag<T>>;
  using flag = std::conditional_t<alignof(T) == 4, std::uint32_t, wide_flag>;
  T sum;
  flag begins;  ///< 1 if a list begins in it
};

/// Scans values by ranks that pointer jumping found: puts the nodes of each list one behind the other, and scans the
/// array. For lists whose sublists turned out to be too long, and for cuda.pointer_jumping.
template <class T, class Op, class Reader>
__global__ void __launch_bounds__(list_threads)
    scan_by_rank(const __grid_constant__ by_rank_arguments args, const Reader reader, const T initial, const Op op) {
  if (args.status->is_faulty != 0 || (!args.always && args.status->is_bad == 0)) return;
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t first = blockIdx.x * list_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * list_threads;
  const auto over_nodes = [&](auto body) {
    for (std::uint64_t i = first; i < args.count; i += threads) body(static_cast<std::uint32_t>(i));
  };
  if (args.lengths != nullptr) {
    over_nodes([&](std::uint32_t node) {
      T value{};
      const list_jump jump = args.jumps[node];
      if (jump.steps != 0) args.lengths[node] = 0;
      if (reader.load(node, value) == list_end) args.lengths[jump.to] = jump.steps + 1;
    });
    grid.sync();
    scan_runs(grid, args.lengths, args.count, args.above_lengths,
              [](std::uint32_t x, std::uint32_t y) { return x + y; });
  }
  auto* const sums = static_cast<segment_sum<T>*>(args.sums);
  over_nodes([&](std::uint32_t node) {
    const list_jump jump = args.jumps[node];
    const std::uint32_t list = args.lengths == nullptr || jump.to == 0 ? 0 : args.lengths[jump.to - 1];
    T value{};
    reader.load(node, value);
    args.order[list + jump.steps] = node;
    sums[list + jump.steps] = {first_result<Op, T>::of(op, value), jump.steps == 0 ? 1U : 0U};
  });
  grid.sync();
  scan_runs(grid, sums, args.count, static_cast<segment_sum<T>*>(args.above_sums),
            [&](const segment_sum<T>& x, const segment_sum<T>& y) {
              return y.begins != 0 ? y : segment_sum<T>{op(x.sum, y.sum), x.begins};
            });
  T* const results = static_cast<T*>(args.results);
  over_nodes([&](std::uint32_t place) {
    const std::uint32_t node = args.order[place];
    if (!args.is_exclusive) {
      results[node] = sums[place].sum;
    } else {
      results[node] = args.jumps[node].steps == 0 ? initial : op(initial, sums[place - 1].sum);
    }
  });
}

}  // namespace sheaf::list_kernels
