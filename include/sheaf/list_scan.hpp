#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/values.hpp>

// Scan (prefix sums) and ranking of linked lists that lie in arrays (Wei and JaJa 2010).
namespace sheaf {

/// How many lists an array of nodes holds.
enum class list_count : std::uint8_t {
  one,   ///< one list of all nodes; anything else is an error
  many,  ///< any number of lists, a forest of paths; every node is on exactly one of them
};

/// How two values become one. Sums and products of integers wrap around. Min and max are as in reduction: for floats -0
/// is below +0, and where a NaN is among the values, also where it is the only one, the result is the positive quiet
/// NaN. The bitwise operators take integers.
enum class scan_operator : std::uint8_t { add, min, max, mul, bit_and, bit_or, bit_xor };

/// One number and its type.
struct scalar {
  value_type type = value_type::f32;
  std::uint64_t bits = 0;  ///< the number's bytes, the first in the lowest bits

  constexpr scalar() = default;
  template <reducible_value T>
  constexpr scalar(T number) : type(value_type_of<T>()) {
    if constexpr (sizeof(T) == 4) {
      bits = std::bit_cast<std::uint32_t>(number);
    } else {
      bits = std::bit_cast<std::uint64_t>(number);
    }
  }
};

/// Value and successor of a node side by side in 64 bits, which a walk along the list reads in one access. The value is
/// a number, or of any type of 4 bytes that a function of the caller's takes.
template <class T>
requires(sizeof(T) == 4 && std::is_trivially_copyable_v<T>) struct list_node {
  T value;
  std::int32_t successor;
};

/// Packed nodes to read, aligned to 8 bytes: a number of 4 bytes, then its successor of 4 bytes. A view that owns
/// nothing.
struct const_list_nodes {
  const void* data = nullptr;
  std::uint64_t count = 0;
  value_type type = value_type::f32;            ///< a type of 4 bytes
  index_type successor_type = index_type::i32;  ///< u32 or i32

  constexpr const_list_nodes() = default;
  constexpr const_list_nodes(const void* first, std::uint64_t node_count, value_type t,
                             index_type successors = index_type::i32)
      : data(first), count(node_count), type(t), successor_type(successors) {}
  template <std::ranges::contiguous_range Range>
  requires std::ranges::sized_range<Range> && reducible_value<decltype(std::ranges::range_value_t<Range>::value)> &&
      std::same_as<std::ranges::range_value_t<Range>, list_node<decltype(std::ranges::range_value_t<Range>::value)>>
      const_list_nodes(const Range& nodes)
      : const_list_nodes(std::ranges::data(nodes), std::ranges::size(nodes),
                         value_type_of<decltype(std::ranges::range_value_t<Range>::value)>()) {}
};

struct list_rank_options {
  list_count lists = list_count::one;
  access_pattern pattern = access_pattern::unknown();  ///< of the nodes' places, along the list
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.sublist"
};

struct list_scan_options {
  list_count lists = list_count::one;
  /// Empty: inclusive, a node's result has its own value. Else exclusive: the scan begins with this number, which has
  /// the type of the values, and a node's result has the values before it alone.
  std::optional<scalar> exclusive_from = {};
  access_pattern pattern = access_pattern::unknown();  ///< of the nodes' places, along the list
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.sublist"
};

/// Options of a list_scan by a function of the caller's.
template <class T>
struct list_function_options {
  list_count lists = list_count::one;
  /// Empty: inclusive, a node's result has its own value. Else exclusive: the scan begins with this value, and a node's
  /// result has the values before it alone.
  std::optional<T> exclusive_from = {};
  access_pattern pattern = access_pattern::unknown();  ///< of the nodes' places, along the list
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.sublist"
};

// A list in an array: node i's successor is node successor[i]. A negative successor, one of all bits set, or i itself
// ends the list. Nothing says where it begins: the head is the node that is no node's successor.
//
// What is no list surfaces at ctx.wait() as error(bad_index), in bounded time, and names the lowest of the worst:
// a successor past the nodes; a node that two nodes lead to; two heads where one list is expected; a node on a cycle.
// The output then holds anything. Inputs are not modified. Queued on ctx: returns before the work is done on CUDA,
// after it on the CPU. Results of floats are the same in every run of one variant on one device with one profile. Where
// the values of a stretch of the list overflow together, they may be NaN though a walk from the head would not be.
// CUDA takes fewer than 2^32 - 16 nodes, and forests of at most 3.5 * 2^30.

/// rank[i] = how many nodes come before node i in its list; 0 for a head.
/// @param successor  one for each node.
/// @param rank       as many as there are nodes, of a type that holds the largest rank; may not overlap successor.
/// @throws error(bad_argument) if lengths or types disagree, spans overlap or are not in ctx's memory.
SHEAF_API void list_rank(const context& ctx, index_span successor, index_output rank,
                         const list_rank_options& options = {});

/// out[i] = the values from the head of node i's list to node i, put together by op in the list's order.
/// @param successor  one for each node.
/// @param in         one value for each node.
/// @param out        as many, of the same type; may not overlap successor or in.
/// @throws error(bad_argument) if lengths or types disagree, op does not take the type, spans overlap or are not in
/// ctx's memory.
SHEAF_API void list_scan(const context& ctx, index_span successor, const_values in, values out, scan_operator op,
                         const list_scan_options& options = {});

/// list_scan of packed nodes.
SHEAF_API void list_scan(const context& ctx, const_list_nodes nodes, values out, scan_operator op,
                         const list_scan_options& options = {});

/// What the calls would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_list_rank(const context& ctx, index_span successor, index_output rank,
                                        const list_rank_options& options = {});
SHEAF_API explanation explain_list_scan(const context& ctx, index_span successor, const_values in, values out,
                                        scan_operator op, const list_scan_options& options = {});
SHEAF_API explanation explain_list_scan(const context& ctx, const_list_nodes nodes, values out, scan_operator op,
                                        const list_scan_options& options = {});

/// An associative function of two values of one type, which need not commute: op(earlier, later). Values are aligned to
/// at most 256 bytes.
template <class Op, class T>
concept list_scan_function = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> &&
                                 alignof(T) <= 256 &&
                             requires(const Op& op, const T& earlier, const T& later) {
  { op(earlier, later) } -> std::convertible_to<T>;
};

namespace detail {

struct device_scan_operator;  // in sheaf/cuda

/// An operator on host memory whose type the library does not know. Values lie side by side.
struct host_scan_operator {
  const void* op = nullptr;
  std::uint64_t value_bytes = 0;
  /// Goes on with a list: for each of `count` nodes in order, result[i] is what came before (if `exclusive`) or that
  /// and in[node[i]]. `running` holds all that came before the first node if has_running, and then all up to the last.
  /// result[0] of an exclusive scan stays as it is where nothing came before.
  void (*fold)(const void* op, const void* in, const void* nodes, bool nodes_are_wide, std::uint64_t count,
               bool exclusive, bool has_running, void* running, void* result) = nullptr;
  /// values[i] = op(earlier, values[i])
  void (*prepend)(const void* op, const void* earlier, void* values, std::uint64_t count) = nullptr;
};

/// A function object, or a function by its name, without its type; and with it again.
template <class Op>
const void* without_type(const Op& op) {
  return reinterpret_cast<const void*>(&op);
}
template <class Op>
const Op& with_type(const void* op) {
  if constexpr (std::is_function_v<Op>) {
    return *reinterpret_cast<Op*>(const_cast<void*>(op));
  } else {
    return *static_cast<const Op*>(op);
  }
}

/// What a scan has where nothing comes before a value: the value. The library's own operators may have something else.
template <class Op, class T>
struct result_alone {
  static constexpr bool is_value = true;
  static const T& of(const Op&, const T& value) noexcept { return value; }
};

template <class T, class Op>
host_scan_operator host_operator(const Op& op) {
  host_scan_operator erased;
  erased.op = without_type(op);
  erased.value_bytes = sizeof(T);
  erased.fold = [](const void* f, const void* in, const void* nodes, bool nodes_are_wide, std::uint64_t count,
                   bool exclusive, bool has_running, void* running, void* result) {
    const Op& combine = with_type<Op>(f);
    const T* const value = static_cast<const T*>(in);
    T* const out = static_cast<T*>(result);
    const auto go = [&](const auto* node) {
      T sum{};
      if (has_running) std::memcpy(&sum, running, sizeof(T));
      for (std::uint64_t i = 0; i < count; ++i) {
        const T own = value[node[i]];
        if (exclusive && (has_running || i > 0)) out[i] = sum;
        if (has_running || i > 0) {
          sum = combine(sum, own);
        } else {
          sum = result_alone<Op, T>::of(combine, own);
        }
        if (!exclusive) out[i] = sum;
      }
      if (count > 0) std::memcpy(running, &sum, sizeof(T));
    };
    if (nodes_are_wide) {
      go(static_cast<const std::uint64_t*>(nodes));
    } else {
      go(static_cast<const std::uint32_t*>(nodes));
    }
  };
  erased.prepend = [](const void* f, const void* earlier, void* values, std::uint64_t count) {
    const Op& combine = with_type<Op>(f);
    T before{};
    std::memcpy(&before, earlier, sizeof(T));
    T* const value = static_cast<T*>(values);
    for (std::uint64_t i = 0; i < count; ++i) value[i] = combine(before, value[i]);
  };
  return erased;
}

/// list_function_options without the type of the values.
struct untyped_list_options {
  template <class T>
  untyped_list_options(const list_function_options<T>& options) noexcept
      : exclusive_from(options.exclusive_from ? &*options.exclusive_from : nullptr),
        rest{options.lists, options.pattern, options.variant} {}

  const void* exclusive_from;  ///< a value in host memory; null: inclusive
  list_rank_options rest;
};

/// list_scan by an operator of the caller's, on the memory of a CPU context.
SHEAF_API void list_scan_by(const context& ctx, index_span successor, const_records in, records out,
                            const host_scan_operator& op, const untyped_list_options& options);

/// list_scan_by of `count` packed nodes: a value of 4 bytes, then its successor, an i32.
SHEAF_API void list_scan_packed_by(const context& ctx, const void* nodes, std::uint64_t count, records out,
                                   const host_scan_operator& op, const untyped_list_options& options);

/// list_scan by an operator of the caller's, whose kernels the caller has compiled, on the memory of a CUDA context.
SHEAF_API void list_scan_by(const context& ctx, index_span successor, const_records in, records out,
                            const device_scan_operator& op, const untyped_list_options& options);
SHEAF_API void list_scan_packed_by(const context& ctx, const void* nodes, std::uint64_t count, records out,
                                   const device_scan_operator& op, const untyped_list_options& options);

}  // namespace detail

/// list_scan with an associative function of the caller's on the CPU, called from several threads at once:
/// out[i] = op(...op(op(in[head], ...), ...), in[i]). For CUDA see sheaf/cuda/list_scan.cuh. What op throws reaches the
/// caller once all threads have ended; out then holds anything.
/// @throws error(bad_argument) as above, and for a context that is not the CPU's.
template <std::ranges::range In, std::ranges::range Out, class Op>
requires(!std::same_as<Op, scan_operator>) void list_scan(
    const context& ctx, index_span successor, const In& in, Out&& out, const Op& op,
    const list_function_options<std::ranges::range_value_t<In>>& options = {}) {
  using T = std::ranges::range_value_t<In>;
  constexpr bool has_input = record_range<In>;
  constexpr bool has_output = std::same_as<T, std::ranges::range_value_t<Out>> && record_output_range<Out>;
  constexpr bool has_function = list_scan_function<Op, T>;
  static_assert(has_input, "list_scan: in is not a vector, array or span of trivially copyable values");
  static_assert(has_output, "list_scan: out is not a vector, array or span of in's type that may be written");
  static_assert(has_function, "list_scan: op(earlier, later) does not take two values, or does not return one");
  if constexpr (has_input && has_output && has_function) {
    detail::list_scan_by(ctx, successor, const_records(in), records(out), detail::host_operator<T>(op), options);
  }
}

/// list_scan of packed nodes with an associative function of the caller's on the CPU, as above. Nodes are aligned to 8
/// bytes; T need not be a number, and a T of 4 bytes that holds two of 2 is one.
template <std::ranges::range Nodes, std::ranges::range Out, class Op>
requires(!std::same_as<Op, scan_operator>) void list_scan(
    const context& ctx, const Nodes& nodes, Out&& out, const Op& op,
    const list_function_options<std::ranges::range_value_t<Out>>& options = {}) {
  using T = std::ranges::range_value_t<Out>;
  constexpr bool has_output = record_output_range<Out> && sizeof(T) == 4;
  static_assert(has_output, "list_scan: out is not a vector, array or span of values of 4 bytes that may be written");
  if constexpr (has_output) {
    constexpr bool has_nodes = record_range<Nodes> && std::same_as<std::ranges::range_value_t<Nodes>, list_node<T>>;
    constexpr bool has_function = list_scan_function<Op, T>;
    static_assert(has_nodes, "list_scan: nodes is not a vector, array or span of list_node of out's type");
    static_assert(has_function, "list_scan: op(earlier, later) does not take two values, or does not return one");
    if constexpr (has_nodes && has_function) {
      detail::list_scan_packed_by(ctx, std::ranges::data(nodes), std::ranges::size(nodes), records(out),
                                  detail::host_operator<T>(op), options);
    }
  }
}

}  // namespace sheaf
