#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

#include "lab/description/reduce/problem.hpp"
#include "lab/peers/cub/calls.cuh"

namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned sum_threads = 256;

template <class Value, class Index>
__global__ void add_atomically(const Value* in, const Index* index, std::uint64_t count, Value* out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * sum_threads + threadIdx.x;
  if (i < count) atomicAdd(&out[index[i]], in[i]);
}

template <class Value>
contender atomics(const context& ctx, const problem& problem, const workspace& arrays) {
  const auto queue = [ctx, problem, &arrays](std::uint64_t copy) {
    const auto blocks = static_cast<unsigned>((problem.count + sum_threads - 1) / sum_threads);
    const void* const index = arrays.index(copy).data;
    if (bytes(problem.index) == 4) {
      add_atomically<<<blocks, sum_threads, 0, ctx.stream()>>>(source_of<Value>(arrays, copy),
                                                               static_cast<const std::uint32_t*>(index), problem.count,
                                                               target_of<Value>(arrays, copy));
    } else {
      add_atomically<<<blocks, sum_threads, 0, ctx.stream()>>>(source_of<Value>(arrays, copy),
                                                               static_cast<const std::uint64_t*>(index), problem.count,
                                                               target_of<Value>(arrays, copy));
    }
    require(cudaGetLastError(), "atomics");
  };
  // Additions of floats in any order differ from run to run.
  const bool varies = std::is_floating_point_v<Value> &&
                      problem.part<primitives::reduce_part>().order == reduction_order::deterministic;
  return {.who = "atomics", .promises_less = varies, .queue = queue, .wait = [ctx] { wait(ctx); }};
}

// Every slot occurs once, so that plain additions do not conflict.
template <class Value>
__global__ void add_runs(const std::uint32_t* slots, const Value* sums, const std::uint32_t* runs, Value* out) {
  const std::uint32_t count = *runs;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * sum_threads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * sum_threads) {
    out[slots[i]] += sums[i];
  }
}

int bits_of_slots(std::uint64_t slots) {
  int bits = 1;
  while (bits < 32 && std::uint64_t{1} << bits < slots) ++bits;
  return bits;
}

template <class Value>
contender sort_and_reduce(const context& ctx, const problem& problem, const workspace& arrays) {
  scratch_layout layout;
  layout.add(problem.count * sizeof(std::uint32_t));
  const std::uint64_t values_at = layout.add(problem.count * sizeof(Value));
  const std::uint64_t slots_at = layout.add(problem.count * sizeof(std::uint32_t));
  const std::uint64_t sums_at = layout.add(problem.count * sizeof(Value));
  const std::uint64_t runs_at = layout.add(sizeof(std::uint32_t));
  const auto call = [=, count = static_cast<std::uint32_t>(problem.count),
                     bits = bits_of_slots(problem.indexed_count()), &arrays,
                     stream = ctx.stream()](void* temporary, std::size_t& bytes, std::byte* lists, std::uint64_t copy) {
    auto* const sorted = reinterpret_cast<std::uint32_t*>(lists);
    auto* const values = reinterpret_cast<Value*>(lists + values_at);
    auto* const slots = reinterpret_cast<std::uint32_t*>(lists + slots_at);
    auto* const sums = reinterpret_cast<Value*>(lists + sums_at);
    auto* const runs = reinterpret_cast<std::uint32_t*>(lists + runs_at);
    const auto* const index = static_cast<const std::uint32_t*>(arrays.index(copy).data);
    std::size_t sort_bytes = bytes;
    std::size_t reduce_bytes = bytes;
    cudaError_t result = cub::DeviceRadixSort::SortPairs(
        temporary, sort_bytes, index, sorted, source_of<Value>(arrays, copy), values, count, 0, bits, stream);
    if (result != cudaSuccess) return result;
    result = cub::DeviceReduce::ReduceByKey(temporary, reduce_bytes, static_cast<const std::uint32_t*>(sorted), slots,
                                            static_cast<const Value*>(values), sums, runs, cuda::std::plus<>{}, count,
                                            stream);
    if (result != cudaSuccess) return result;
    bytes = std::max(sort_bytes, reduce_bytes);
    if (temporary == nullptr) return cudaSuccess;
    const auto blocks =
        static_cast<unsigned>(std::min<std::uint64_t>((count + sum_threads - 1) / sum_threads, 1 << 16));
    add_runs<<<blocks, sum_threads, 0, stream>>>(slots, sums, runs, target_of<Value>(arrays, copy));
    return cudaGetLastError();
  };
  return cub_contender(ctx, arrays, "cub.sort_reduce", layout.bytes, call);
}

}  // namespace

std::vector<contender> reduce_peers(const context& ctx, const problem& problem, const workspace& arrays) {
  const bool sorts = bytes(problem.index) == 4 && fits_in_32_bits(problem);
  std::vector<contender> all;
  switch (problem.value) {
    case value_type::f32:
      all.push_back(atomics<float>(ctx, problem, arrays));
      if (sorts) all.push_back(sort_and_reduce<float>(ctx, problem, arrays));
      break;
    case value_type::f64:
      all.push_back(atomics<double>(ctx, problem, arrays));
      if (sorts) all.push_back(sort_and_reduce<double>(ctx, problem, arrays));
      break;
    case value_type::i32:
    case value_type::u32: all.push_back(atomics<unsigned>(ctx, problem, arrays)); break;
    case value_type::i64:
    case value_type::u64: all.push_back(atomics<unsigned long long>(ctx, problem, arrays)); break;
    default: break;
  }
  return all;
}

}  // namespace sheaf::bench::peers::device
