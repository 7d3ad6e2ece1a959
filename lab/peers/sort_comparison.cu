#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>

#include <new>

#include "lab/peers/cub/calls.cuh"

// Rows as structs with a comparison, which thrust sorts by merging.
namespace sheaf::bench::peers::device {
namespace {

struct by_key {
  template <class Row>
  __host__ __device__ bool operator()(const Row& a, const Row& b) const {
    return a.key < b.key;
  }
};

/// Allocator over a block of scratch memory, so that thrust does not call cudaMalloc while it is timed.
class piecewise {
 public:
  using value_type = char;
  piecewise(std::byte* first, std::uint64_t bytes) : next_(first), end_(first + bytes) {}
  char* allocate(std::ptrdiff_t bytes) {
    const std::ptrdiff_t whole = (bytes + 255) / 256 * 256;
    if (end_ - next_ < whole) throw std::bad_alloc();
    std::byte* const piece = next_;
    next_ += whole;
    return reinterpret_cast<char*>(piece);
  }
  void deallocate(char*, std::size_t) {}

 private:
  std::byte* next_;
  std::byte* end_;
};

// thrust sorts in place, so that the rows are copied first. Merging needs a second array of rows and little more.
template <class Row>
contender sort(const context& ctx, const problem& p, const workspace& arrays) {
  const std::uint64_t scratch_bytes = p.count * sizeof(Row) / 8 * 9 + (std::uint64_t{1} << 22);
  const auto queue = [ctx, count = p.count, scratch_bytes, &arrays](std::uint64_t copy) {
    piecewise scratch(arrays.scratch(scratch_bytes), scratch_bytes);
    const auto policy = thrust::cuda::par_nosync(scratch).on(ctx.stream());
    Row* const rows = target_of<Row>(arrays, copy);
    const Row* const from = source_of<Row>(arrays, copy);
    thrust::copy(thrust::cuda::par_nosync.on(ctx.stream()), from, from + count, rows);
    thrust::stable_sort(policy, rows, rows + count, by_key{});
  };
  return {.who = "thrust.stable_sort", .scratch_bytes = scratch_bytes, .queue = queue, .wait = [ctx] { wait(ctx); }};
}

}  // namespace

std::vector<contender> struct_comparison_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  switch (p.record_bytes) {
    case 16: return {sort<keyed_row<2>>(ctx, p, arrays)};
    case 32: return {sort<keyed_row<4>>(ctx, p, arrays)};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
