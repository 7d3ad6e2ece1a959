#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cuda/hash/slot_index.hpp"
#include "primitives/hash/function.hpp"

// Slots of an index on the device. A key's slot is the first free one from its bucket on, where keys come in the order
// of their hashes. So the occupied slots of the table ascend, and what a bucket has no room for follows in the next.
namespace sheaf::cuda {

/// A slot. The value of a key with one record is the record's number. Else it is the flag and where the key's rows
/// begin. All bits set: the slot is empty, and so are all behind it in its bucket.
template <class Word>
struct alignas(2 * sizeof(Word)) hash_slot {
  static constexpr Word empty = ~Word{0};
  static constexpr Word repeated = Word{1} << (8 * sizeof(Word) - 1);

  Word hash;
  Word value;
};

/// Types of one slot_form with keys of one width.
template <class KeyType, class SlotWord, class RowType>
struct slot_types {
  using key = KeyType;  ///< as wide as keys: keys and hashes
  using word = SlotWord;
  using row = RowType;
  using slot = hash_slot<SlotWord>;
  static constexpr unsigned per_bucket = sector_bytes / sizeof(slot);
};

/// Calls body with a null pointer to the slot_types of an index.
template <class Body>
void with_slot_types(slot_form form, std::uint64_t key_bytes, Body body) {
  switch (form) {
    case slot_form::narrow: return body(static_cast<slot_types<std::uint32_t, std::uint32_t, std::uint32_t>*>(nullptr));
    case slot_form::wide: return body(static_cast<slot_types<std::uint64_t, std::uint64_t, std::uint32_t>*>(nullptr));
    case slot_form::wide_rows: break;
  }
  if (key_bytes == 4) return body(static_cast<slot_types<std::uint32_t, std::uint64_t, std::uint64_t>*>(nullptr));
  body(static_cast<slot_types<std::uint64_t, std::uint64_t, std::uint64_t>*>(nullptr));
}

/// Keys at any stride and alignment.
struct key_source {
  const std::byte* data;
  std::uint64_t stride;
  std::uint32_t is_aligned;
};

inline key_source key_source_of(const_records keys) noexcept {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(keys.data) | keys.stride_bytes;
  return {keys.data, keys.stride_bytes, bits % keys.record_bytes == 0 ? 1U : 0U};
}

template <class Key>
__device__ __forceinline__ Key load_key(const key_source& source, std::uint64_t i) {
  const std::byte* const at = source.data + i * source.stride;
  if (source.is_aligned != 0) return __ldcs(reinterpret_cast<const Key*>(at));
  Key key = 0;
  for (unsigned b = 0; b < sizeof(Key); ++b) key |= static_cast<Key>(static_cast<unsigned char>(at[b])) << (8 * b);
  return key;
}

/// An index for kernels.
template <class Types>
struct slot_view {
  using slot = typename Types::slot;
  using word = typename Types::word;
  using key = typename Types::key;

  const slot* slots;
  std::uint64_t buckets;      ///< that keys want
  std::uint64_t all_buckets;  ///< and those behind, where the last ones' keys may lie
  const typename Types::row* rows;

  __device__ __forceinline__ std::uint64_t bucket(key hash) const { return primitives::bucket_of(hash, buckets); }

  /// The slots of one bucket, by as few loads as there are.
  struct bucket_slots {
    slot at[Types::per_bucket];
  };
  __device__ __forceinline__ bucket_slots load(std::uint64_t bucket) const {
    static_assert(sizeof(bucket_slots) == 2 * sizeof(uint4));
    const auto* const words = reinterpret_cast<const uint4*>(slots) + 2 * bucket;
    uint4 read[2] = {__ldg(words), __ldg(words + 1)};
    bucket_slots found;
    memcpy(&found, read, sizeof found);
    return found;
  }

  /// The value of the key with this hash; slot::empty if there is none. `first` holds the slots of its bucket.
  __device__ __forceinline__ word look_up(key hash, std::uint64_t bucket, const bucket_slots& first) const {
    word value = value_in(first, hash);
    if (value != slot::empty || !goes_on(first, hash)) return value;
    return look_further(hash, bucket);
  }

 private:
  static __device__ __forceinline__ word value_in(const bucket_slots& b, key hash) {
    word value = slot::empty;
    // Empty slots come last and have a hash that a key may have: the first slot counts.
#pragma unroll
    for (int k = Types::per_bucket - 1; k >= 0; --k) {
      if (b.at[k].hash == hash) value = b.at[k].value;
    }
    return value;
  }
  /// Whether the next bucket may have the key.
  static __device__ __forceinline__ bool goes_on(const bucket_slots& b, key hash) {
    const slot& last = b.at[Types::per_bucket - 1];
    return last.value != slot::empty && last.hash < hash;
  }

  /// Goes on behind a bucket that is full of lower hashes: from bucket to bucket, which is most often one step, and by
  /// bisection where thousands of keys want one bucket.
  __device__ __noinline__ word look_further(key hash, std::uint64_t bucket) const {
    constexpr int most_steps = 8;
    for (int step = 0; step < most_steps; ++step) {
      const bucket_slots next = load(++bucket);
      const word value = value_in(next, hash);
      if (value != slot::empty || !goes_on(next, hash)) return value;
    }
    // A bucket's first slot is not empty and not above the hash up to the bucket that would have the key, and never
    // behind it.
    const auto is_before = [&](std::uint64_t b) {
      if (b >= all_buckets) return false;
      const slot first = slots[b * Types::per_bucket];
      return first.value != slot::empty && first.hash <= hash;
    };
    std::uint64_t reach = 1;
    while (is_before(bucket + reach)) reach *= 2;
    std::uint64_t below = reach / 2;  // true there, or 0
    while (reach - below > 1) {
      const std::uint64_t middle = below + (reach - below) / 2;
      (is_before(bucket + middle) ? below : reach) = middle;
    }
    return value_in(load(bucket + below), hash);
  }
};

template <class Types>
slot_view<Types> view_of(const slot_index& index) {
  return {static_cast<const typename Types::slot*>(index.slots()), index.buckets, index.all_buckets,
          static_cast<const typename Types::row*>(index.rows())};
}

}  // namespace sheaf::cuda
