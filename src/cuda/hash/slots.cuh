#pragma once

#include "cuda/hash/slot_index.hpp"
#include "primitives/hash/function.hpp"

// Slots of an index on the device. A key's slot is the first free one from its bucket on, where keys come in the order
// of their hashes. So the occupied slots of the table ascend, and what a bucket has no room for follows in the next.
namespace sheaf::cuda {

/// A slot. All bits of the value are set: the slot is empty, and so are all behind it in its bucket.
template <class Word>
struct alignas(2 * sizeof(Word)) hash_slot {
  static constexpr Word empty = ~Word{0};

  Word hash;
  Word value;
};

/// Types of one slot_form with keys of one width, and what values say. The rows of a key with several records are their
/// number, then the records' numbers. A value says the first of them, where it has room for that, and where they lie.
template <class KeyType, class SlotWord, class RowType>
struct slot_types {
  using key = KeyType;  ///< as wide as keys: keys and hashes
  using word = SlotWord;
  using row = RowType;
  using slot = hash_slot<SlotWord>;
  using bucket_number = RowType;  ///< as many bytes as record numbers have are enough
  static constexpr unsigned per_bucket = sector_bytes / sizeof(slot);
  static constexpr bool has_first = sizeof(word) > sizeof(row);  ///< the low half of a value is the first record

  static __device__ __forceinline__ word single(row id) {
    if constexpr (has_first) return no_rows << row_bits | id;
    return id;
  }
  static __device__ __forceinline__ word repeated(std::uint64_t rows_at, row first) {
    if constexpr (has_first) return static_cast<word>(rows_at) << row_bits | first;
    return repeated_flag | static_cast<word>(rows_at);
  }
  /// Of a value that is not empty.
  static __device__ __forceinline__ bool is_repeated(word value) {
    if constexpr (has_first) return value >> row_bits != no_rows;
    return (value & repeated_flag) != 0;
  }
  static __device__ __forceinline__ word rows_at(word value) {
    if constexpr (has_first) return value >> row_bits;
    return value & ~repeated_flag;
  }

 private:
  static constexpr unsigned row_bits = has_first ? 8 * sizeof(row) : 0;
  static constexpr word no_rows = static_cast<row>(~row{1});
  static constexpr word repeated_flag = word{1} << (8 * sizeof(word) - 1);
};

/// Calls body with a null pointer to the slot_types of an index.
template <class Body>
void with_slot_types(slot_form form, std::uint64_t key_bytes, Body body) {
  using narrow_key = std::uint32_t;
  using wide_key = std::uint64_t;
  const bool is_narrow = key_bytes == sizeof(narrow_key);
  switch (form) {
    case slot_form::narrow: return body(static_cast<slot_types<narrow_key, std::uint32_t, std::uint32_t>*>(nullptr));
    case slot_form::wide:
      if (is_narrow) return body(static_cast<slot_types<narrow_key, std::uint64_t, std::uint32_t>*>(nullptr));
      return body(static_cast<slot_types<wide_key, std::uint64_t, std::uint32_t>*>(nullptr));
    case slot_form::wide_rows: break;
  }
  if (is_narrow) return body(static_cast<slot_types<narrow_key, std::uint64_t, std::uint64_t>*>(nullptr));
  body(static_cast<slot_types<wide_key, std::uint64_t, std::uint64_t>*>(nullptr));
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

/// The bucket of a hash, below `buckets`. Buckets ascend with the hash.
__device__ __forceinline__ std::uint32_t bucket_of(std::uint32_t hash, std::uint32_t buckets) {
  return __umulhi(hash, buckets);
}
__device__ __forceinline__ std::uint32_t bucket_of(std::uint64_t hash, std::uint32_t buckets) {
  return __umulhi(static_cast<std::uint32_t>(hash >> 32), buckets);
}
template <class Key>
__device__ __forceinline__ std::uint64_t bucket_of(Key hash, std::uint64_t buckets) {
  return primitives::bucket_of(hash, buckets);
}

/// An index for kernels.
template <class Types>
struct slot_view {
  using slot = typename Types::slot;
  using word = typename Types::word;
  using key = typename Types::key;
  using bucket_number = typename Types::bucket_number;
  static constexpr bucket_number no_bucket = ~bucket_number{0};

  const slot* slots;
  bucket_number buckets;      ///< that keys want
  bucket_number all_buckets;  ///< and those behind, where the last ones' keys may lie
  const typename Types::row* rows;

  struct bucket_slots {
    slot at[Types::per_bucket];
  };

  __device__ __forceinline__ bucket_number bucket(key hash) const { return bucket_of(hash, buckets); }

  __device__ __forceinline__ bucket_slots load(bucket_number bucket) const {
    return from_halves(__ldg(half(bucket, 0)), __ldg(half(bucket, 1)));
  }

  /// load() by all lanes of a warp at once. Two lanes read their two buckets together, each one half, so that a load
  /// of the warp touches half as many sectors. Where SomeHaveNone, nothing is read for no_bucket, and the slots are
  /// anything.
  template <bool SomeHaveNone>
  __device__ __forceinline__ bucket_slots load_by_pairs(bucket_number bucket) const {
    const unsigned odd = threadIdx.x % 2;
    const bucket_number other = __shfl_xor_sync(~0U, bucket, 1);
    uint4 own{};
    uint4 others{};
    if (!SomeHaveNone || bucket != no_bucket) own = __ldg(half(bucket, odd));
    if (!SomeHaveNone || other != no_bucket) others = __ldg(half(other, odd));
    const uint4 got = {__shfl_xor_sync(~0U, others.x, 1), __shfl_xor_sync(~0U, others.y, 1),
                       __shfl_xor_sync(~0U, others.z, 1), __shfl_xor_sync(~0U, others.w, 1)};
    return odd == 0 ? from_halves(own, got) : from_halves(got, own);
  }

  /// The value of the key with this hash, if it is in these slots; else slot::empty.
  static __device__ __forceinline__ word value_in(const bucket_slots& slots, key hash) {
    word value = slot::empty;
    // Empty slots come last and have a hash that a key may have: the first slot counts.
#pragma unroll
    for (int k = Types::per_bucket - 1; k >= 0; --k) {
      if (slots.at[k].hash == hash) value = slots.at[k].value;
    }
    return value;
  }
  /// Whether the bucket behind these slots may have the key, if they do not.
  static __device__ __forceinline__ bool goes_on(const bucket_slots& b, key hash) {
    const slot& last = b.at[Types::per_bucket - 1];
    return last.value != slot::empty && last.hash < hash;
  }

 private:
  __device__ __forceinline__ const uint4* half(bucket_number bucket, unsigned which) const {
    return reinterpret_cast<const uint4*>(slots) + (2 * std::uint64_t{bucket} + which);
  }
  static __device__ __forceinline__ bucket_slots from_halves(uint4 low, uint4 high) {
    static_assert(sizeof(bucket_slots) == 2 * sizeof(uint4));
    const uint4 both[2] = {low, high};
    bucket_slots found;
    memcpy(&found, both, sizeof found);
    return found;
  }
};

constexpr int most_rounds = 8;  ///< buckets that a look-up goes to one by one

/// Looks on from `bucket`, which is full of lower hashes, by bisection: thousands of keys want one bucket.
template <class Types>
__device__ __noinline__ typename Types::word look_far(const slot_view<Types> index, typename Types::key hash,
                                                      std::uint64_t bucket) {
  using bucket_number = typename Types::bucket_number;
  // A bucket's first slot is not empty and not above the hash up to the bucket that would have the key, and never
  // behind it.
  const auto is_before = [&](std::uint64_t b) {
    if (b >= index.all_buckets) return false;
    const auto first = index.slots[b * Types::per_bucket];
    return first.value != Types::slot::empty && first.hash <= hash;
  };
  std::uint64_t reach = 1;
  while (is_before(bucket + reach)) reach *= 2;
  std::uint64_t below = reach / 2;  // true there, or 0
  while (reach - below > 1) {
    const std::uint64_t middle = below + (reach - below) / 2;
    (is_before(bucket + middle) ? below : reach) = middle;
  }
  return index.value_in(index.load(static_cast<bucket_number>(bucket + below)), hash);
}

/// Looks up several keys at once: their values, or slot::empty. Where SomeHaveNone, the bucket of a key may be
/// no_bucket; its value is then anything. All lanes of a warp call it.
template <bool SomeHaveNone, int Each, class Types>
__device__ __forceinline__ void look_up(const slot_view<Types>& index, const typename Types::key (&hash)[Each],
                                        typename Types::bucket_number (&bucket)[Each],
                                        typename Types::word (&value)[Each]) {
  using view = slot_view<Types>;
  typename view::bucket_slots slots[Each];
#pragma unroll
  for (int k = 0; k < Each; ++k) slots[k] = index.template load_by_pairs<SomeHaveNone>(bucket[k]);
  bool is_open[Each];  // whether the next bucket may have the key
  bool any_open = false;
#pragma unroll
  for (int k = 0; k < Each; ++k) {
    value[k] = view::value_in(slots[k], hash[k]);
    is_open[k] = value[k] == Types::slot::empty && view::goes_on(slots[k], hash[k]);
    if (SomeHaveNone && bucket[k] == view::no_bucket) is_open[k] = false;
    any_open |= is_open[k];
  }
#pragma unroll 1
  for (int round = 1; any_open; ++round) {
    if (round == most_rounds) {
#pragma unroll
      for (int k = 0; k < Each; ++k) {
        if (is_open[k]) value[k] = look_far(index, hash[k], bucket[k]);
      }
      break;
    }
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      if (is_open[k]) slots[k] = index.load(++bucket[k]);
    }
    any_open = false;
#pragma unroll
    for (int k = 0; k < Each; ++k) {
      if (!is_open[k]) continue;
      value[k] = view::value_in(slots[k], hash[k]);
      is_open[k] = value[k] == Types::slot::empty && view::goes_on(slots[k], hash[k]);
      any_open |= is_open[k];
    }
  }
}

/// look_up() of one key, by one thread.
template <class Types>
__device__ __forceinline__ typename Types::word look_up(const slot_view<Types>& index, typename Types::key hash) {
  typename Types::bucket_number bucket = index.bucket(hash);
  auto slots = index.load(bucket);
  typename Types::word value = index.value_in(slots, hash);
  for (int round = 1; value == Types::slot::empty && index.goes_on(slots, hash); ++round) {
    if (round == most_rounds) return look_far(index, hash, bucket);
    slots = index.load(++bucket);
    value = index.value_in(slots, hash);
  }
  return value;
}

template <class Types>
slot_view<Types> view_of(const slot_index& index) {
  using bucket_number = typename Types::bucket_number;
  return {static_cast<const typename Types::slot*>(index.slots()), static_cast<bucket_number>(index.buckets),
          static_cast<bucket_number>(index.all_buckets), static_cast<const typename Types::row*>(index.rows())};
}

}  // namespace sheaf::cuda
