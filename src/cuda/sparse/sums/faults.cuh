#pragma once

#include "cuda/sparse/sums/guard.hpp"

namespace sheaf::cuda {

/// Keeps a fault in the slot if it is the first: that of the earliest call, of its rows before its columns, and of
/// these the one at the lowest position, then of the lowest row. Of one call, the words in the slot change from a
/// column's to a row's and never back, and the position is written before them; so whoever reads the words first and
/// the position then, without the lock, leaves only where its fault cannot be the first.
static __device__ __noinline__ void keep_fault(const csr_guard& guard, const core::index_report& fault) {
  if (guard.is_faulty != nullptr) *guard.is_faulty = 1;
  if (guard.columns.slot == nullptr) return;
  volatile core::index_report& first = guard.columns.slot->first;
  const core::index_words* const of_columns = guard.columns.words;
  const bool is_row = fault.words != of_columns;
  const std::uint64_t call = first.call;
  __threadfence();
  if (call < fault.call) return;
  if (call == fault.call) {
    const bool first_is_row = first.words != of_columns;
    __threadfence();
    if (first_is_row && (!is_row || first.position <= fault.position)) return;
    if (!first_is_row && !is_row && first.position < fault.position) return;
  }
  while (atomicCAS(&guard.columns.slot->lock, 0U, 1U) != 0U) __nanosleep(200);
  __threadfence();
  bool is_first = fault.call < first.call;
  if (fault.call == first.call) {
    const bool first_is_row = first.words != of_columns;
    is_first = is_row != first_is_row
                   ? is_row
                   : fault.position < first.position || (fault.position == first.position && fault.row < first.row);
  }
  if (is_first) {
    first.value = fault.value;
    first.limit = fault.limit;
    first.is_signed = fault.is_signed;
    first.row = fault.row;
    first.position = fault.position;
    __threadfence();
    first.words = fault.words;
    __threadfence();
    first.call = fault.call;
    *static_cast<volatile std::uint32_t*>(guard.columns.flag) = 1;
    __threadfence_system();
  }
  __threadfence();
  atomicExch(&guard.columns.slot->lock, 0U);
}

/// The bits of a number of the caller's, sign-extended where its type is signed.
template <class Bits>
__device__ __forceinline__ std::uint64_t extended(Bits bits, std::uint32_t is_signed) {
  return is_signed == 0 || sizeof(Bits) == 8
             ? static_cast<std::uint64_t>(bits)
             : static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
}

}  // namespace sheaf::cuda
