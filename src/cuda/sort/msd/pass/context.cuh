#pragma once

#include "cuda/sort/msd/pass/binning.cuh"

// What the phases of an MSD pass share: the block's shared memory, the tile that a block works on with its bucket, and
// the digit by which a bucket is split.
namespace sheaf::cuda {

/// The shared memory of a block, in front of the tile that it stages.
struct msd_pass_shared {
  std::uint32_t bin_offset[radix_bins];  ///< offset of each bin; every phase says from what
  /// Four copies of the tile's histogram, for neighbouring lanes: there are fewer same-address atomics on the counter
  /// of a frequent digit. The 8 more counters put the copies of a counter into different banks.
  std::uint32_t histogram[4][radix_bins + 8];
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t differing_bits[4];           ///< bits in which words of the bucket differ from its first, by limb
  std::uint32_t child_bucket[radix_bins];    ///< index + 1 of the bucket of the next pass that a bin becomes; 0: none
  std::uint32_t group_end[radix_bins];       ///< the bin after the group that begins with a bin
  std::uint32_t is_group_begin[radix_bins];  ///< not 0: a group begins with the bin
  std::uint32_t new_index;                   ///< index of a new bucket, or of the first of the new groups
  std::uint32_t new_group_total;
  std::uint32_t prefetched_index;  ///< index of the bucket of the tile that the block takes next
  msd_bucket prefetched_bucket;
};

/// Bytes of msd_pass_shared with what lies between it and the tile.
template <class Policy>
constexpr std::size_t untiled_shared_bytes = sizeof(msd_pass_shared) +
                                             (Policy::has_sampled_bins ? sizeof(sampled_bins::entries) : 0);

template <class Policy>
constexpr std::size_t msd_pass_shared_bytes() {
  const std::size_t widest = std::max<std::size_t>(sizeof(typename Policy::word), value_bytes_of(Policy::payload));
  const std::size_t counters = Policy::keeps_order ? pass_threads / 32 * radix_bins * sizeof(warp_bin) : 0;
  return untiled_shared_bytes<Policy> + std::max(Policy::tile_words * widest, counters);
}

/// A tile as the phases see it.
template <class Policy>
struct tile_view {
  std::uint32_t begin;            ///< index of the tile's first word in its buffer
  std::uint32_t buffer;           ///< number of the buffer that holds the tile
  typename Policy::word* output;  ///< the buffer that the tile's words are written to
  std::uint32_t count;            ///< number of words
  std::uint32_t count_row;        ///< index of the count row of the tile's bucket, or of its chunk
  pass_binning<Policy> binning;
};

/// A pass as one block sees it.
template <class Policy>
struct pass_context {
  using word = typename Policy::word;

  const msd_arguments& arguments;
  const msd_tables& tables;
  msd_pass_shared& shared;
  unsigned char* staged;  ///< shared memory for a tile
  bool is_first;
  std::uint32_t current;  ///< which entry of a pair of tables is this pass's
  std::uint32_t next;     ///< which entry of a pair of tables is the next pass's

  __device__ pass_context(const msd_arguments& a, msd_pass_shared& block_shared, unsigned char* staged_tile,
                          std::uint32_t pass_number)
      : arguments(a),
        tables(a.tables),
        shared(block_shared),
        staged(staged_tile),
        is_first(pass_number == 0),
        current(pass_number % 2),
        next(1 - pass_number % 2) {}

  /// Whether the first pass is left to the kernels for the other kind of bins.
  __device__ bool is_other_kind() const {
    return is_first && tables.first_bins != nullptr && (tables.first_bins->is_uneven != 0) != Policy::has_sampled_bins;
  }

  /// The table of sampled bins in shared memory, and its loading. The caller has a barrier before the first use.
  __device__ std::uint16_t* sampled_entries() const { return reinterpret_cast<std::uint16_t*>(&shared + 1); }
  __device__ void load_sampled_bins() const {
    if constexpr (!Policy::has_sampled_bins) return;
    constexpr std::uint32_t words = sizeof(sampled_bins::entries) / sizeof(uint4);
    const auto* const from = reinterpret_cast<const uint4*>(tables.first_bins->entries);
    auto* const to = reinterpret_cast<uint4*>(sampled_entries());
    for (std::uint32_t i = threadIdx.x; i < words; i += pass_threads) to[i] = from[i];
  }

  __device__ bool is_over() const { return __ldcg(&tables.counters->bucket_total[current]) == 0; }

  /// Looks up the bucket of a tile below `tile_end` while the block still works on the tile before. The last thread
  /// does so, because it is not the one that the block waits for.
  __device__ __forceinline__ void prefetch_bucket(std::uint32_t tile, std::uint32_t tile_end) const {
    if (threadIdx.x != pass_threads - 1 || tile >= tile_end) return;
    const std::uint32_t index = tables.bucket_of_tile[current][tile];
    const msd_bucket bucket = tables.buckets[current][index];
    shared.prefetched_index = index;
    shared.prefetched_bucket = bucket;
  }

  static __device__ std::uint32_t tiles_of(std::uint32_t count) { return (count - 1) / Policy::tile_words + 1; }
  static __device__ std::uint32_t count_rows_of(std::uint32_t count) {
    return Policy::keeps_order ? (tiles_of(count) - 1) / chunk_tiles + 1 : 1;
  }

  /// Bits of a bucket's digit: 8, or fewer in every second pass over words of one limb. There the digit has only as
  /// many bits as split the bucket into groups. With more bits, several small bins would be merged into each group, and
  /// the bins that finish such a group are unevenly filled: 2^24 keys took 0.42 ms that way and take 0.33 ms this way.
  __device__ std::uint32_t digit_bits(std::uint32_t count) const {
    constexpr std::uint32_t least = 4;
    if constexpr (Policy::limbs == 1) {
      if (current == 1) return max(least, min(32 - __clz((count - 1) / mean_full_group_words), radix_bits));
    }
    return radix_bits;
  }

  /// The lowest bit of a bucket's digit.
  __device__ std::uint32_t digit_begin(const msd_bucket& bucket) const {
    const std::uint32_t width = digit_bits(bucket.count);
    return max(bucket.digit_end, arguments.key_low + width) - width;
  }

  __device__ pass_digit_field<Policy::limbs> digit_of_bucket(const msd_bucket& bucket) const {
    const std::uint32_t begin = digit_begin(bucket);
    if constexpr (has_byte_digits<Policy::limbs>) {
      return byte_at(begin / radix_bits);
    } else {
      return digit_at(begin, bucket.digit_end - begin);
    }
  }

  /// The bit from which up all keys of one of the bucket's bins agree.
  __device__ std::uint32_t digit_end_of_bin(const msd_bucket& bucket, std::uint32_t bin) const {
    if constexpr (Policy::has_sampled_bins) return tables.first_bins->digit_end[bin];
    return digit_begin(bucket);
  }

  __device__ tile_view<Policy> view_of(std::uint32_t tile, const msd_bucket& bucket) const {
    const std::uint32_t tiles_before = tile - bucket.first_tile;
    const std::uint32_t words_before = tiles_before * Policy::tile_words;
    const std::uint32_t buffer = bucket.buffer();
    return {bucket.begin + words_before,
            buffer,
            static_cast<word*>(arguments.buffers[next_buffer(buffer)]),
            min(bucket.count - words_before, Policy::tile_words),
            bucket.first_count_row + (Policy::keeps_order ? tiles_before / chunk_tiles : 0),
            binning_of(bucket)};
  }

  /// The bins of a bucket.
  __device__ pass_binning<Policy> binning_of(const msd_bucket& bucket) const {
    pass_binning<Policy> binning;
    if constexpr (Policy::has_sampled_bins) {
      const sampled_bins& bins = *tables.first_bins;
      binning.code_of = {bins.code, bins.window_end, bins.shared};
      binning.entries = sampled_entries();
    } else {
      binning.digit = digit_of_bucket(bucket);
    }
    return binning;
  }
};

}  // namespace sheaf::cuda
