#pragma once

#include <cstdint>
#include <type_traits>
#ifdef __CUDACC__
#include <algorithm>
#include <string>

#include <cuda_runtime.h>
#endif

#include <sheaf/context.hpp>
#include <sheaf/error.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/plan.hpp>

#include "example.hpp"

// The steps of a program between the library's calls, which compute with the data that the calls move: a function
// object of a number, for all numbers, where the context's memory is. A source that includes this is plain C++ with
// OpenMP for the CPU, and CUDA C++ (nvcc -x cu) for CPU and CUDA.

#ifdef __CUDACC__
#define EXAMPLE_HOST_DEVICE __host__ __device__
#else
#define EXAMPLE_HOST_DEVICE
#endif

namespace example {

#ifdef __CUDACC__
/// A grid-stride loop, so that a grid of limited size covers every count.
template <class Function>
__global__ void run_for_each(std::uint64_t count, Function function) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) function(i);
}
#endif

/// Calls function(0) to function(count - 1), in any order and several at once. Like a call of the library's, it is
/// queued on a CUDA context and done on return on a CPU context.
/// @param function  reads and writes the context's memory, through pointers that it holds. On CUDA it is an argument of
///                  a kernel: trivially copyable, its operator() EXAMPLE_HOST_DEVICE.
/// @throws sheaf::error(backend_unavailable) on a CUDA context if no CUDA compiler compiled the program
template <class Function>
void for_each(const sheaf::context& ctx, std::uint64_t count, const Function& function) {
  static_assert(std::is_trivially_copyable_v<Function>, "the function is an argument of kernels");
  if (ctx.backend() == sheaf::backend_kind::cuda) {
#ifdef __CUDACC__
    if (count == 0) return;
    constexpr unsigned threads = 256;
    constexpr std::uint64_t most_blocks = 1 << 20;
    const std::uint64_t blocks = std::min((count + threads - 1) / threads, most_blocks);
    int current = 0;
    cudaGetDevice(&current);
    cudaSetDevice(ctx.device());
    run_for_each<<<static_cast<unsigned>(blocks), threads, 0, ctx.stream()>>>(count, function);
    const cudaError_t result = cudaGetLastError();
    cudaSetDevice(current);
    if (result != cudaSuccess) {
      throw sheaf::error(sheaf::error_code::device_failure, std::string("for_each: ") + cudaGetErrorString(result));
    }
    return;
#else
    throw sheaf::error(sheaf::error_code::backend_unavailable,
                       "for_each: this program was compiled without CUDA; run it on cpu");
#endif
  }
  // Small shares are drawn one by one, as some numbers may take much longer than others.
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 1024)
  for (std::uint64_t i = 0; i < count; ++i) function(i);
}

template <class T>
struct fill {
  T* values;
  T value;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const { values[i] = value; }
};

/// values[i] = i
template <class T>
struct number {
  T* values;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const { values[i] = static_cast<T>(i); }
};

/// Element i leads to element i + 1, the last one to itself.
struct link_to_next {
  std::uint32_t* successor;
  std::uint64_t count;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const {
    successor[i] = static_cast<std::uint32_t>(i + 1 < count ? i + 1 : i);
  }
};

/// sums[i] = counts[0] + ... + counts[i - 1]: the scan of a list whose nodes lie in its order.
inline void sums_before(const sheaf::context& ctx, const array<std::uint64_t>& counts,
                        const array<std::uint64_t>& sums) {
  const array<std::uint32_t> successor(ctx, counts.size());
  for_each(ctx, counts.size(), link_to_next{successor.data(), counts.size()});
  sheaf::list_scan_options options;
  options.exclusive_from = std::uint64_t{0};
  options.pattern = sheaf::access_pattern::sequential();
  sheaf::list_scan(ctx, successor, counts, sums, sheaf::scan_operator::add, options);
}

}  // namespace example
