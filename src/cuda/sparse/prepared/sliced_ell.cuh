#pragma once

#include "cuda/sparse/prepared/sliced_ell.hpp"
#include "cuda/sparse/sums/row_products.cuh"

// A product by a matrix in sliced ELLPACK: a warp for each slice.
namespace sheaf::cuda {

constexpr unsigned ell_threads = 1024;

/// How a kernel takes slices.
/// @tparam Lanes  of a row
/// @tparam InFlight  entries that a lane reads at once
/// @tparam Blocks  of a multiprocessor
template <unsigned Lanes, ell_form Form, unsigned InFlight, unsigned Blocks>
struct ell_tuning {
  static constexpr unsigned lanes = Lanes;
  static constexpr ell_form form = Form;
  static constexpr unsigned in_flight = InFlight;
  static constexpr unsigned blocks = Blocks;
};

// The matrix is read once, so it takes no place in L1, which is x's.
__device__ __forceinline__ std::uint32_t read_once(const std::uint32_t* from) {
  std::uint32_t read;
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(read) : "l"(from));
  return read;
}
__device__ __forceinline__ std::uint32_t read_once(const std::uint16_t* from) {
  std::uint16_t read;
  asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(read) : "l"(from));
  return read;
}
__device__ __forceinline__ float read_once(const float* from) {
  float read;
  asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(read) : "l"(from));
  return read;
}
__device__ __forceinline__ double read_once(const double* from) {
  double read;
  asm volatile("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(read) : "l"(from));
  return read;
}

/// x[column], or 0 where the column is padding, whose address is not read. A predicate, where a compiler may branch:
/// a branch would keep the reads of several entries from being in flight together.
__device__ __forceinline__ float x_of(const float* x, std::uint32_t column, std::uint32_t padding) {
  float read;
  asm volatile(
      "{.reg .pred present; setp.ne.u32 present, %2, %3; mov.f32 %0, 0f00000000; @present ld.global.nc.f32 %0, [%1];}"
      : "=&f"(read)
      : "l"(x + column), "r"(column), "r"(padding));
  return read;
}
__device__ __forceinline__ double x_of(const double* x, std::uint32_t column, std::uint32_t padding) {
  double read;
  asm volatile(
      "{.reg .pred present; setp.ne.u32 present, %2, %3; mov.f64 %0, 0d0000000000000000; @present ld.global.nc.f64 %0, "
      "[%1];}"
      : "=&d"(read)
      : "l"(x + column), "r"(column), "r"(padding));
  return read;
}

/// The x of a hot column in shared memory, or of another.
/// @param shared  address of the first one's
__device__ __forceinline__ float x_of_any(const float* x, std::uint32_t column, std::uint32_t shared) {
  float read;
  asm volatile("{.reg .pred hot; setp.lt.s32 hot, %2, 0; @hot ld.shared.f32 %0, [%3]; @!hot ld.global.nc.f32 %0, [%1];}"
               : "=&f"(read)
               : "l"(x + (column & ~is_hot)), "r"(column), "r"(shared + (column << 2)));
  return read;
}
__device__ __forceinline__ double x_of_any(const double* x, std::uint32_t column, std::uint32_t shared) {
  double read;
  asm volatile("{.reg .pred hot; setp.lt.s32 hot, %2, 0; @hot ld.shared.f64 %0, [%3]; @!hot ld.global.nc.f64 %0, [%1];}"
               : "=&d"(read)
               : "l"(x + (column & ~is_hot)), "r"(column), "r"(shared + (column << 3)));
  return read;
}

/// Adds a lane's products of `steps` steps. Padding adds 0 times 0.
/// @param columns, values  the lane's place of the first step
/// @param x_at  x of a column, or 0 of padding
template <unsigned InFlight, class Sum, class Column, class Value, class XAt>
__device__ __forceinline__ void add_steps(Sum& sum, const Column* columns, const Value* values, std::uint32_t steps,
                                          std::uint32_t padding, XAt x_at) {
  for (std::uint32_t step = 0; step < steps; step += InFlight) {
    std::uint32_t column[InFlight];
    Value value[InFlight];
    Value x_value[InFlight];
    if (steps - step >= InFlight) {
#pragma unroll
      for (unsigned k = 0; k < InFlight; ++k) {
        column[k] = read_once(columns + std::uint64_t{step + k} * 32);
        value[k] = read_once(values + std::uint64_t{step + k} * 32);
      }
    } else {
#pragma unroll
      for (unsigned k = 0; k < InFlight; ++k) {
        column[k] = padding;
        value[k] = 0;
        if (step + k >= steps) continue;
        column[k] = read_once(columns + std::uint64_t{step + k} * 32);
        value[k] = read_once(values + std::uint64_t{step + k} * 32);
      }
    }
#pragma unroll
    for (unsigned k = 0; k < InFlight; ++k) x_value[k] = x_at(column[k]);
#pragma unroll
    for (unsigned k = 0; k < InFlight; ++k) sum += static_cast<Sum>(value[k]) * static_cast<Sum>(x_value[k]);
  }
}

/// x of hot columns, side by side.
template <class Value>
__global__ void __launch_bounds__(block_threads)
    gather_hot_x(const std::uint32_t* columns, std::uint32_t count, const Value* x, Value* hot_x) {
  const std::uint32_t i = blockIdx.x * block_threads + threadIdx.x;
  if (i < count) hot_x[i] = x[columns[i]];
}

/// The first `long_blocks` blocks take long rows, a warp each; each block behind takes `slices_of_block` slices, side
/// by side, so that its warps find near columns of x in L1.
template <class Tuning, class Sum, class Value>
__global__ void __launch_bounds__(ell_threads, Tuning::blocks)
    multiply_ell_slices(const __grid_constant__ product_arguments<Value, std::uint32_t> args,
                        const __grid_constant__ ell_arrays<Value> a, const __grid_constant__ ell_shape shape,
                        std::uint32_t long_blocks, std::uint32_t slices_of_block, const Value* hot_x) {
  constexpr unsigned lanes = Tuning::lanes;
  constexpr unsigned warps = ell_threads / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  std::uint32_t shared = 0;
  if constexpr (Tuning::form == ell_form::hot) {
    auto* const hot = reinterpret_cast<Value*>(shared_memory);
    for (unsigned i = threadIdx.x; i < shape.hot; i += ell_threads) hot[i] = hot_x[i];
    if (threadIdx.x == 0) hot[shape.hot] = 0;  // padding's
    shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory));
    __syncthreads();
  }
  const auto add_far = [&](Sum& sum, std::uint32_t slice) {
    const std::uint32_t begin = __ldg(a.begins + slice);
    const std::uint32_t steps = __ldg(a.begins + slice + 1) - begin;
    const std::uint64_t place = std::uint64_t{begin} * 32 + lane;
    if constexpr (Tuning::form == ell_form::hot) {
      add_steps<Tuning::in_flight>(sum, a.columns + place, a.values + place, steps, is_hot | shape.hot,
                                   [&](std::uint32_t column) { return x_of_any(args.x, column, shared); });
    } else {
      add_steps<Tuning::in_flight>(sum, a.columns + place, a.values + place, steps, far_padding,
                                   [&](std::uint32_t column) { return x_of(args.x, column, far_padding); });
    }
  };
  if (blockIdx.x < long_blocks) {
    for (std::uint32_t slice = blockIdx.x * warps + warp; slice < shape.long_rows; slice += long_blocks * warps) {
      Sum sum = 0;
      add_far(sum, slice);
      sum = sum_of_lanes<32>(sum);
      if (lane == 0) write_result(args, __ldg(a.rows + slice), sum);
    }
    return;
  }
  const std::uint64_t first = std::uint64_t{blockIdx.x - long_blocks} * slices_of_block;
  const auto last = static_cast<std::uint32_t>(min(std::uint64_t{shape.slices}, first + slices_of_block));
  for (auto slice = static_cast<std::uint32_t>(first) + warp; slice < last; slice += warps) {
    const std::uint32_t row = lane % lanes == 0
                                  ? __ldg(a.rows + shape.long_rows + std::uint64_t{slice} * (32 / lanes) + lane / lanes)
                                  : no_ell_row;
    Sum sum = 0;
    if constexpr (Tuning::form == ell_form::split) {
      const std::uint32_t begin = __ldg(a.near_begins + slice);
      const std::uint32_t steps = __ldg(a.near_begins + slice + 1) - begin;
      const std::uint64_t place = std::uint64_t{begin} * 32 + lane;
      const Value* const near_x = args.x + __ldg(a.near_firsts + slice / (ell_window_rows / 32));
      add_steps<Tuning::in_flight>(sum, a.near_columns + place, a.near_values + place, steps, near_padding,
                                   [&](std::uint32_t column) { return x_of(near_x, column, near_padding); });
    }
    add_far(sum, shape.long_rows + slice);
    sum = sum_of_lanes<lanes>(sum);
    if (row != no_ell_row) write_result(args, row, sum);
  }
}

}  // namespace sheaf::cuda
