#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/device/device_radix_sort.cuh>

#include "lab/description/reduce/problem.hpp"
#include "lab/peers/cub/calls.cuh"

// Peers of reductions of rows: a thread for each value, or for each four where rows are whole fours of f32, which
// combines it with the output by an atomic; and for sums in a fixed order CUB's sort of row numbers by slot, behind
// which a warp adds the rows of each slot. Floats of 16 bits are combined in f32.
namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned row_threads = 256;

struct rows_to_combine {
  std::uint64_t items = 0;  ///< of all rows
  std::uint32_t of_row = 1;
};

/// Quotients of 32 bits are several times as fast.
__device__ __forceinline__ std::uint64_t row_of_item(std::uint64_t i, const rows_to_combine& rows) {
  return i >> 32 == 0 ? static_cast<std::uint32_t>(i) / rows.of_row : i / rows.of_row;
}

__device__ float as_sum(float value) { return value; }
__device__ float as_sum(__half value) { return __half2float(value); }
__device__ float as_sum(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ double as_sum(double value) { return value; }
__device__ unsigned as_sum(unsigned value) { return value; }
__device__ unsigned long long as_sum(unsigned long long value) { return value; }

struct add_atomic {
  template <class Out>
  __device__ void operator()(Out* to, Out value) const {
    atomicAdd(to, value);
  }
};
/// The order of floats is that of their bits as whole numbers, and the reverse of it below zero. -0, which counts as
/// above zero here, is not generated.
struct max_atomic {
  __device__ void operator()(float* to, float value) const {
    if (value >= 0) {
      atomicMax(reinterpret_cast<int*>(to), __float_as_int(value));
    } else {
      atomicMin(reinterpret_cast<unsigned*>(to), __float_as_uint(value));
    }
  }
};
struct min_atomic {
  __device__ void operator()(float* to, float value) const {
    if (value >= 0) {
      atomicMin(reinterpret_cast<int*>(to), __float_as_int(value));
    } else {
      atomicMax(reinterpret_cast<unsigned*>(to), __float_as_uint(value));
    }
  }
};

template <class In, class Out, class Index, class Combine>
__global__ void combine_values(const In* in, const Index* index, rows_to_combine rows, Out* out, Combine combine) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (i >= rows.items) return;
  const std::uint64_t row = row_of_item(i, rows);
  const std::uint64_t k = i - row * rows.of_row;
  combine(out + static_cast<std::uint64_t>(index[row]) * rows.of_row + k, as_sum(in[i]));
}

/// Four values of f32 in one atomic, which devices of compute capability 9 have.
template <class Index>
__global__ void add_fours(const float4* in, const Index* index, rows_to_combine rows, float4* out) {
#if __CUDA_ARCH__ >= 900
  const std::uint64_t i = std::uint64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (i >= rows.items) return;
  const std::uint64_t row = row_of_item(i, rows);
  const std::uint64_t k = i - row * rows.of_row;
  atomicAdd(out + static_cast<std::uint64_t>(index[row]) * rows.of_row + k, in[i]);
#endif
}

template <class Out>
__global__ void set_values(Out* out, std::uint64_t count, Out value) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (i < count) out[i] = value;
}

unsigned blocks_of(std::uint64_t items) { return static_cast<unsigned>((items + row_threads - 1) / row_threads); }

// Code for earlier devices, which a driver may have translated for this one, has no such kernel.
bool adds_fours() {
  constexpr int least = 90;
  cudaFuncAttributes kernel{};
  require(cudaFuncGetAttributes(&kernel, add_fours<std::uint32_t>), "cudaFuncGetAttributes");
  return kernel.ptxVersion >= least;
}

/// The arrays and the kernel of a row, whose types it knows.
template <class In, class Out, class Combine>
std::vector<contender> by_atomics(const context& ctx, const problem& problem, const workspace& arrays, Out identity,
                                  Combine combine) {
  const auto width = static_cast<std::uint32_t>(problem.record_bytes / sizeof(In));
  const bool is_float_sum = std::is_floating_point_v<Out> && std::is_same_v<Combine, add_atomic>;
  const auto queue = [=, &arrays, ctx = ctx, wide = bytes(problem.index) == 8, count = problem.count,
                      fours = std::is_same_v<In, float> && is_float_sum && width % 4 == 0 && adds_fours(),
                      out_values = problem.indexed_count() * width,
                      clears = problem.part<primitives::rows_part>().start ==
                               reduction_start::identity](std::uint64_t copy) {
    auto* const out = target_of<Out>(arrays, copy);
    if (clears && identity == Out{0}) {
      require(cudaMemsetAsync(out, 0, out_values * sizeof(Out), ctx.stream()), "atomics");
    } else if (clears && out_values > 0) {
      set_values<<<blocks_of(out_values), row_threads, 0, ctx.stream()>>>(out, out_values, identity);
    }
    if (count == 0) return;
    const auto with_index = [&](auto* index) {
      if constexpr (std::is_same_v<In, float>) {
        if (fours) {
          const rows_to_combine rows{count * width / 4, width / 4};
          add_fours<<<blocks_of(rows.items), row_threads, 0, ctx.stream()>>>(source_of<float4>(arrays, copy), index,
                                                                             rows, target_of<float4>(arrays, copy));
          return;
        }
      }
      const rows_to_combine rows{count * width, width};
      combine_values<<<blocks_of(rows.items), row_threads, 0, ctx.stream()>>>(source_of<In>(arrays, copy), index, rows,
                                                                              out, combine);
    };
    const void* const index = arrays.index(copy).data;
    if (wide) {
      with_index(static_cast<const std::uint64_t*>(index));
    } else {
      with_index(static_cast<const std::uint32_t*>(index));
    }
    require(cudaGetLastError(), "atomics");
  };
  const bool varies = is_float_sum && problem.part<primitives::reduce_part>().order == reduction_order::deterministic;
  return {{.who = "atomics", .promises_less = varies, .queue = queue, .wait = [ctx] { wait(ctx); }}};
}

/// A warp for each place in the sorted list adds the rows of the slot that begins there.
template <class In, class Out>
__global__ void add_runs_of_rows(const In* in, const std::uint32_t* slots, const std::uint32_t* numbers,
                                 std::uint32_t count, std::uint32_t width, Out* out) {
  const std::uint32_t begin = (blockIdx.x * row_threads + threadIdx.x) / 32;
  if (begin >= count) return;
  const std::uint32_t slot = slots[begin];
  if (begin > 0 && slots[begin - 1] == slot) return;
  for (std::uint32_t k = threadIdx.x % 32; k < width; k += 32) {
    Out sum = out[std::uint64_t{slot} * width + k];
    for (std::uint32_t i = begin; i < count && slots[i] == slot; ++i) {
      sum += as_sum(in[std::uint64_t{numbers[i]} * width + k]);
    }
    out[std::uint64_t{slot} * width + k] = sum;
  }
}

__global__ void number_rows(std::uint32_t* numbers, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * row_threads + threadIdx.x;
  if (i < count) numbers[i] = i;
}

template <class In, class Out>
std::vector<contender> by_sort(const context& ctx, const problem& problem, const workspace& arrays) {
  if (bytes(problem.index) != 4 || problem.count == 0 || problem.count >= std::uint64_t{1} << 27) return {};
  scratch_layout layout;
  layout.add(problem.count * sizeof(std::uint32_t));
  const std::uint64_t numbers_at = layout.add(problem.count * sizeof(std::uint32_t));
  const std::uint64_t sorted_at = layout.add(problem.count * sizeof(std::uint32_t));
  const auto width = static_cast<std::uint32_t>(problem.record_bytes / sizeof(In));
  int bits = 1;
  while (bits < 32 && std::uint64_t{1} << bits < problem.indexed_count()) ++bits;
  const auto call = [=, count = static_cast<std::uint32_t>(problem.count), &arrays, stream = ctx.stream(),
                     out_bytes = problem.indexed_count() * width * sizeof(Out),
                     clears = problem.part<primitives::rows_part>().start == reduction_start::identity](
                        void* temporary, std::size_t& temporary_bytes, std::byte* lists, std::uint64_t copy) {
    auto* const slots = reinterpret_cast<std::uint32_t*>(lists);
    auto* const numbers = reinterpret_cast<std::uint32_t*>(lists + numbers_at);
    auto* const sorted = reinterpret_cast<std::uint32_t*>(lists + sorted_at);
    const auto* const index = static_cast<const std::uint32_t*>(arrays.index(copy).data);
    if (temporary != nullptr) {
      number_rows<<<blocks_of(count), row_threads, 0, stream>>>(numbers, count);
      if (clears) require(cudaMemsetAsync(target_of<Out>(arrays, copy), 0, out_bytes, stream), "cub.sort_reduce");
    }
    const cudaError_t result = cub::DeviceRadixSort::SortPairs(temporary, temporary_bytes, index, slots, numbers,
                                                               sorted, count, 0, bits, stream);
    if (result != cudaSuccess || temporary == nullptr) return result;
    add_runs_of_rows<<<blocks_of(std::uint64_t{count} * 32), row_threads, 0, stream>>>(
        source_of<In>(arrays, copy), slots, sorted, count, width, target_of<Out>(arrays, copy));
    return cudaGetLastError();
  };
  return {cub_contender(ctx, arrays, "cub.sort_reduce", layout.bytes, call)};
}

}  // namespace

std::vector<contender> row_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  const value_type out = p.part<primitives::rows_part>().out.value_or(p.value);
  if (p.part<primitives::reduce_part>().op != reduction::add) return {};
  if (p.value == value_type::f64) return by_sort<double, double>(ctx, p, arrays);
  if (out != value_type::f32) return {};
  if (p.value == value_type::f16) return by_sort<__half, float>(ctx, p, arrays);
  if (p.value == value_type::bf16) return by_sort<__nv_bfloat16, float>(ctx, p, arrays);
  return by_sort<float, float>(ctx, p, arrays);
}

std::vector<contender> row_atomics(const context& ctx, const problem& p, const workspace& arrays) {
  const value_type out = p.part<primitives::rows_part>().out.value_or(p.value);
  const reduction op = p.part<primitives::reduce_part>().op;
  const bool to_f32 = out == value_type::f32;
  if (op == reduction::max && p.value == value_type::f32 && to_f32)
    return by_atomics<float>(ctx, p, arrays, -INFINITY, max_atomic{});
  if (op == reduction::min && p.value == value_type::f32 && to_f32)
    return by_atomics<float>(ctx, p, arrays, INFINITY, min_atomic{});
  if (op != reduction::add) return {};
  switch (p.value) {
    case value_type::f16:
      return to_f32 ? by_atomics<__half>(ctx, p, arrays, 0.0F, add_atomic{}) : std::vector<contender>();
    case value_type::bf16:
      return to_f32 ? by_atomics<__nv_bfloat16>(ctx, p, arrays, 0.0F, add_atomic{}) : std::vector<contender>();
    case value_type::f32: return by_atomics<float>(ctx, p, arrays, 0.0F, add_atomic{});
    case value_type::f64: return by_atomics<double>(ctx, p, arrays, 0.0, add_atomic{});
    case value_type::i32:
    case value_type::u32:
      return bytes(out) == 4 ? by_atomics<unsigned>(ctx, p, arrays, 0U, add_atomic{}) : std::vector<contender>();
    case value_type::i64:
    case value_type::u64: return by_atomics<unsigned long long>(ctx, p, arrays, 0ULL, add_atomic{});
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
