#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include "lab/description/linked_list/problem.hpp"
#include "lab/peers/cub/calls.cuh"

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

/// Entries of so many bytes or fewer are on the host at once.
constexpr std::uint64_t checked_entries = 1 << 22;

/// Mistakes in a scan of values that lie in the order of the array, by differences of neighbours. Wraps around as sums
/// of integers do.
template <class Value, class Entry, class ValueOf>
std::uint64_t scan_mistakes(const context& ctx, const problem& p, const workspace& arrays, ValueOf value_of) {
  std::uint64_t mistakes = 0;
  Value before = 0;
  for (std::uint64_t begin = 0; begin < p.count; begin += checked_entries) {
    const std::uint64_t count = std::min(checked_entries, p.count - begin);
    std::vector<Entry> entries(count);
    std::vector<Value> sums(count);
    copy_bytes(ctx, entries.data(), source_of<Entry>(arrays, 0) + begin, count * sizeof(Entry));
    copy_bytes(ctx, sums.data(), target_of<Value>(arrays, 0) + begin, count * sizeof(Value));
    for (std::uint64_t i = 0; i < count; ++i) {
      mistakes += static_cast<Value>(sums[i] - before) != value_of(entries[i]) ? 1 : 0;
      before = sums[i];
    }
  }
  return mistakes;
}

/// The scan of an array beside a list that lies in another order: as many values, and another answer.
template <class Value, class Entry, class ValueOf>
contender beside_list(contender scan, const context& ctx, const problem& p, const workspace& arrays, ValueOf value_of) {
  if (p.pattern.kind == primitives::pattern_kind::identity) return scan;
  scan.promises_less = true;
  scan.count_own_mistakes = [ctx, p, &arrays, value_of] {
    return scan_mistakes<Value, Entry>(ctx, p, arrays, value_of);
  };
  return scan;
}

template <class Value>
contender scan_of_array(const context& ctx, const problem& problem, const workspace& arrays) {
  const auto call = [count = static_cast<std::uint32_t>(problem.count), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, source_of<Value>(arrays, copy),
                                         target_of<Value>(arrays, copy), count, stream);
  };
  const auto value_of = [](const Value& value) { return value; };
  return beside_list<Value, Value>(cub_contender(ctx, arrays, "cub.array_scan", 0, call), ctx, problem, arrays,
                                   value_of);
}

template <class Value>
contender scan_of_nodes(const context& ctx, const problem& problem, const workspace& arrays) {
  const auto call = [count = static_cast<std::uint32_t>(problem.count), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    const auto values =
        thrust::make_transform_iterator(source_of<packed_node<Value>>(arrays, copy), value_of_node<Value>{});
    return cub::DeviceScan::InclusiveSum(temporary, bytes, values, target_of<Value>(arrays, copy), count, stream);
  };
  const auto value_of = [](const packed_node<Value>& node) { return node.value; };
  return beside_list<Value, packed_node<Value>>(cub_contender(ctx, arrays, "cub.array_scan", 0, call), ctx, problem,
                                                arrays, value_of);
}

}  // namespace

std::vector<contender> array_scans(const context& ctx, const problem& problem, const workspace& arrays) {
  const primitives::list_part& list = problem.part<primitives::list_part>();
  if (list.lists != list_count::one) return {};
  // Whether sums of floats in another order are right, differences of neighbours do not say.
  const bool is_float = problem.value == value_type::f32 || problem.value == value_type::f64;
  if (is_float && problem.pattern.kind != primitives::pattern_kind::identity) return {};
  if (list.op != scan_operator::add || list.is_exclusive || !fits_in_32_bits(problem)) return {};
  switch (problem.value) {
    case value_type::f32:
      return {list.is_packed ? scan_of_nodes<float>(ctx, problem, arrays) : scan_of_array<float>(ctx, problem, arrays)};
    case value_type::f64: return {scan_of_array<double>(ctx, problem, arrays)};
    case value_type::i32:
    case value_type::u32:
      return {list.is_packed ? scan_of_nodes<std::uint32_t>(ctx, problem, arrays)
                             : scan_of_array<std::uint32_t>(ctx, problem, arrays)};
    case value_type::i64:
    case value_type::u64: return {scan_of_array<std::uint64_t>(ctx, problem, arrays)};
    default: return {};
  }
  return {};
}

}  // namespace sheaf::bench::peers::device
