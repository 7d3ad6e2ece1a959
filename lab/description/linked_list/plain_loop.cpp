#include <cstdint>
#include <vector>

#include "lab/description/plain_loops.hpp"

namespace sheaf::jobs {
namespace {

// All bits set end a list.
template <class Index>
constexpr Index no_node = static_cast<Index>(~Index{0});

template <class Value>
struct packed_node {
  Value value;
  std::uint32_t successor;
};

// A walk with the successor of each node and what to do there, from the head of a list on.
template <class Index, class SuccessorOf, class Visit>
void walk(Index head, SuccessorOf successor_of, Visit visit) {
  for (Index node = head; node != no_node<Index>; node = successor_of(node)) visit(node);
}

// Every node but the head is one node's successor, so the head is what the sum of all nodes has beyond the sum of all
// successors.
template <class Index, class SuccessorOf, class Visit>
void walk_one(std::uint64_t count, SuccessorOf successor_of, Visit visit) {
  std::uint64_t head = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Index next = successor_of(i);
    head += i - (next == no_node<Index> ? 0 : next);
  }
  if (count > 0) walk(static_cast<Index>(head), successor_of, visit);
}

template <class Index, class SuccessorOf, class Begin, class Visit>
void walk_many(std::uint64_t count, SuccessorOf successor_of, Begin begin, Visit visit) {
  std::vector<bool> has_predecessor(count, false);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Index next = successor_of(i);
    if (next != no_node<Index>) has_predecessor[next] = true;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (has_predecessor[i]) continue;
    begin();
    walk(static_cast<Index>(i), successor_of, visit);
  }
}

// Calls visit for the nodes of all lists; begin() before each but the first of one list.
template <class Index, class SuccessorOf, class Begin, class Visit>
void walk_all(const problem_spec& p, SuccessorOf successor_of, Begin begin, Visit visit) {
  if (p.lists == list_count::one) {
    walk_one<Index>(p.count, successor_of, visit);
  } else {
    walk_many<Index>(p.count, successor_of, begin, visit);
  }
}

template <class Index, class Rank>
plain_call rank_walk(const problem_spec& p, const array_set& arrays) {
  return [p, arrays] {
    const auto* const successor = items_of<const Index>(arrays[places::index]);
    auto* const ranks = items_of<Rank>(arrays[places::target]);
    Rank rank = 0;
    walk_all<Index>(
        p, [successor](std::uint64_t node) { return successor[node]; }, [&] { rank = 0; },
        [&](std::uint64_t node) { ranks[node] = rank++; });
  };
}

template <class Value>
plain_call scan_walk(const problem_spec& p, const array_set& arrays) {
  if (p.is_packed) {
    return [p, arrays] {
      const auto* const nodes = items_of<const packed_node<Value>>(arrays[places::source]);
      auto* const out = items_of<Value>(arrays[places::target]);
      Value sum = 0;
      walk_all<std::uint32_t>(
          p, [nodes](std::uint64_t node) { return nodes[node].successor; }, [&] { sum = 0; },
          [&](std::uint64_t node) { out[node] = sum += nodes[node].value; });
    };
  }
  return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    return [p, arrays] {
      const auto* const successor = items_of<const Index>(arrays[places::index]);
      const auto* const in = items_of<const Value>(arrays[places::source]);
      auto* const out = items_of<Value>(arrays[places::target]);
      Value sum = 0;
      walk_all<Index>(
          p, [successor](std::uint64_t node) { return successor[node]; }, [&] { sum = 0; },
          [&](std::uint64_t node) { out[node] = sum += in[node]; });
    };
  });
}

}  // namespace

plain_call plain_list_rank(const context&, const problem_spec& p, const array_set& arrays) {
  return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    return p.record_bytes == 4 ? rank_walk<Index, std::uint32_t>(p, arrays)
                               : rank_walk<Index, std::uint64_t>(p, arrays);
  });
}

plain_call plain_list_scan(const context&, const problem_spec& p, const array_set& arrays) {
  if (p.scan_op != scan_operator::add || p.is_exclusive) return {};
  switch (p.value) {
    case value_type::f32: return scan_walk<float>(p, arrays);
    case value_type::f64: return scan_walk<double>(p, arrays);
    case value_type::i32:
    case value_type::u32: return scan_walk<std::uint32_t>(p, arrays);
    case value_type::i64:
    case value_type::u64: return scan_walk<std::uint64_t>(p, arrays);
  }
  return {};
}

}  // namespace sheaf::jobs
