#pragma once

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/list_scan.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/operators/scan_value.hpp"
#include "support/contexts.hpp"
#include "support/placed.hpp"
#include "support/trials/scatter_reduce.hpp"

namespace sheaf::tests {

constexpr scan_operator scan_operators[] = {scan_operator::add,    scan_operator::min,     scan_operator::max,
                                            scan_operator::mul,    scan_operator::bit_and, scan_operator::bit_or,
                                            scan_operator::bit_xor};

inline const char* name(scan_operator op) {
  constexpr const char* names[] = {"add", "min", "max", "mul", "and", "or", "xor"};
  return names[static_cast<int>(op)];
}

/// What the last node of a list has as its successor.
enum class end_mark : std::uint8_t { negative, all_bits_set, itself };
constexpr end_mark end_marks[] = {end_mark::negative, end_mark::all_bits_set, end_mark::itself};

/// How nodes follow each other in memory, and how they are cut into lists.
enum class node_order : std::uint8_t { ordered, reversed, random, strided, strided_near_n };
enum class list_cut : std::uint8_t { one_list, two_lists, paths, long_paths_and_nodes, single_nodes };
constexpr node_order node_orders[] = {node_order::random, node_order::ordered, node_order::reversed,
                                      node_order::strided, node_order::strided_near_n};
constexpr list_cut list_cuts[] = {list_cut::one_list, list_cut::paths, list_cut::two_lists,
                                  list_cut::long_paths_and_nodes, list_cut::single_nodes};

struct list_case {
  std::uint64_t count = 0;
  node_order order = node_order::random;
  list_cut cut = list_cut::one_list;
  index_type successor = index_type::u32;
  end_mark end = end_mark::all_bits_set;
  bool is_packed = false;  ///< values beside successors
  bool is_exclusive = false;
  value_type type = value_type::u32;
  scan_operator op = scan_operator::add;
  std::uint64_t seed = 1;

  list_count lists() const { return cut == list_cut::one_list ? list_count::one : list_count::many; }
  bool rounds() const {
    return (op == scan_operator::add || op == scan_operator::mul) &&
           (type == value_type::f32 || type == value_type::f64);
  }
  std::string description() const {
    constexpr const char* orders[] = {"ordered", "reversed", "random", "strided", "stride near n"};
    constexpr const char* cuts[] = {"one list", "two lists", "paths", "long paths and nodes", "single nodes"};
    constexpr const char* ends[] = {"a negative number", "all bits set", "itself"};
    return fmt::format("{} {} {}{} n={} {}, {}, {} successors, ends are {}, seed {}", name(op), name(type),
                       is_exclusive ? "exclusive" : "inclusive", is_packed ? " packed" : "", count,
                       orders[static_cast<int>(order)], cuts[static_cast<int>(cut)], name(successor),
                       ends[static_cast<int>(end)], seed);
  }
};

/// One of the values, by seed and place; a case draws each of its properties from another place.
template <class T, std::size_t N>
T drawn(const T (&from)[N], std::uint64_t seed, std::uint64_t place) {
  return from[inputs::mix(seed * 64 + place) % N];
}

inline list_case drawn_case(std::uint64_t count, std::uint64_t seed) {
  constexpr bool either[] = {false, true};
  list_case c;
  c.count = count;
  c.seed = seed;
  c.order = drawn(node_orders, seed, 0);
  c.cut = drawn(list_cuts, seed, 1);
  c.successor = drawn(index_types, seed, 2);
  c.end = drawn(end_marks, seed, 3);
  c.is_exclusive = drawn(either, seed, 4);
  c.type = drawn(value_types, seed, 5);
  c.op = drawn(scan_operators, seed, 6);
  if (!primitives::takes(c.op, c.type)) c.op = scan_operator::add;
  c.is_packed = drawn(either, seed, 7) && bytes(c.successor) == 4 && bytes(c.type) == 4;
  return c;
}

/// The nodes list by list, each in its list's order. With a stride of one less than the nodes, neighbours lie half the
/// array apart, as they do in Wei and JaJa 2010.
inline std::vector<std::uint64_t> order_of_nodes(node_order order, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> nodes(count, 0);
  for (std::uint64_t k = 0; k < count; ++k) nodes[k] = order == node_order::reversed ? count - 1 - k : k;
  if (order == node_order::random) {
    for (std::uint64_t k = count; k > 1; --k) std::swap(nodes[k - 1], nodes[inputs::mix(seed + k) % k]);
  }
  if (order == node_order::strided) {
    constexpr std::uint64_t stride = 1001;
    std::uint64_t k = 0;
    for (std::uint64_t first = 0; first < stride; ++first) {
      for (std::uint64_t node = first; node < count; node += stride) nodes[k++] = node;
    }
  }
  if (order == node_order::strided_near_n) {
    const std::uint64_t half = (count + 1) / 2;
    for (std::uint64_t k = 0; k < count; ++k) nodes[k] = k % 2 * half + k / 2;
  }
  return nodes;
}

/// Whether a list begins at place k of the order.
inline bool begins_list(list_cut cut, std::uint64_t k, std::uint64_t count, std::uint64_t seed) {
  if (k == 0) return true;
  switch (cut) {
    case list_cut::one_list: return false;
    case list_cut::two_lists: return k == count / 3;
    case list_cut::paths: return inputs::mix(seed + (k << 20)) % 50 == 0;
    case list_cut::long_paths_and_nodes: return k % 4096 < 64;
    case list_cut::single_nodes: return true;
  }
  return false;
}

/// The bits that mark node i as the last of its list.
inline std::uint64_t end_bits(index_type type, end_mark mark, std::uint64_t i) {
  const bool is_signed = type == index_type::i32 || type == index_type::i64;
  if (mark == end_mark::itself) return i;
  if (mark == end_mark::all_bits_set || !is_signed) return ~std::uint64_t{0};
  const std::uint64_t lowest = std::uint64_t{1} << (8 * bytes(type) - 1);
  return i % 2 == 0 ? lowest : ~std::uint64_t{0} - i % 100;
}

/// A forest as the order of its nodes, from which tests know what must come out.
struct made_lists {
  std::vector<std::uint64_t> nodes;
  std::vector<bool> begins;

  explicit made_lists(const list_case& c) : nodes(order_of_nodes(c.order, c.count, c.seed)), begins(c.count, false) {
    for (std::uint64_t k = 0; k < c.count; ++k) begins[k] = begins_list(c.cut, k, c.count, c.seed);
  }
  /// Successors of this type, node by node.
  image successors(index_type type, end_mark end) const {
    image made = poisoned(nodes.size(), bytes(type), bytes(type));
    for (std::uint64_t k = 0; k < nodes.size(); ++k) {
      const bool is_last = k + 1 == nodes.size() || begins[k + 1];
      set_entry(made, nodes[k], is_last ? end_bits(type, end, nodes[k]) : nodes[k + 1]);
    }
    return made;
  }
  /// The ranks of all nodes.
  image ranks(index_type type) const {
    image made = poisoned(nodes.size(), bytes(type), bytes(type));
    std::uint64_t rank = 0;
    for (std::uint64_t k = 0; k < nodes.size(); ++k) {
      rank = begins[k] ? 0 : rank + 1;
      set_entry(made, nodes[k], rank);
    }
    return made;
  }
};

/// A value for node i. Sums and products of floats stay in range; bitwise operators do not run into all or no bits at
/// once; minima and maxima meet special values.
template <class T>
T list_value(std::uint64_t i, scan_operator op) {
  const std::uint64_t bits = inputs::mix(i);
  if constexpr (std::is_floating_point_v<T>) {
    if (op != scan_operator::mul) return reduce_value<T>(i, op == scan_operator::add ? reduction::add : reduction::min);
    const double near_one = 1 + (static_cast<double>(bits % 4096) - 2048) / (1 << 24);
    return static_cast<T>(bits % 7 == 0 ? -near_one : near_one);
  } else {
    const auto one_bit = static_cast<T>(std::uint64_t{bits % 8 == 0} << (bits / 8 % (8 * sizeof(T))));
    if (op == scan_operator::bit_and) return static_cast<T>(~one_bit);
    if (op == scan_operator::bit_or) return one_bit;
    return static_cast<T>(op == scan_operator::mul ? bits | 1 : bits);
  }
}

/// earlier op later, by formulas of the tests' own. No sums and products of floats.
template <class T>
T combined(scan_operator op, T earlier, T later) {
  if constexpr (std::is_floating_point_v<T>) {
    double slack = 0;
    return reduced_slot<T>({earlier, later}, op == scan_operator::min ? reduction::min : reduction::max, slack);
  } else {
    const auto a = static_cast<std::uint64_t>(earlier);
    const auto b = static_cast<std::uint64_t>(later);
    switch (op) {
      case scan_operator::add: return static_cast<T>(a + b);
      case scan_operator::min: return later < earlier ? later : earlier;
      case scan_operator::max: return earlier < later ? later : earlier;
      case scan_operator::mul: return static_cast<T>(a * b);
      case scan_operator::bit_and: return static_cast<T>(a & b);
      case scan_operator::bit_or: return static_cast<T>(a | b);
      case scan_operator::bit_xor: return static_cast<T>(a ^ b);
    }
    return T{};
  }
}

/// The result of a node that nothing comes before. A minimum or maximum of one NaN is that of any.
template <class T>
T alone(scan_operator op, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == scan_operator::min || op == scan_operator::max) return combined(op, value, value);
  }
  return value;
}

/// Memory of a scan before and after the call. A sum or product of floats is known within its slack.
struct list_trial {
  list_case c;
  image successor, in, nodes, before, after;
  scalar initial;
  std::vector<double> slack;

  explicit list_trial(const list_case& from_case) : list_trial(from_case, made_lists(from_case)) {}
  list_trial(const list_case& from_case, const made_lists& lists)
      : c(from_case), successor(lists.successors(c.successor, c.end)) {
    primitives::with_value(c.type, [&](auto value) { fill<decltype(value)>(lists); });
  }

  template <class T>
  void fill(const made_lists& lists) {
    in = poisoned(c.count, sizeof(T), sizeof(T));
    before = after = poisoned(c.count, sizeof(T), sizeof(T));
    slack.assign(c.count, 0);
    for (std::uint64_t i = 0; i < c.count; ++i) {
      const T value = list_value<T>(c.seed + i, c.op);
      std::memcpy(in.record(i), &value, sizeof value);
    }
    const T first = list_value<T>(c.seed + c.count + 7, c.op);
    initial = first;
    if (c.is_packed) {
      nodes = poisoned(c.count, 8, 8);
      for (std::uint64_t i = 0; i < c.count; ++i) {
        std::memcpy(nodes.record(i), in.record(i), 4);
        std::memcpy(nodes.record(i) + 4, successor.record(i), 4);
      }
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (c.rounds()) return expect_rounded<T>(lists, first);
    }
    T running = alone(c.op, first);
    for (std::uint64_t k = 0; k < c.count; ++k) {
      const std::uint64_t node = lists.nodes[k];
      const T own = reduce_trial::at<T>(in, node);
      if (lists.begins[k]) running = alone(c.op, first);
      const T exclusive = running;
      running = lists.begins[k] && !c.is_exclusive ? alone(c.op, own) : combined(c.op, running, own);
      std::memcpy(after.record(node), c.is_exclusive ? &exclusive : &running, sizeof(T));
    }
  }

  template <class T>
  void expect_rounded(const made_lists& lists, T first) {
    long double running = 0;
    long double sizes = 0;
    std::uint64_t length = 0;
    for (std::uint64_t k = 0; k < c.count; ++k) {
      const std::uint64_t node = lists.nodes[k];
      const auto own = static_cast<long double>(reduce_trial::at<T>(in, node));
      if (lists.begins[k]) {
        running = c.is_exclusive ? static_cast<long double>(first) : c.op == scan_operator::add ? 0 : 1;
        sizes = std::fabs(running);
        length = 1;
      }
      const long double exclusive = running;
      running = c.op == scan_operator::add ? running + own : running * own;
      sizes = c.op == scan_operator::add ? sizes + std::fabs(own) : std::fabs(running);
      const T result = static_cast<T>(c.is_exclusive ? exclusive : running);
      std::memcpy(after.record(node), &result, sizeof result);
      slack[node] = static_cast<double>(static_cast<long double>(++length) * std::numeric_limits<T>::epsilon() * sizes);
    }
  }
};

/// Whether the planner has something to choose from: the reference runs by name only.
inline bool is_planned_on(const context& ctx) {
  for (const auto& v : primitives::list_variants()) {
    if (v.works_on(ctx.backend()) && !v.name.starts_with("reference.")) return true;
  }
  return false;
}

/// The bytes of the output and around it, or nothing if the variant refuses the problem. Expects inputs to stay as they
/// are. Faults of the list stay with ctx, to be thrown by wait().
inline std::optional<std::vector<std::byte>> scan_by(std::string_view variant, const context& ctx,
                                                     const list_trial& t) {
  const placed successor(ctx, t.successor);
  const placed in(ctx, t.in);
  const placed nodes(ctx, t.nodes);
  const placed out(ctx, t.before);
  list_scan_options options;
  options.lists = t.c.lists();
  options.variant = variant;
  if (t.c.is_exclusive) options.exclusive_from = t.initial;
  const values results(out.view().data, t.c.count, t.c.type);
  try {
    if (t.c.is_packed) {
      list_scan(ctx, const_list_nodes(nodes.view().data, t.c.count, t.c.type, t.c.successor), results, t.c.op, options);
    } else {
      list_scan(ctx, successor.index(t.c.successor), const_values(in.view().data, t.c.count, t.c.type), results, t.c.op,
                options);
    }
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return std::nullopt;
  }
  expect_bytes(successor.download(), t.successor, "successor");
  expect_bytes(in.download(), t.in, "in");
  expect_bytes(nodes.download(), t.nodes, "nodes");
  return out.download();
}

inline std::optional<std::vector<std::byte>> rank_by(std::string_view variant, const context& ctx,
                                                     const image& successors, index_type type, const image& before,
                                                     index_type rank_type, list_count lists) {
  const placed successor(ctx, successors);
  const placed out(ctx, before);
  try {
    list_rank(ctx, successor.index(type), {out.view().data, successors.count, rank_type},
              {.lists = lists, .variant = variant});
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return std::nullopt;
  }
  expect_bytes(successor.download(), successors, "successor");
  return out.download();
}

/// Expects every result to be equal to the bit, those of floats that round within their slack, and no byte beside the
/// results changed.
inline void expect_results(const std::vector<std::byte>& got, const list_trial& t) {
  image expected = t.after;
  image found = expected;
  found.bytes = got;
  for (std::uint64_t i = 0; t.c.rounds() && i < t.c.count && got.size() == expected.bytes.size(); ++i) {
    const bool narrow = t.c.type == value_type::f32;
    const long double is = narrow ? reduce_trial::at<float>(found, i) : reduce_trial::at<double>(found, i);
    const long double should = narrow ? reduce_trial::at<float>(expected, i) : reduce_trial::at<double>(expected, i);
    if (std::fabs(is - should) <= t.slack[i]) std::memcpy(expected.record(i), found.record(i), found.record_bytes);
  }
  expect_bytes(got, expected, "out");
}

/// The names of all variants, and "" for the planner's choice.
inline std::vector<std::string> list_variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::list_variants()) names.emplace_back(v.name);
  return names;
}

}  // namespace sheaf::tests
