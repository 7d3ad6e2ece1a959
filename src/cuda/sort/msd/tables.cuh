#pragma once

#include <algorithm>

#include "cuda/block/rank.cuh"
#include "cuda/sort/words/payload.cuh"
#include "cuda/sort/words/rows.cuh"

// What the kernels of an MSD radix sort hand to each other in device memory: buckets that are still to be split, groups
// that one block finishes in shared memory, digit counts, and the arguments of a pass.
namespace sheaf::cuda {

constexpr int pass_threads = 512;
/// Tiles of a chunk. A chunk has one count row, and only passes that keep the order of equal keys cut buckets into
/// chunks.
constexpr std::uint32_t chunk_tiles = 64;

/// Words of a tile for each thread: two blocks of a multiprocessor hold their tiles at once.
template <int Limbs>
constexpr int pass_items = Limbs == 4   ? 8
                           : Limbs == 3 ? 10
                                        : 16;
template <int Limbs>
constexpr std::uint32_t pass_tile_words = pass_threads* pass_items<Limbs>;

constexpr int finish_threads = 512;
constexpr int finish_items = 9;
static_assert(group_words == finish_threads * finish_items);
/// Mean size of bins that passes aim at: with random keys, few bins of this mean size exceed group_words.
constexpr std::uint32_t mean_full_group_words = 4300;

/// A list so short that it leaves multiprocessors idle. Its groups are kept small, so that more blocks work, and one
/// kernel finishes all of them, which saves a launch of 2 to 4 us.
constexpr bool is_short(std::uint64_t count) { return count <= std::uint64_t{1} << 19; }

/// Most words of neighbouring small bins that are merged into one group. For 2^16 keys of 4 bytes with values of 4
/// bytes, 2048 words took 55 us, 1024 took 60, 512 took 68, and group_words took 59.
constexpr std::uint32_t most_merged_words(std::uint64_t count) { return is_short(count) ? 2048 : group_words; }

/// More than group_words neighbouring words that an MSD pass splits by one digit of their keys. All their keys agree
/// above that digit. In words of three and four limbs digit_end is a multiple of 8.
struct msd_bucket {
  std::uint32_t begin;             ///< index of the bucket's first word in its buffer
  std::uint32_t count;             ///< number of words
  std::uint32_t first_tile;        ///< index of the bucket's first tile in this pass
  std::uint32_t first_count_row;   ///< index of the bucket's first count row in this pass
  std::uint32_t digit_end;         ///< first bit above the digit; all keys agree from it up
  std::uint32_t buffer_and_flags;  ///< number of the buffer that holds the words; scan_digit_counts adds the flags

  __device__ std::uint32_t buffer() const { return buffer_and_flags & buffer_mask; }
  /// True where all words have one digit, so that this pass moves nothing.
  __device__ bool stays_in_place() const { return (buffer_and_flags & stays_in_place_flag) != 0; }
  static constexpr std::uint32_t buffer_mask = 0xff;
  static constexpr std::uint32_t stays_in_place_flag = 0x100;
};

/// At most group_words neighbouring words that one block finishes in shared memory: small bins of a bucket, merged with
/// their neighbours, or a piece of a long run of words in their final order.
struct msd_group {
  std::uint32_t begin;            ///< index of the group's first word in its buffer
  std::uint32_t count_and_flags;  ///< number of words in the low bits; above them the buffer and the flags

  __device__ std::uint32_t count() const { return count_and_flags & ((1U << count_bits) - 1); }
  __device__ std::uint32_t buffer() const { return count_and_flags >> count_bits & 3; }
  /// True where bins are to be numbered from the group's least key to its greatest. The merged bins lie on both sides
  /// of a high bit, so that bins numbered by the bits from the highest differing one down would mostly be empty.
  __device__ bool bins_by_range() const { return (count_and_flags & bins_by_range_flag) != 0; }

  static constexpr std::uint32_t count_bits = 24;
  static constexpr std::uint32_t bins_by_range_flag = 1U << 30;
};

/// What a key's code is, 19 bits that ascend with the key and decide about its bin.
enum class key_code {
  window,           ///< the highest bits below those that all keys of the sample share
  magnitude,        ///< the number of the highest bit that is set, and the bits below it: small numbers differ in these
  signed_magnitude  ///< likewise for the distance from the middle of all keys, which is the number 0 of signed ones
};

/// The bins of the first pass, as a sample of the keys asks for them. The highest 11 bits of a key's code, its prefix,
/// select an entry. 2^j prefixes that differ in their lowest j bits share a bin if together they have few samples; the
/// keys of a prefix with many samples are spread over 2^k bins by the next k bits of their codes.
struct sampled_bins {
  static constexpr std::uint32_t prefix_bits = 11;
  static constexpr std::uint32_t prefixes = 1U << prefix_bits;
  static constexpr std::uint32_t most_more_bits = 8;  ///< the largest k
  static constexpr std::uint32_t bits = prefix_bits + most_more_bits;

  std::uint16_t entries[prefixes];      ///< a prefix's first bin, and k from bit 8 on
  std::uint32_t digit_end[radix_bins];  ///< the bit from which up all keys of a bin agree
  std::uint32_t is_uneven;              ///< 0: bins are the highest 8 bits, because keys are spread evenly over them
  key_code code;
  std::uint32_t window_end;  ///< the bit from which up all keys of the sample agree
  std::uint32_t shared[2];   ///< the limbs of one of them

  static constexpr std::uint32_t entry_of(std::uint32_t bin, std::uint32_t more_bits) { return bin | more_bits << 8; }
  static __device__ std::uint32_t first_bin(std::uint32_t entry) { return entry & 0xff; }
  static __device__ std::uint32_t more_bits(std::uint32_t entry) { return entry >> 8; }
};

/// Lengths of the tables, and the counters by which blocks draw groups. Pairs belong to this pass and the next.
struct msd_counters {
  std::uint32_t bucket_total[2];
  std::uint32_t tile_total[2];
  std::uint32_t count_row_total[2];
  std::uint32_t group_total;
  std::uint32_t next_group;           ///< index of the next group that a block draws
  std::uint32_t hot_group_total;      ///< groups with hot bins, which the first finishing kernel leaves to the second
  std::uint32_t next_hot_group;       ///< index of the next hot group that a block draws
  std::uint32_t is_left_to_onesweep;  ///< not 0: there are no buckets, and onesweep sorts in place of this sort
};

/// The tables of a sort in its scratch. Pairs alternate: the entry at the parity of the pass belongs to this pass, the
/// other one to the next.
struct msd_tables {
  msd_counters* counters;
  sampled_bins* first_bins;  ///< of the first pass; null: keys are not sampled, and bins are digits
  msd_bucket* buckets[2];
  std::uint32_t* bucket_of_tile[2];
  std::uint32_t* bucket_of_count_row[2];  ///< filled only where the order is kept
  /// Rows of radix_bins digit counts, which scan_digit_counts turns into offsets in the output. A bucket has one row,
  /// or one for each chunk where the order is kept.
  std::uint32_t* count_rows[2];
  /// A count row for each tile, which msd_scan_chunks turns into offsets; stable sorts only.
  std::uint32_t* tile_count_rows;
  std::uint32_t* differing_bits[2];  ///< a mask for each bucket and limb: the bits in which two of its words differ
  msd_group* groups;
  msd_group* hot_groups;  ///< groups with hot bins, which the first finishing kernel leaves to the second
};

/// What kernels are given. Passes write to buffers[1] and [2] in turn. Sorted words that are in target.words need no
/// copy.
struct msd_arguments : word_sort {
  msd_tables tables;
};

/// A list that one block sorts, without passes.
constexpr bool is_one_group(const word_sort& s) { return s.count <= group_words; }

constexpr std::uint32_t next_buffer(std::uint32_t buffer) { return buffer == 1 ? 2 : 1; }

/// Reads words from index `begin` of a buffer on. FromRows: makes them of the rows of the input instead, as
/// a sort's first pass does.
template <int Limbs, bool FromRows>
class word_reader {
 public:
  using word = sort_word<Limbs>;

  __device__ word_reader(const msd_arguments& a, std::uint32_t buffer, std::uint32_t begin)
      : a_(a), words_(FromRows ? nullptr : static_cast<const word*>(a.buffers[buffer]) + begin), begin_(begin) {}

  __device__ __forceinline__ word load(std::uint32_t i) const {
    if constexpr (FromRows) {
      return read_word<Limbs>(a_.rows, a_.target.transform, begin_ + i);
    } else {
      return load_word_streaming(words_ + i);
    }
  }

 private:
  const msd_arguments& a_;
  const word* words_;
  std::uint32_t begin_;
};

}  // namespace sheaf::cuda
