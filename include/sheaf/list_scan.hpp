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
  one,   ///< one list of all nodes; everything else is an error
  many,  ///< any number of lists (a forest of paths), with every node on exactly one of them
};

/// The operation that combines two values. Sums and products of integers wrap around. Min and max are as in
/// sheaf::reduction (scatter_reduce.hpp): for floats -0 is below +0, and where a NaN is among the values, even as the
/// only one, the result is the positive quiet NaN. The bitwise operators take integers.
enum class scan_operator : std::uint8_t { add, min, max, mul, bit_and, bit_or, bit_xor };

/// One number and its type.
struct scalar {
  value_type type = value_type::f32;
  std::uint64_t bits = 0;  ///< the bytes of the number, the first in the lowest bits

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

/// A packed node: value and successor side by side in 64 bits, which a walk along the list reads in one access. The
/// value is a number, or of any type of 4 bytes that the caller's function takes.
template <class T>
requires(sizeof(T) == 4 && std::is_trivially_copyable_v<T>) struct list_node {
  T value;
  std::int32_t successor;
};

/// A view of packed nodes to read. A node is a number of 4 bytes, then the node's successor, also of 4 bytes. The view
/// owns nothing, and `data` is aligned to 8 bytes.
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
  access_pattern pattern = access_pattern::unknown();  ///< of the positions of the nodes, along the list
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.sublist"; empty: the planner's choice
};

struct list_scan_options {
  list_count lists = list_count::one;
  /// Empty: the scan is inclusive, so that a node's result includes its own value. Else it is exclusive: it begins with
  /// this number, which has the type of the values, and a node's result includes only the values before it.
  std::optional<scalar> exclusive_from = {};
  access_pattern pattern = access_pattern::unknown();  ///< of the positions of the nodes, along the list
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.sublist"; empty: the planner's choice
};

/// Options of a list_scan by the caller's function.
template <class T>
struct list_function_options {
  list_count lists = list_count::one;
  /// Empty: the scan is inclusive, so that a node's result includes its own value. Else it is exclusive: it begins with
  /// this value, and a node's result includes only the values before it.
  std::optional<T> exclusive_from = {};
  access_pattern pattern = access_pattern::unknown();  ///< of the positions of the nodes, along the list
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.sublist"; empty: the planner's choice
};

// A list in an array: the successor of node i is node successor[i]. The list ends at a node whose successor is
// negative, has all bits set, or is the node itself. The heads are found, not given: a head is a node to which no other
// node leads. Inputs are not modified.
//
// Faults: an array that does not hold lists surfaces at ctx.wait() as error(bad_index), in bounded time, and the output
// is then undefined. If several faults occur, the message names the kind that comes first here, at its lowest
// node: a successor past the nodes; two nodes that lead to one; two heads where one list is expected; a cycle.
// @throws error(bad_argument) as each call says; error(no_variant) on OpenGL, and on CUDA for 2^32 - 16 or more nodes,
// with list_count::many for more than 3.5 * 2^30; and what every call may throw (see context).
// Results of floats are the same in every run of one variant on one device with one profile. Where the values of a
// stretch of the list overflow when they are combined, results may be NaN although a walk from the head would not give
// NaN. The calls are queued on ctx: on CUDA they return before their work is done, on the CPU after. Source: Wei and
// JaJa 2010.

/// Ranks the nodes of lists: rank[i] is how many nodes come before node i in its list, 0 for a head.
/// @param successor  one for each node, of a type that holds the number of nodes, aligned to the type.
/// @param rank       one for each node, of a type that holds the number of nodes, aligned to the type; may not overlap
///                   successor.
/// @throws error(bad_argument) if counts disagree, a type is too narrow, an array is not aligned, rank overlaps
/// successor, or an array is not in ctx's memory.
SHEAF_API void list_rank(const context& ctx, index_span successor, index_output rank,
                         const list_rank_options& options = {});

/// Scans the values of lists: out[i] combines, by op and in the order of the list, the values from the head of node i's
/// list to node i; in an exclusive scan, options.exclusive_from and the values from the head to the node before node i.
/// @param successor  one for each node, of a type that holds the number of nodes, aligned to the type.
/// @param in         one value for each node, aligned to its type.
/// @param out        as many values of the same type, aligned to the type; may not overlap successor or in.
/// @throws error(bad_argument) if counts or types disagree, successor's type is too narrow, op does not take the type,
/// an array is not aligned, out overlaps an input, or an array is not in ctx's memory.
SHEAF_API void list_scan(const context& ctx, index_span successor, const_values in, values out, scan_operator op,
                         const list_scan_options& options = {});

/// Scans the values of packed nodes, as above. `out` has one value for each node, of the type of the values, and may
/// not overlap nodes.
SHEAF_API void list_scan(const context& ctx, const_list_nodes nodes, values out, scan_operator op,
                         const list_scan_options& options = {});

/// What the calls would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_list_rank(const context& ctx, index_span successor, index_output rank,
                                        const list_rank_options& options = {});
SHEAF_API explanation explain_list_scan(const context& ctx, index_span successor, const_values in, values out,
                                        scan_operator op, const list_scan_options& options = {});
SHEAF_API explanation explain_list_scan(const context& ctx, const_list_nodes nodes, values out, scan_operator op,
                                        const list_scan_options& options = {});

/// An associative function op(earlier, later) of two values of one type. It need not commute. Values are aligned to at
/// most 256 bytes.
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
  /// Continues a list: for each of `count` nodes in order, result[i] is what came before (if `exclusive`), or that
  /// combined with in[node[i]]. Where nothing came before, an inclusive result is first_result of in[node[i]], and an
  /// exclusive one is not written. `running` holds all that came before the first node if has_running, and afterwards
  /// all up to the last node.
  void (*fold)(const void* op, const void* in, const void* nodes, bool nodes_are_wide, std::uint64_t count,
               bool exclusive, bool has_running, void* running, void* result) = nullptr;
  /// values[i] = op(earlier, values[i])
  void (*prepend)(const void* op, const void* earlier, void* values, std::uint64_t count) = nullptr;
};

/// A function object, or a function by its name, without its type; with_type gives the type back.
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

/// What an inclusive scan yields for the first value of a list: the value itself by the caller's functions. The
/// library's operators specialize this where it is not the value: min and max turn every NaN into the positive quiet
/// one.
template <class Op, class T>
struct first_result {
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
          sum = first_result<Op, T>::of(combine, own);
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

/// list_scan by the caller's operator, on the memory of a CPU context.
SHEAF_API void list_scan_by(const context& ctx, index_span successor, const_records in, records out,
                            const host_scan_operator& op, const untyped_list_options& options);

/// list_scan_by of `count` packed nodes: a value of 4 bytes, then its successor, an i32.
SHEAF_API void list_scan_packed_by(const context& ctx, const void* nodes, std::uint64_t count, records out,
                                   const host_scan_operator& op, const untyped_list_options& options);

/// list_scan by the caller's operator, whose kernels the caller has compiled, on the memory of a CUDA context.
SHEAF_API void list_scan_by(const context& ctx, index_span successor, const_records in, records out,
                            const device_scan_operator& op, const untyped_list_options& options);
SHEAF_API void list_scan_packed_by(const context& ctx, const void* nodes, std::uint64_t count, records out,
                                   const device_scan_operator& op, const untyped_list_options& options);

}  // namespace detail

/// Scans the values of lists by the caller's associative function, on the CPU. An inclusive scan yields out[i] =
/// op(...op(op(in[head], ...), ...), in[i]). `in` and `out` are ranges of one type, with a value for each node. Several
/// threads may call op at once. An exception of op reaches the caller once all threads have ended, and out is then
/// undefined. For CUDA see sheaf/cuda/list_scan.cuh.
/// @throws error(bad_argument) as above, and for a context that is not a CPU context.
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

/// Scans the values of packed nodes by the caller's associative function, as above. Nodes are aligned to 8 bytes.
/// Values are of any type of 4 bytes that list_scan_function takes, such as a pair of numbers of 2 bytes.
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
