#pragma once

#include "cuda/device/index_guard.hpp"

namespace sheaf::cuda {

/// Reports a bad index, which the slot keeps if it is the first by (call, position). Good indices never get here, so
/// checking costs them one comparison. Of the lanes that are here together, which may have come from different turns of
/// a loop, only the one with the least position reports. A bad index that cannot be the first leaves after two loads,
/// without the lock.
template <class Index>
__device__ __noinline__ void report_bad_index(const index_guard& guard, std::uint64_t position, Index index) {
  if (guard.slot == nullptr) return;
  const unsigned lanes = __activemask();
  const auto high = static_cast<std::uint32_t>(position >> 32);
  const std::uint32_t least_high = __reduce_min_sync(lanes, high);
  const std::uint32_t low = high == least_high ? static_cast<std::uint32_t>(position) : ~0U;
  if (low != __reduce_min_sync(lanes, low) || high != least_high) return;

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
    first.wording = guard.wording;
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
