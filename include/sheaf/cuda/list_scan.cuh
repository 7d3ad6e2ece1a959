#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <sheaf/cuda/detail/list_operator.cuh>
#include <sheaf/list_scan.hpp>

// list_scan by an operator of the program, which its own CUDA compiler compiles (C++20, for compute capability 8.0 and
// above; relocatable device code is not needed). The program links the library and the CUDA runtime.
namespace sheaf {

namespace detail {

/// What kernels require of values and operators of a program.
template <class T, class Op>
constexpr void require_device_operator() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>, "values are moved as bytes");
  static_assert(std::is_trivially_copyable_v<Op>, "the operator is an argument of kernels");
  static_assert(sizeof(T) <= 64 && alignof(T) <= 16, "values have at most 64 bytes, aligned to at most 16");
}

}  // namespace detail

/// Scans the values of lists on a CUDA context: out[i] combines, by op and in the order of the list, the values from
/// the head of node i's list to node i.
/// @tparam T       trivially copyable and default constructible, of at most 64 bytes, aligned to at most 16.
/// @param in       one value for each node, on the device, aligned to T.
/// @param out      as many values; may not overlap in or successor.
/// @param op       an associative function object, op(earlier, later) -> T, callable on the device and trivially
///                 copyable. It need not commute.
/// @param options  the first value of an exclusive scan lies in host memory.
/// @throws error(bad_argument) as list_scan in sheaf/list_scan.hpp does, and for a context that is not a CUDA context.
/// Everything else is as for that list_scan: successors, faults, determinism and synchrony.
template <class T, class Op>
void list_scan(const context& ctx, index_span successor, const T* in, T* out, const Op& op,
               const list_function_options<std::type_identity_t<T>>& options = {}) {
  detail::require_device_operator<T, Op>();
  detail::list_scan_by(ctx, successor, const_records(in, successor.count, sizeof(T)),
                       records(out, successor.count, sizeof(T)), list_kernels::device_operator<T>(op), options);
}

/// Scans the values of packed nodes on a CUDA context, as above. A walk reads value and successor of a node in one
/// access, and nothing has to be packed first.
/// @param nodes  `count` nodes on the device, aligned to 8 bytes. T is any type of 4 bytes, such as a pair of numbers
///               of 2 bytes.
/// @param out    as many values; may not overlap nodes.
template <class T, class Op>
void list_scan(const context& ctx, const list_node<T>* nodes, std::uint64_t count, T* out, const Op& op,
               const list_function_options<std::type_identity_t<T>>& options = {}) {
  detail::require_device_operator<T, Op>();
  static_assert(sizeof(list_node<T>) == sizeof(list_kernels::packed_node<T>) &&
                    offsetof(list_node<T>, successor) == offsetof(list_kernels::packed_node<T>, next),
                "kernels read nodes as they are");
  detail::list_scan_packed_by(ctx, nodes, count, records(out, count, sizeof(T)), list_kernels::device_operator<T>(op),
                              options);
}

}  // namespace sheaf
