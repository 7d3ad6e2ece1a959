#include "papers/patidar2009/split_sort.hpp"

#include "cuda/device/launch.cuh"
#include "papers/patidar2009/cuda/segments.cuh"

// cuda.split_sort: SplitSort on CUDA's basic split, to compare with, by name only.
namespace sheaf::cuda {
namespace {

using namespace primitives;
using namespace papers::patidar2009;

__device__ __forceinline__ void copy_bytes_of(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t b = 0; b < bytes; ++b) to[b] = from[b];
}

/// A thread packs a record.
__global__ void __launch_bounds__(block_threads)
    pack_records(packed_records layout, std::uint64_t count, packed_side keys, packed_side payloads,
                 std::byte* packed) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  std::byte* const to = packed + i * layout.record_bytes;
  auto* const words = reinterpret_cast<std::uint32_t*>(to);
  for (std::uint64_t w = 0; w < layout.record_bytes / 4; ++w) words[w] = 0;
  copy_bytes_of(to, keys.data + i * keys.stride_bytes, layout.key_bytes);
  std::byte* const payload = to + layout.payload_offset;
  if (payloads.data != nullptr) {
    return copy_bytes_of(payload, payloads.data + i * payloads.stride_bytes, layout.payload_bytes);
  }
  words[layout.payload_offset / 4] = static_cast<std::uint32_t>(i);
  if (layout.payload_bytes == 8) words[layout.payload_offset / 4 + 1] = static_cast<std::uint32_t>(i >> 32);
}

__global__ void __launch_bounds__(block_threads)
    unpack_records(packed_records layout, std::uint64_t count, const std::byte* packed, packed_side keys,
                   packed_side payloads) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const std::byte* const from = packed + i * layout.record_bytes;
  if (keys.data != nullptr) copy_bytes_of(keys.data + i * keys.stride_bytes, from, layout.key_bytes);
  copy_bytes_of(payloads.data + i * payloads.stride_bytes, from + layout.payload_offset, layout.payload_bytes);
}

void pack(const context& ctx, const packed_records& layout, std::uint64_t count, packed_side keys, packed_side payloads,
          std::byte* packed) {
  launch(ctx, pack_records, ceil_div(count, std::uint64_t{block_threads}), layout, count, keys, payloads, packed);
}

void unpack(const context& ctx, const packed_records& layout, std::uint64_t count, const std::byte* packed,
            packed_side keys, packed_side payloads) {
  launch(ctx, unpack_records, ceil_div(count, std::uint64_t{block_threads}), layout, count, packed, keys, payloads);
}

__global__ void __launch_bounds__(block_threads)
    count_keys(const __grid_constant__ key_arguments key, std::uint64_t count, unsigned long long* offsets) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  with_key_word(key, [&](auto load) { atomicAdd(offsets + category_at(load, i, 0, 1), 1ULL); });
}

void find_offsets_of_categories(const context& ctx, const split_problem& problem, const split_buffers& buffers,
                                std::byte* scratch) {
  auto* const offsets = reinterpret_cast<unsigned long long*>(buffers.offsets);
  require(cudaMemsetAsync(offsets, 0, (problem.categories + 1) * sizeof(std::uint64_t), ctx.stream()), ctx);
  if (problem.count == 0) return;
  const key_arguments key =
      keys_of({.data = buffers.keys.data, .stride = problem.key_stride_bytes, .word_bytes = 0, .bits = problem.bits});
  launch(ctx, count_keys, ceil_div(problem.count, std::uint64_t{block_threads}), key, problem.count, offsets);
  // The entry behind the last category is 0, so that its prefix sum is the number of all records.
  scan_numbers(ctx, buffers.offsets, problem.categories + 1, reinterpret_cast<std::uint64_t*>(scratch));
}

double streaming_seconds(std::uint64_t bytes, const machine& machine) {
  return machine.launch_seconds + static_cast<double>(bytes) / machine.copy_bytes_per_second;
}

plan::planned plan_sort(const sort_problem& problem, const plan::scope& scope) {
  return plan_split_sort(problem, scope, steps_of_split_sort);
}

void run_sort(const context& ctx, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
              std::byte* scratch) {
  const device_scope current_device(ctx.device());
  run_split_sort(ctx, problem, plan, buffers, scratch, steps_of_split_sort);
}

}  // namespace

const papers::patidar2009::split_sort_steps steps_of_split_sort{
    plan_basic_split, run_basic_split, pack, unpack, streaming_seconds, find_offsets_of_categories};

extern constinit const sort_variant sort_split_sort{"cuda.split_sort", backend_kind::cuda, plan_sort, run_sort};

}  // namespace sheaf::cuda
