#pragma once

#include <type_traits>

#include <sheaf/cuda/detail/list_operator.cuh>
#include <sheaf/list_scan.hpp>

// list_scan with an operator that a program brings, compiled by its own CUDA compiler (C++20, relocatable device code
// is not needed). The program links the library and the CUDA runtime.
namespace sheaf {

/// out[i] = the values from the head of node i's list to node i, put together by op in the list's order, on a CUDA
/// context. As the other list_scan in all else: inputs, errors at ctx.wait(), determinism, and what `lists` means.
/// @param in       one value for each node, on the device, aligned to T.
/// @param out      as many; may not overlap in or successor.
/// @param op       an associative function object, op(earlier, later) -> T, callable on the device and trivially
///                 copyable. It need not commute.
/// @param initial  null: inclusive; else, in host memory, what an exclusive scan begins with.
/// @throws error(bad_argument) for a context that is not a CUDA context, lengths or spans as there.
template <class T, class Op>
void list_scan(const context& ctx, index_span successor, const T* in, T* out, const Op& op,
               const std::type_identity_t<T>* initial = nullptr, list_count lists = list_count::one,
               access_pattern pattern = access_pattern::unknown(), std::string_view variant = {}) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>, "values are moved as bytes");
  static_assert(std::is_trivially_copyable_v<Op>, "the operator is an argument of kernels");
  static_assert(sizeof(T) <= 64 && alignof(T) <= 16, "values have at most 64 bytes, aligned to at most 16");
  detail::list_scan_by(ctx, successor, const_records(in, successor.count, sizeof(T)),
                       records(out, successor.count, sizeof(T)), list_kernels::device_operator<T>(op), initial, lists,
                       pattern, variant);
}

}  // namespace sheaf
