#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/tuple>

#include "lab/peers/cub/calls.cuh"

// Rows as structs, whose key CUB finds by a decomposer.
namespace sheaf::bench::peers::device {
namespace {

struct key96 {
  std::uint32_t low;
  std::uint32_t middle;
  std::uint32_t high;
};

struct decompose_key96 {
  __host__ __device__ cuda::std::tuple<std::uint32_t&, std::uint32_t&, std::uint32_t&> operator()(key96& k) const {
    return {k.high, k.middle, k.low};
  }
};

struct decompose_row {
  template <class Row>
  __host__ __device__ cuda::std::tuple<std::uint64_t&> operator()(Row& row) const {
    return {row.key};
  }
};

template <class Row, class Decomposer>
contender sort(const context& ctx, const problem& p, const workspace& arrays, Decomposer parts_of) {
  const auto call = [count = static_cast<std::uint32_t>(p.count), parts_of, &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, source_of<Row>(arrays, copy), target_of<Row>(arrays, copy),
                                          count, parts_of, stream);
  };
  return cub_contender(ctx, arrays, "cub", 0, call);
}

}  // namespace

std::vector<contender> struct_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  switch (p.record_bytes) {
    case 12: return {sort<key96>(ctx, p, arrays, decompose_key96{})};
    case 16: return {sort<keyed_row<2>>(ctx, p, arrays, decompose_row{})};
    case 32: return {sort<keyed_row<4>>(ctx, p, arrays, decompose_row{})};
    default: return {};
  }
}

}  // namespace sheaf::bench::peers::device
