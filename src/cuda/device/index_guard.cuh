#pragma once

#include "cuda/device/index_guard.hpp"

namespace sheaf::cuda {

/// Reports a bad index, which the slot keeps if it is the first by (call, position). Good indices never get here, so
/// checking costs them one comparison. Of the lanes that call this together only the lowest reports, so positions must
/// ascend with the lane. A bad index that cannot be the first leaves after two loads, without the lock.
template <class Index>
__device__ __noinline__ void report_bad_index(const index_guard& guard, std::uint64_t position, Index index) {
  if (guard.slot == nullptr) return;
  const unsigned lanes = __activemask();
  if (static_cast<int>(threadIdx.x % 32) != __ffs(static_cast<int>(lanes)) - 1) return;

  volatile core::index_report& first = guard.slot->first;
  // The lock's holder writes the position before the call number, and this reads them the other way round: the
  // position that is read is never older than the call number.
  const std::uint64_t call = first.call;
  __threadfence();
  if (call < guard.call || (call == guard.call && first.position <= position)) return;

  while (atomicCAS(&guard.slot->lock, 0U, 1U) != 0U) __nanosleep(200);
  __threadfence();
  if (guard.call < first.call || (guard.call == first.call && position < first.position)) {
    first.value = guard.is_signed == 0 || sizeof(Index) == 8
                      ? static_cast<std::uint64_t>(index)
                      : static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(index)));
    first.limit = guard.records;
    first.words = guard.words;
    first.is_signed = guard.is_signed;
    first.position = position;
    __threadfence();
    first.call = guard.call;
    *static_cast<volatile std::uint32_t*>(guard.flag) = 1;
    __threadfence_system();
  }
  __threadfence();
  atomicExch(&guard.slot->lock, 0U);
}

}  // namespace sheaf::cuda
