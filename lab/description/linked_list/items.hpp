#pragma once

#include <sheaf/list_scan.hpp>

#include "lab/description/items.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the nodes of linked lists and check ranks and scans. Places number the
// nodes list by list, each from its head; the pattern says which node lies where. Answers come first: a closed form
// says what a scan has at each rank, and a node's value is what leads from one answer to the next. Floats are small
// whole numbers or powers of two, which no order of additions or products rounds.
namespace sheaf::jobs {

/// Nodes of each list but the last where a problem has many.
constexpr std::uint64_t nodes_of_many = 1000;

/// Parameters of the functions that give nodes and answers.
struct list_source {
  inputs::pattern order;  ///< the node at each place
  std::uint64_t count = 0;
  std::uint64_t list_nodes = 0;  ///< nodes of a list; the last may have fewer
  value_type type = value_type::f32;
  scan_operator op = scan_operator::add;
  bool is_exclusive = false;
};

/// Answers are computed in 64 bits, of which values of 4 bytes keep the low half, or in double precision.
template <class Number>
constexpr bool is_integer = std::is_same_v<Number, std::uint64_t>;

/// Operators that give one value again if they get it twice.
SHEAF_HOST_DEVICE inline bool is_idempotent(scan_operator op) {
  return op != scan_operator::add && op != scan_operator::mul && op != scan_operator::bit_xor;
}

/// Levels of a minimum or maximum: whole numbers that each type has.
constexpr std::uint64_t most_level = std::uint64_t{1} << 20;

/// A number that goes from 0 to most_level along a list.
SHEAF_HOST_DEVICE inline std::uint64_t level_at(const list_source& s, std::uint64_t rank) {
  return rank / (1 + (s.list_nodes - 1) / most_level);
}

/// The low bits that an "and" has lost, or an "or" gained, at a rank.
SHEAF_HOST_DEVICE inline std::uint64_t low_bits_at(const list_source& s, std::uint64_t rank) {
  const std::uint64_t width = 8 * bytes(s.type);
  const std::uint64_t bits = 1 + rank / (1 + (s.list_nodes - 1) / width);
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// The closed form: any function where values can be undone, a monotone one for the idempotent operators.
template <class Number>
SHEAF_HOST_DEVICE Number closed_form(const list_source& source, std::uint64_t rank) {
  switch (source.op) {
    case scan_operator::min: return static_cast<Number>(most_level - level_at(source, rank));
    case scan_operator::max: return static_cast<Number>(level_at(source, rank));
    case scan_operator::bit_and: return static_cast<Number>(~low_bits_at(source, rank));
    case scan_operator::bit_or: return static_cast<Number>(low_bits_at(source, rank));
    default: break;
  }
  const std::uint64_t draw = inputs::mix(rank + 0x115c);
  if constexpr (is_integer<Number>) return source.op == scan_operator::mul ? draw | 1 : draw;
  if (source.op == scan_operator::mul) return static_cast<Number>(std::uint64_t{1} << draw % 31);
  return static_cast<Number>(draw % (2 * most_level)) - static_cast<Number>(most_level);
}

/// x with a * x = 1 modulo 2^64, for an odd a. Each of Newton's steps doubles the bits that are right, from 3 on.
SHEAF_HOST_DEVICE inline std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t x = a;
  for (int step = 0; step < 5; ++step) x *= 2 - a * x;
  return x;
}

/// The value of the node at a rank. An idempotent operator has a neutral value at every odd rank, so that answers are
/// not the values.
template <class Number>
SHEAF_HOST_DEVICE Number value_at(const list_source& source, std::uint64_t rank) {
  const Number now = closed_form<Number>(source, rank);
  if (is_idempotent(source.op)) {
    if (rank % 2 == 0) return now;
    if (source.op == scan_operator::min) return static_cast<Number>(most_level);
    return source.op == scan_operator::bit_and ? static_cast<Number>(~std::uint64_t{0}) : Number{0};
  }
  if (rank == 0) return now;
  const Number before = closed_form<Number>(source, rank - 1);
  if constexpr (is_integer<Number>) {
    if (source.op == scan_operator::mul) return now * inverse(before);
    return source.op == scan_operator::bit_xor ? now ^ before : now - before;
  }
  return source.op == scan_operator::mul ? now / before : now - before;
}

/// What an exclusive scan begins with.
template <class Number>
SHEAF_HOST_DEVICE Number start_of(scan_operator op) {
  switch (op) {
    case scan_operator::min: return static_cast<Number>(most_level + 1);
    case scan_operator::mul: return Number{2} + (is_integer<Number> ? 1 : 0);
    case scan_operator::bit_and: return static_cast<Number>(~std::uint64_t{0});
    case scan_operator::max:
    case scan_operator::bit_or: return Number{0};
    default: return Number{5};
  }
}

/// The values up to a rank, put together.
template <class Number>
SHEAF_HOST_DEVICE Number inclusive_at(const list_source& s, std::uint64_t rank) {
  return closed_form<Number>(s, is_idempotent(s.op) ? rank - rank % 2 : rank);
}

/// The answer at a rank.
template <class Number>
SHEAF_HOST_DEVICE Number answer_at(const list_source& source, std::uint64_t rank) {
  if (!source.is_exclusive) return inclusive_at<Number>(source, rank);
  const Number start = start_of<Number>(source.op);
  if (rank == 0) return start;
  const Number before = inclusive_at<Number>(source, rank - 1);
  if (source.op == scan_operator::add) return start + before;
  if (source.op == scan_operator::mul) return start * before;
  if constexpr (is_integer<Number>) {
    if (source.op == scan_operator::bit_xor) return start ^ before;
  }
  return before;  // the others begin with a neutral value
}

/// Whether number i is this one, as far as its type holds it.
SHEAF_HOST_DEVICE inline bool holds(const void* numbers, value_type type, std::uint64_t i, std::uint64_t number) {
  return number_at(numbers, bytes(type), i) == (bytes(type) == 4 ? static_cast<std::uint32_t>(number) : number);
}
SHEAF_HOST_DEVICE inline bool holds(const void* numbers, value_type type, std::uint64_t i, double number) {
  return float_at(numbers, type, i) == (type == value_type::f32 ? static_cast<float>(number) : number);
}

SHEAF_HOST_DEVICE inline std::uint64_t node_at(const list_source& s, std::uint64_t place) {
  return inputs::pattern_entry(s.order, place, s.count);
}

/// The successor of the node at a place; all bits set at the end of a list.
SHEAF_HOST_DEVICE inline std::uint64_t successor_at(const list_source& s, std::uint64_t place) {
  const bool ends = place + 1 == s.count || (place + 1) % s.list_nodes == 0;
  return ends ? ~std::uint64_t{0} : node_at(s, place + 1);
}

/// Writes the value of the node at a place to numbers[entry].
SHEAF_HOST_DEVICE inline void store_value_at(const list_source& source, std::uint64_t place, void* numbers,
                                             std::uint64_t entry) {
  const std::uint64_t rank = place % source.list_nodes;
  if (is_float(source.type)) {
    store_float(numbers, source.type, entry, value_at<double>(source, rank));
  } else {
    store_number(numbers, bytes(source.type), entry, value_at<std::uint64_t>(source, rank));
  }
}

struct fill_successors {
  list_source source;
  void* successors;
  std::uint64_t successor_bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t place) const {
    store_number(successors, successor_bytes, node_at(source, place), successor_at(source, place));
    return {};
  }
};

struct fill_list_values {
  list_source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t place) const {
    store_value_at(source, place, values, node_at(source, place));
    return {};
  }
};

/// Nodes of 8 bytes: a value, then its successor.
struct fill_packed_nodes {
  list_source source;
  void* nodes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t place) const {
    const std::uint64_t node = node_at(source, place);
    store_value_at(source, place, nodes, 2 * node);
    store_number(nodes, 4, 2 * node + 1, successor_at(source, place));
    return {};
  }
};

struct check_ranks {
  list_source source;
  const void* ranks;
  std::uint64_t rank_bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t place) const {
    return {number_at(ranks, rank_bytes, node_at(source, place)) != place % source.list_nodes, 0};
  }
};

struct check_list_values {
  list_source source;
  const void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t place) const {
    const std::uint64_t node = node_at(source, place);
    const std::uint64_t rank = place % source.list_nodes;
    const bool is_right = is_float(source.type)
                              ? holds(values, source.type, node, answer_at<double>(source, rank))
                              : holds(values, source.type, node, answer_at<std::uint64_t>(source, rank));
    return {!is_right, 0};
  }
};

}  // namespace sheaf::jobs
