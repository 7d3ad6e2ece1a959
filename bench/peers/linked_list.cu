#include "bench/peers/linked_list.hpp"

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include "bench/peers/cub/calls.cuh"

namespace sheaf::bench::peers::device {
namespace {

template <class Value>
struct packed_node {
  Value value;
  std::uint32_t successor;
};

template <class Value>
struct value_of_node {
  __host__ __device__ Value operator()(const packed_node<Value>& node) const { return node.value; }
};

template <class Value>
contender scan_of_array(const context& ctx, const problem& p, const workspace& arrays) {
  const auto call = [count = static_cast<std::uint32_t>(p.count), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, source_of<Value>(arrays, copy),
                                         target_of<Value>(arrays, copy), count, stream);
  };
  return cub_contender(ctx, arrays, "cub.array_scan", 0, call);
}

template <class Value>
contender scan_of_nodes(const context& ctx, const problem& p, const workspace& arrays) {
  const auto call = [count = static_cast<std::uint32_t>(p.count), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    const auto values =
        thrust::make_transform_iterator(source_of<packed_node<Value>>(arrays, copy), value_of_node<Value>{});
    return cub::DeviceScan::InclusiveSum(temporary, bytes, values, target_of<Value>(arrays, copy), count, stream);
  };
  return cub_contender(ctx, arrays, "cub.array_scan", 0, call);
}

}  // namespace

std::vector<contender> array_scans(const context& ctx, const problem& p, const workspace& arrays) {
  const bool is_in_order = p.pattern.kind == primitives::pattern_kind::identity && p.lists == list_count::one;
  if (!is_in_order || p.scan_op != scan_operator::add || p.is_exclusive || !fits_in_32_bits(p)) return {};
  switch (p.value) {
    case value_type::f32:
      return {p.is_packed ? scan_of_nodes<float>(ctx, p, arrays) : scan_of_array<float>(ctx, p, arrays)};
    case value_type::f64: return {scan_of_array<double>(ctx, p, arrays)};
    case value_type::i32:
    case value_type::u32:
      return {p.is_packed ? scan_of_nodes<std::uint32_t>(ctx, p, arrays)
                          : scan_of_array<std::uint32_t>(ctx, p, arrays)};
    case value_type::i64:
    case value_type::u64: return {scan_of_array<std::uint64_t>(ctx, p, arrays)};
  }
  return {};
}

}  // namespace sheaf::bench::peers::device
