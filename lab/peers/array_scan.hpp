#pragma once

#include <algorithm>

#include "lab/description/linked_list/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/peers/contenders.hpp"

// What the scans of arrays on a CPU share: which rows they take, and the check of their answer.
namespace sheaf::bench::peers::host {

template <class Value>
struct packed_entry {
  Value value;
  std::uint32_t successor;
};

template <class Value>
Value value_of_entry(const Value& value) {
  return value;
}
template <class Value>
Value value_of_entry(const packed_entry<Value>& node) {
  return node.value;
}

/// Mistakes in a scan of values in the order of the array, by differences of neighbours. Wraps around as sums of
/// integers do.
template <class Value, class Entry>
std::uint64_t array_scan_mistakes(const Entry* entries, const Value* sums, std::uint64_t count) {
  std::uint64_t mistakes = 0;
  Value before = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    mistakes += static_cast<Value>(sums[i] - before) != value_of_entry(entries[i]) ? 1 : 0;
    before = sums[i];
  }
  return mistakes;
}

template <class Value, class Entry, class Scan>
contender array_scan(const char* who, const problem& p, const workspace& arrays, const Scan& scan) {
  const auto entries = [&arrays](std::uint64_t copy) { return jobs::items_of<const Entry>(arrays.source(copy)); };
  const auto sums = [&arrays](std::uint64_t copy) { return jobs::items_of<Value>(arrays.target(copy)); };
  contender made =
      peer(who, 0, [p, entries, sums, scan](std::uint64_t copy) { scan(entries(copy), sums(copy), p.count); });
  if (p.pattern.kind == primitives::pattern_kind::identity) return made;
  // The values of a list that lies in another order: as many, and another answer.
  made.promises_less = true;
  made.count_own_mistakes = [p, entries, sums] {
    return array_scan_mistakes<Value, Entry>(entries(0), sums(0), p.count);
  };
  return made;
}

/// The scan by this name of the values of a row; none where it is no sum of one list, or where a list of floats lies in
/// another order, because differences of neighbours do not say whether sums of floats are right.
/// @param scan  scan(entries, sums, count)
template <class Scan>
std::vector<contender> array_scans_by(const char* who, const problem& p, const workspace& arrays, const Scan& scan) {
  const primitives::list_part& list = p.part<primitives::list_part>();
  const bool is_float = p.value == value_type::f32 || p.value == value_type::f64;
  if (list.lists != list_count::one || list.op != scan_operator::add || list.is_exclusive) return {};
  if (is_float && p.pattern.kind != primitives::pattern_kind::identity) return {};
  const auto of_type = [&]<class Value>(std::type_identity<Value>) -> std::vector<contender> {
    if (!list.is_packed) return {array_scan<Value, Value>(who, p, arrays, scan)};
    if constexpr (sizeof(Value) == sizeof(std::uint32_t)) {
      return {array_scan<Value, packed_entry<Value>>(who, p, arrays, scan)};
    } else {
      return {};
    }
  };
  switch (p.value) {
    case value_type::f32: return of_type(std::type_identity<float>{});
    case value_type::f64: return of_type(std::type_identity<double>{});
    case value_type::i32:
    case value_type::u32: return of_type(std::type_identity<std::uint32_t>{});
    default: return of_type(std::type_identity<std::uint64_t>{});
  }
}

}  // namespace sheaf::bench::peers::host
