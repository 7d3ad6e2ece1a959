#include <cuda_runtime_api.h>

#include "lab/description/movement/problem.hpp"
#include "lab/peers/cub/calls.cuh"
#include "lab/peers/movement.hpp"

// A scatter whose last writer wins, as one writes it: each record finds by atomicMax whether a later one names its
// slot, and is written by the second kernel if none does.
namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned write_threads = 256;

__global__ void find_last(const std::uint32_t* index, std::uint32_t count, std::uint32_t* last) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * write_threads + threadIdx.x;
  if (i < count) atomicMax(&last[index[i]], static_cast<std::uint32_t>(i + 1));
}

template <class Record>
__global__ void write_last(const Record* in, const std::uint32_t* index, std::uint32_t count, const std::uint32_t* last,
                           Record* out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * write_threads + threadIdx.x;
  if (i < count && last[index[i]] == i + 1) out[index[i]] = in[i];
}

template <class Record>
contender scatter(const context& ctx, const problem& p, const workspace& arrays) {
  const std::uint64_t scratch_bytes = p.indexed_count() * sizeof(std::uint32_t);
  const auto queue = [ctx, count = static_cast<std::uint32_t>(p.count), scratch_bytes, &arrays](std::uint64_t copy) {
    auto* const last = reinterpret_cast<std::uint32_t*>(arrays.scratch(scratch_bytes));
    require(cudaMemsetAsync(last, 0, scratch_bytes, ctx.stream()), "atomic_max");
    if (count == 0) return;
    const auto* const index = static_cast<const std::uint32_t*>(arrays.index(copy).data);
    const unsigned blocks = (count - 1) / write_threads + 1;
    find_last<<<blocks, write_threads, 0, ctx.stream()>>>(index, count, last);
    write_last<<<blocks, write_threads, 0, ctx.stream()>>>(source_of<Record>(arrays, copy), index, count, last,
                                                           target_of<Record>(arrays, copy));
    require(cudaGetLastError(), "atomic_max");
  };
  return {.who = "atomic_max", .scratch_bytes = scratch_bytes, .queue = queue, .wait = [ctx] { wait(ctx); }};
}

}  // namespace

std::vector<contender> last_writer_scatters(const context& ctx, const problem& problem, const workspace& arrays) {
  if (problem.part<primitives::movement_part>().duplicates != duplicates::last || bytes(problem.index) != 4 ||
      !fits_in_32_bits(problem))
    return {};
  switch (problem.record_bytes) {
    case 4: return {scatter<std::uint32_t>(ctx, problem, arrays)};
    case 8: return {scatter<std::uint64_t>(ctx, problem, arrays)};
    case 16: return {scatter<plain_record<16>>(ctx, problem, arrays)};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
