#pragma once

#include <string>

#include <cuda_runtime.h>
#include <sheaf/error.hpp>
#include <sheaf/memory.hpp>

#include "lab/description/items.hpp"

// The CUDA half of items.hpp. Each function object is instantiated in one .cu file.
namespace sheaf::jobs::device {

constexpr unsigned item_threads = 256;
constexpr std::uint64_t most_item_blocks =
    16384;  // a grid-stride loop covers larger arrays, so that few threads add to the totals

template <class Item>
__global__ void run_items(std::uint64_t count, Item item, unsigned long long* total) {
  tally mine;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * item_threads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * item_threads) {
    mine += item(i);
  }
  if (mine.mismatches != 0) atomicAdd(&total[0], mine.mismatches);
  if (mine.sum != 0) atomicAdd(&total[1], mine.sum);
}

template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item) {
  if (count == 0) return {};
  const buffer total(ctx, 2 * sizeof(unsigned long long));
  tally all;
  copy_bytes(ctx, total.data(), &all, sizeof all);
  const std::uint64_t blocks = (count + item_threads - 1) / item_threads;
  run_items<<<static_cast<unsigned>(blocks < most_item_blocks ? blocks : most_item_blocks), item_threads, 0,
              ctx.stream()>>>(count, item, total.as<unsigned long long>());
  if (const cudaError_t result = cudaGetLastError(); result != cudaSuccess) {
    throw error(error_code::device_failure, std::string("inputs: ") + cudaGetErrorString(result));
  }
  copy_bytes(ctx, &all, total.data(), sizeof all);
  return all;
}

}  // namespace sheaf::jobs::device
