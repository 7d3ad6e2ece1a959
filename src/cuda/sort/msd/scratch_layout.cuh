#pragma once

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/sort/msd/run.hpp"
#include "cuda/sort/msd/tables.cuh"
#include "cuda/sort/onesweep/run.hpp"

// Choices that the host makes from a sort's size alone, and where the sort's tables lie in its scratch.
namespace sheaf::cuda {

/// A list so short that it leaves multiprocessors idle. Its groups are kept small, so that more blocks work, and one
/// kernel finishes all of them, which saves a launch of 2 to 4 us.
constexpr bool is_short(std::uint64_t count) { return count <= std::uint64_t{1} << 19; }

/// Most words of neighbouring small bins that are merged into one group. For 2^16 keys of 4 bytes with values of 4
/// bytes, 2048 words took 55 us, 1024 took 60, 512 took 68, and group_words took 59.
constexpr std::uint32_t most_merged_words(std::uint64_t count) { return is_short(count) ? 2048 : group_words; }

/// True for lists of whole keys of 4 or 8 bytes that may be left to onesweep. They are so long that the look at a
/// sample of them, and the kernel that ends at once where onesweep is not needed, cost little.
constexpr bool may_be_left_to_onesweep(const word_sort& s) {
  const bool is_key = s.limbs <= 2 && s.words_are_keys;
  const std::uint64_t least = std::uint64_t{1} << (s.limbs == 1 && s.value_bytes == 0 ? 22 : 20);
  return is_key && !s.uses_bitonic_network && s.key_high - s.key_low == 32 * s.limbs && s.count >= least &&
         s.count < most_onesweep_words;
}

/// True where the first pass is queued for digits too: its kernels for sampled bins lose more on evenly spread keys
/// than it costs to launch both kinds.
constexpr bool has_two_first_passes(const word_sort& s) { return s.count >= 1U << 22; }

/// True for sorts whose first pass has bins by a sample of the keys. Their keys end with the word, as codes of keys
/// look at all bits above those that decide, and have bits beyond those that bins can take. For short lists of
/// keys of 4 bytes plans take onesweep.
constexpr bool samples_bins(const word_sort& s) {
  const bool is_long_enough = s.limbs == 1 ? has_two_first_passes(s) : s.limbs == 2 && s.count > group_words;
  return is_long_enough && !s.uses_bitonic_network && s.key_high == 32 * s.limbs && s.key_high - s.key_low >= 24;
}

/// Offsets of the tables in the sort's scratch, in bytes.
class msd_scratch_layout {
 public:
  template <int Limbs>
  static msd_scratch_layout of(const word_sort& s) {
    return {s, pass_tile_words<Limbs>};
  }
  msd_scratch_layout(const word_sort& s, std::uint64_t tile_words) {
    const std::uint64_t count = s.count;
    const std::uint64_t limbs = s.limbs;
    const bool ordered = s.is_stable;
    // A pass that finds a heavy key may leave its highest digits to the next, so a digit may take two passes. Keys of a
    // sampled bin may have no bit in common.
    const std::uint64_t passes = 1 + 2 * ceil_div(s.key_high - s.key_low, radix_bits);
    const std::uint64_t buckets = count / group_words + 2;  // of one pass; each is larger than a group
    const std::uint64_t tiles = count / tile_words + buckets;
    const std::uint64_t count_rows = ordered ? tiles / chunk_tiles + buckets : buckets;
    core::scratch_offsets arrays;
    counters_ = arrays.take(sizeof(msd_counters));
    has_first_bins_ = samples_bins(s);
    if (has_first_bins_) first_bins_ = arrays.take(sizeof(sampled_bins));
    for (int i = 0; i < 2; ++i) {
      buckets_[i] = arrays.take(buckets * sizeof(msd_bucket));
      bucket_of_tile_[i] = arrays.take(tiles * sizeof(std::uint32_t));
      bucket_of_count_row_[i] = arrays.take(ordered ? count_rows * sizeof(std::uint32_t) : 0);
      count_rows_[i] = arrays.take(count_rows * radix_bins * sizeof(std::uint32_t));
      differing_bits_[i] = arrays.take(buckets * limbs * sizeof(std::uint32_t));
    }
    tile_count_rows_ = arrays.take(ordered ? tiles * radix_bins * sizeof(std::uint32_t) : 0);
    // The new buckets among a bucket's bins cut its small bins into stretches, one more than there are new buckets. Any
    // two neighbouring groups of a stretch have more than most_merged_words words together.
    const std::uint64_t groups = 2 * (count / most_merged_words(count) + buckets * (1 + passes)) + 2;
    groups_ = arrays.take(groups * sizeof(msd_group));
    hot_groups_ = arrays.take(groups * sizeof(msd_group));
    bytes_ = arrays.bytes();
    if (may_be_left_to_onesweep(s)) {
      bytes_ = std::max(bytes_, behind_counters() + onesweep_scratch_bytes(s));
    }
  }

  std::uint64_t bytes() const { return bytes_; }
  /// Offset of the tables behind the counters. Onesweep's tables begin there, too, because only one of the two sorts
  /// uses them, while the counters say which.
  std::uint64_t behind_counters() const { return buckets_[0]; }
  msd_tables tables(std::byte* scratch) const {
    msd_tables t{};
    t.counters = reinterpret_cast<msd_counters*>(scratch + counters_);
    if (has_first_bins_) t.first_bins = reinterpret_cast<sampled_bins*>(scratch + first_bins_);
    for (int i = 0; i < 2; ++i) {
      t.buckets[i] = reinterpret_cast<msd_bucket*>(scratch + buckets_[i]);
      t.bucket_of_tile[i] = reinterpret_cast<std::uint32_t*>(scratch + bucket_of_tile_[i]);
      t.bucket_of_count_row[i] = reinterpret_cast<std::uint32_t*>(scratch + bucket_of_count_row_[i]);
      t.count_rows[i] = reinterpret_cast<std::uint32_t*>(scratch + count_rows_[i]);
      t.differing_bits[i] = reinterpret_cast<std::uint32_t*>(scratch + differing_bits_[i]);
    }
    t.tile_count_rows = reinterpret_cast<std::uint32_t*>(scratch + tile_count_rows_);
    t.groups = reinterpret_cast<msd_group*>(scratch + groups_);
    t.hot_groups = reinterpret_cast<msd_group*>(scratch + hot_groups_);
    return t;
  }

 private:
  std::uint64_t bytes_ = 0;
  bool has_first_bins_ = false;
  std::uint64_t first_bins_ = 0;
  std::uint64_t counters_, buckets_[2], bucket_of_tile_[2], bucket_of_count_row_[2], count_rows_[2], differing_bits_[2],
      tile_count_rows_, groups_, hot_groups_;
};

}  // namespace sheaf::cuda
