#include "bench/harness/items.hpp"

#include <cuda_runtime.h>

#include <string>

#include <sheaf/error.hpp>
#include <sheaf/memory.hpp>

#include "bench/primitives/reduce_items.hpp"
#include "bench/primitives/sort_items.hpp"
#include "bench/primitives/split_items.hpp"

namespace sheaf::bench::device {
namespace {

constexpr unsigned threads = 256;
constexpr std::uint64_t most_blocks =
    16384;  // a grid-stride loop covers larger arrays, so that few threads add to the totals

template <class Item>
__global__ void run_items(std::uint64_t count, Item item, unsigned long long* total) {
  tally mine;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * threads) {
    mine += item(i);
  }
  if (mine.mismatches != 0) atomicAdd(&total[0], mine.mismatches);
  if (mine.sum != 0) atomicAdd(&total[1], mine.sum);
}

}  // namespace

template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item) {
  if (count == 0) return {};
  const buffer total(ctx, 2 * sizeof(unsigned long long));
  tally all;
  copy_bytes(ctx, total.data(), &all, sizeof all);
  const std::uint64_t blocks = (count + threads - 1) / threads;
  run_items<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), threads, 0, ctx.stream()>>>(
      count, item, total.as<unsigned long long>());
  if (const cudaError_t result = cudaGetLastError(); result != cudaSuccess) {
    throw error(error_code::device_failure, std::string("sheaf-bench: ") + cudaGetErrorString(result));
  }
  copy_bytes(ctx, &all, total.data(), sizeof all);
  return all;
}

template tally over_items(const context&, std::uint64_t, const fill_split_records&);
template tally over_items(const context&, std::uint64_t, const fill_split_keys&);
template tally over_items(const context&, std::uint64_t, const check_split_records&);
template tally over_items(const context&, std::uint64_t, const check_gather_index&);
template tally over_items(const context&, std::uint64_t, const invert_index&);
template tally over_items(const context&, std::uint64_t, const fill_ones&);
template tally over_items(const context&, std::uint64_t, const fill_sort_keys&);
template tally over_items(const context&, std::uint64_t, const fill_sort_rows&);
template tally over_items(const context&, std::uint64_t, const check_sorted_keys&);
template tally over_items(const context&, std::uint64_t, const check_sorted_rows&);
template tally over_items(const context&, std::uint64_t, const check_sort_index&);
template tally over_items(const context&, std::uint64_t, const fill_values&);
template tally over_items(const context&, std::uint64_t, const fill_slots&);
template tally over_items(const context&, std::uint64_t, const checksum_values&);
template tally over_items(const context&, std::uint64_t, const checksum_slots&);

}  // namespace sheaf::bench::device
