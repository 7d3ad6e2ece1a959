#pragma once

#include "cuda/sort/msd/tables.cuh"

// A level of a sort from the highest digit down, as its phases see it: whose the tiles are, and which bin is a word's.
namespace sheaf::cuda {

/// Words of one limb are split by any 8 bits, which takes no longer than a byte; others by a byte.
template <int Limbs>
using level_field = std::conditional_t<Limbs == 1, digit_field, byte_field>;

/// The bin of a word of a bucket: its digit. Where a key seems to be frequent, the pivot, it has a bin of its own,
/// which is in order at once, between those of the words before and behind it that share its digit; to make room for
/// the two, the highest three digits share a bin.
template <int Limbs, payload_mode Payload, bool Pivots>
struct level_bin {
  /// Words without values and row numbers are the pivot itself; others equal it in the key's bits.
  static constexpr bool is_range = Payload != payload_mode::nothing;
  static constexpr std::uint32_t most_with_pivot = radix_bins - 3;

  level_field<Limbs> digit;
  std::uint32_t most_digit;  ///< what higher digits count as
  std::uint32_t step;        ///< 1, or 0 without a pivot
  sort_word<Limbs> least;    ///< of the words with the pivot's key
  sort_word<Limbs> most;

  __device__ __forceinline__ std::uint32_t of(const sort_word<Limbs>& word) const {
    std::uint32_t bin = min(digit_of(word, digit), most_digit);
    if (!is_less(word, least)) bin += step;
    if (is_less(is_range ? most : least, word)) bin += step;
    return bin;
  }
  __device__ std::uint32_t pivot_bin() const { return step == 0 ? no_bin : digit_of(least, digit) + 1; }
};

/// Levels that look for no pivot.
template <int Limbs, payload_mode Payload>
struct level_bin<Limbs, Payload, false> {
  level_field<Limbs> digit;
  __device__ __forceinline__ std::uint32_t of(const sort_word<Limbs>& word) const { return digit_of(word, digit); }
  __device__ std::uint32_t pivot_bin() const { return no_bin; }
};

/// A level's work on one tile.
template <int Limbs, payload_mode Payload, bool Pivots>
struct level_view {
  std::uint32_t first;  ///< of the tile's words in its buffer
  std::uint32_t where;
  sort_word<Limbs>* to;  ///< where the bucket's buffer of the next level begins
  std::uint32_t left;
  std::uint32_t row;  ///< of the bucket, or of the tile's chunk
  level_bin<Limbs, Payload, Pivots> bin;
  bool leaves_pivot_out;
};

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
struct level_state {
  static constexpr bool Ordered = keeps_order(Payload);
  static constexpr std::uint32_t tile_words = level_tile<Limbs>;
  using word = sort_word<Limbs>;
  using reader = word_reader<Limbs, FromRows>;
  using view_type = level_view<Limbs, Payload, Pivots>;

  const msd_pass_arguments& a;
  const sort_tables& t;
  level_shared& s;
  unsigned char* staged;
  std::uint32_t now;  ///< which of the tables' pairs is the level's, and which the next one's
  std::uint32_t next;

  __device__ level_state(const msd_pass_arguments& arguments, level_shared& shared, unsigned char* tile,
                         std::uint32_t turn)
      : a(arguments), t(arguments.tables), s(shared), staged(tile), now(turn % 2), next(1 - turn % 2) {}

  /// One thread finds out whose a coming tile is, if there is one, while the others go on; the last thread is not the
  /// one that is waited for.
  __device__ __forceinline__ void look_ahead(std::uint32_t tile, std::uint32_t tiles) {
    if (threadIdx.x != level_threads - 1 || tile >= tiles) return;
    const std::uint32_t b = t.tile_bucket[now][tile];
    const sort_bucket bucket = t.buckets[now][b];
    s.coming = b;
    s.coming_bucket = bucket;
    if constexpr (Pivots) find_pivot(bucket, s.coming_pivot);
  }

  static __device__ std::uint32_t tiles_of(std::uint32_t count) { return (count - 1) / tile_words + 1; }
  static __device__ std::uint32_t rows_of(std::uint32_t count) {
    return Ordered ? (tiles_of(count) - 1) / chunk_tiles + 1 : 1;
  }

  /// Of a level's digit: 8, or in the second level of long lists as few as make groups of a bucket. Smaller buckets
  /// were put together as groups, in whose bins the words would be uneven.
  __device__ std::uint32_t digit_bits(std::uint32_t count) const {
    constexpr std::uint32_t least = 4;
    if constexpr (Limbs == 1 && !Pivots) {
      if (now == 1) return max(least, min(32 - __clz((count - 1) / words_of_full_group), radix_bits));
    }
    return radix_bits;
  }

  /// The lowest bit of a level's digit of a bucket.
  __device__ std::uint32_t low_of(const sort_bucket& bucket) const {
    const std::uint32_t width = digit_bits(bucket.count);
    return max(bucket.bits, a.key_low + width) - width;
  }

  __device__ level_field<Limbs> digit_of_bucket(const sort_bucket& bucket) const {
    const std::uint32_t low = low_of(bucket);
    if constexpr (Limbs == 1) {
      return digit_at(low, bucket.bits - low);
    } else {
      return byte_at(low / radix_bits);
    }
  }

  __device__ view_type view_of(std::uint32_t tile, const sort_bucket& bucket) const {
    const std::uint32_t of_bucket = tile - bucket.first_tile;
    const std::uint32_t skipped = of_bucket * tile_words;
    const std::uint32_t where = bucket.where & where_mask;
    return {bucket.begin + skipped,
            where,
            static_cast<word*>(const_cast<void*>(a.buffers[next_buffer(where)])),
            min(bucket.count - skipped, tile_words),
            bucket.first_row + (Ordered ? of_bucket / chunk_tiles : 0),
            bin_of_bucket(bucket),
            (bucket.where & leaves_out) != 0};
  }

  /// Of a few words of the bucket, one whose key another one has too; what was read does not change before the level
  /// ends, so that all blocks agree.
  __device__ void find_pivot(const sort_bucket& bucket, pivot_word& pivot) const {
    pivot.found = false;
    if (low_of(bucket) <= a.key_low || a.key_high < 32 * Limbs) return;
    constexpr int looked_at = 5;
    const reader from(a, bucket.where & where_mask, bucket.begin);
    const key_mask<Limbs> key(a.key_low);
    word words[looked_at];
#pragma unroll
    for (int i = 0; i < looked_at; ++i) {
      words[i] = from.load_key(static_cast<std::uint32_t>(std::uint64_t{bucket.count - 1} * i / (looked_at - 1)));
    }
#pragma unroll
    for (int i = 1; i < looked_at; ++i) {
#pragma unroll
      for (int j = 0; j < i; ++j) {
        if (pivot.found || compare_words(words[i], words[j], key) != word_order::equal) continue;
        pivot.found = true;
#pragma unroll
        for (int p = 0; p < Limbs; ++p) pivot.limb[p] = words[i].limb[p];
      }
    }
  }

  __device__ level_bin<Limbs, Payload, Pivots> bin_of_bucket(const sort_bucket& bucket) const {
    level_bin<Limbs, Payload, Pivots> bin;
    bin.digit = digit_of_bucket(bucket);
    if constexpr (Pivots) {
      const key_mask<Limbs> key(a.key_low);
#pragma unroll
      for (int i = 0; i < Limbs; ++i) {
        bin.least.limb[i] = s.coming_pivot.limb[i] & key.limb[i];
        bin.most.limb[i] = s.coming_pivot.limb[i] | ~key.limb[i];
      }
      const bool has_pivot = s.coming_pivot.found && digit_of(bin.least, bin.digit) <= bin.most_with_pivot;
      bin.most_digit = has_pivot ? bin.most_with_pivot : radix_bins - 1;
      bin.step = has_pivot ? 1 : 0;
    }
    return bin;
  }
};

}  // namespace sheaf::cuda
