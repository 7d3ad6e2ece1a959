#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <sheaf/cuda/detail/list_operator.cuh>
#include <sheaf/list_scan.hpp>

// list_scan with an operator that a program brings, compiled by its own CUDA compiler (C++20, relocatable device code
// is not needed). The program links the library and the CUDA runtime.
namespace sheaf {

namespace detail {

/// What kernels can do with values and operators that a program brings.
template <class T, class Op>
constexpr void require_device_operator() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>, "values are moved as bytes");
  static_assert(std::is_trivially_copyable_v<Op>, "the operator is an argument of kernels");
  static_assert(sizeof(T) <= 64 && alignof(T) <= 16, "values have at most 64 bytes, aligned to at most 16");
}

}  // namespace detail

/// out[i] = the values from the head of node i's list to node i, put together by op in the list's order, on a CUDA
/// context. As the other list_scan in all else: inputs, errors at ctx.wait(), and determinism.
/// @param in       one value for each node, on the device, aligned to T.
/// @param out      as many; may not overlap in or successor.
/// @param op       an associative function object, op(earlier, later) -> T, callable on the device and trivially
///                 copyable. It need not commute.
/// @param options  what an exclusive scan begins with lies in host memory.
/// @throws error(bad_argument) for a context that is not a CUDA context, lengths or spans as there.
template <class T, class Op>
void list_scan(const context& ctx, index_span successor, const T* in, T* out, const Op& op,
               const list_function_options<std::type_identity_t<T>>& options = {}) {
  detail::require_device_operator<T, Op>();
  detail::list_scan_by(ctx, successor, const_records(in, successor.count, sizeof(T)),
                       records(out, successor.count, sizeof(T)), list_kernels::device_operator<T>(op), options);
}

/// list_scan of packed nodes with an operator that a program brings, on a CUDA context, as above. A walk reads value
/// and successor of a node in one access, and nothing has to be packed first.
/// @param nodes  `count` nodes on the device, aligned to 8 bytes. T need not be a number, and a T of 4 bytes that holds
///               two of 2 is one.
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
