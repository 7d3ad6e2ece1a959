#pragma once

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/sort/msd/run.hpp"
#include "cuda/sort/msd/tables.cuh"
#include "cuda/sort/onesweep/run.hpp"

// Choices that the host makes from a sort's size alone, and where the sort's tables lie in its scratch.
namespace sheaf::cuda {

/// Lists from this length on are sampled. Its first pass is queued for digits and for sampled bins then, as the kernels
/// for sampled bins lose more on evenly spread keys than it costs to launch both kinds.
constexpr std::uint64_t least_sampled_words = std::uint64_t{1} << 20;

/// True for lists of whole keys of 4 or 8 bytes that may be left to onesweep.
constexpr bool may_be_left_to_onesweep(const word_sort& s) {
  const bool is_key = s.limbs <= 2 && s.words_are_keys && s.keys_are_aligned;
  return is_key && !s.uses_bitonic_network && s.key_high - s.key_low == 32 * s.limbs &&
         s.count >= least_sampled_words && s.count < most_onesweep_words;
}

/// True for sorts whose first pass may have bins by a sample of the keys. Their keys end with the word, as codes of
/// keys look at all bits above those that decide, and have bits beyond those that bins can take.
constexpr bool samples_bins(const word_sort& s) {
  return s.limbs <= 2 && s.count >= least_sampled_words && !s.uses_bitonic_network && s.key_high == 32 * s.limbs &&
         s.key_high - s.key_low >= 24;
}

/// The tables of a sort in its scratch; without scratch, their size alone.
struct msd_scratch {
  msd_tables tables{};
  /// Onesweep's tables begin behind the counters, where others of this sort are, too: only one of the two sorts uses
  /// them, while the counters say which.
  std::byte* of_onesweep;
  std::uint64_t bytes;

  msd_scratch(const word_sort& s, std::uint64_t tile_words, std::byte* scratch) {
    const std::uint64_t count = s.count;
    const bool ordered = s.value_bytes > 0;
    // A digit of every second pass may have half of the bits of others. Keys of a sampled bin may have no bit in
    // common.
    const std::uint64_t passes = 1 + 2 * ceil_div(s.key_high - s.key_low, radix_bits);
    const std::uint64_t buckets = count / group_words + 2;  // of one pass; each is larger than a group
    const std::uint64_t tiles = count / tile_words + buckets;
    const std::uint64_t count_rows = ordered ? tiles / chunk_tiles + buckets : buckets;
    // The new buckets among a bucket's bins cut its small bins into stretches, one more than there are new buckets. Any
    // two neighbouring groups of a stretch have more than most_merged_words words together.
    const std::uint64_t groups = 2 * (count / most_merged_words(count) + buckets * (1 + passes)) + 2;
    core::scratch_arrays arrays(scratch);
    tables.counters = arrays.take<msd_counters>(1);
    if (samples_bins(s)) tables.first_bins = arrays.take<sampled_bins>(1);
    of_onesweep = arrays.rest();
    const std::uint64_t before_onesweep = arrays.bytes();
    for (int i = 0; i < 2; ++i) {
      tables.buckets[i] = arrays.take<msd_bucket>(buckets);
      tables.bucket_of_tile[i] = arrays.take<std::uint32_t>(tiles);
      tables.bucket_of_count_row[i] = arrays.take<std::uint32_t>(ordered ? count_rows : 0);
      tables.count_rows[i] = arrays.take<std::uint32_t>(count_rows * radix_bins);
      tables.differing_bits[i] = arrays.take<std::uint32_t>(buckets * s.limbs);
    }
    tables.tile_count_rows = arrays.take<std::uint32_t>(ordered ? tiles * radix_bins : 0);
    tables.groups = arrays.take<msd_group>(groups);
    tables.hot_groups = arrays.take<msd_group>(groups);
    bytes = arrays.bytes();
    if (may_be_left_to_onesweep(s)) bytes = std::max(bytes, before_onesweep + onesweep_scratch_bytes(s));
  }
};

}  // namespace sheaf::cuda
