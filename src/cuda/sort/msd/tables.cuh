#pragma once

#include <algorithm>

#include "cuda/block/rank.cuh"
#include "cuda/sort/words/rows.cuh"

// What the kernels of a sort from the highest digit down tell each other: buckets that have yet to be split, groups
// that are finished in shared memory, and the counts between them.
namespace sheaf::cuda {

constexpr int radix_bins = 256;
constexpr std::uint32_t radix_bits = 8;
constexpr int level_threads = 512;
constexpr std::uint32_t chunk_tiles = 64;  ///< whose counts are added up together, where the order is kept

/// Words of a tile of a level: as many as two blocks of a multiprocessor hold.
template <int Limbs>
constexpr int level_items = Limbs == 4   ? 8
                            : Limbs == 3 ? 10
                                         : 16;
template <int Limbs>
constexpr std::uint32_t level_tile = level_threads* level_items<Limbs>;

/// How words are sorted.
enum class payload_mode {
  nothing,   ///< words of equal keys are equal, or differ in bits that are sorted by as well
  order,     ///< they keep their order
  values_4,  ///< the same, and each word has a value of 4 bytes in an array of its own
  values_8,
  values_16,  ///< in sort_onesweep.cuh alone
};
constexpr bool keeps_order(payload_mode k) { return k != payload_mode::nothing; }
constexpr std::uint32_t value_bytes_of(payload_mode k) {
  return k == payload_mode::values_4 ? 4 : k == payload_mode::values_8 ? 8 : k == payload_mode::values_16 ? 16 : 0;
}
template <payload_mode Payload>
using sort_value = std::conditional_t<Payload == payload_mode::values_16, uint4,
                                      std::conditional_t<Payload == payload_mode::values_8, uint2, std::uint32_t>>;

/// Value i of an array, or i itself where there is none: the numbers of rows.
template <class Value>
__device__ __forceinline__ Value value_at(const Value* values, std::uint32_t i) {
  if (values != nullptr) return __ldcs(values + i);
  if constexpr (sizeof(Value) > 4) {
    return {i};
  } else {
    return i;
  }
}

constexpr int finish_threads = 512;
constexpr int finish_items = 9;
static_assert(group_words == finish_threads * finish_items);
/// Of buckets at random that have so many words in the mean, few are so uneven that they pass group_words.
constexpr std::uint32_t words_of_full_group = 4300;

/// Neighbours that have yet to be split.
struct sort_bucket {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t first_tile;  ///< of the level's
  std::uint32_t first_row;   ///< of counts: one for all of it, or one for each chunk of tiles where the order is kept
  std::uint32_t bits;        ///< above which all keys are the same; of more than one limb a multiple of 8
  std::uint32_t where;       ///< the number of the buffer that holds it
};
/// In `where`: this level has nothing to move, or leaves out its pivot's words.
constexpr std::uint32_t stays = 0x100;
constexpr std::uint32_t leaves_out = 0x200;
constexpr std::uint32_t where_mask = 0xff;

/// Neighbours that are finished together: where they begin, and how many they are in the low bits.
struct sort_group {
  std::uint32_t begin;
  std::uint32_t count_and_where;

  __device__ std::uint32_t count() const { return count_and_where & ((1U << count_bits) - 1); }
  __device__ std::uint32_t where() const { return count_and_where >> count_bits & 3; }
  /// Words that are all the same, of which the buffer has but those at multiples of group_words.
  __device__ bool is_one_word() const { return (count_and_where & one_word) != 0; }

  /// Neighbours from both sides of a high bit: few of the numbers that differ below the highest bit in which any two of
  /// the words do are between the least and the most.
  __device__ bool is_uneven() const { return (count_and_where & uneven) != 0; }

  static constexpr std::uint32_t count_bits = 24;
  static constexpr std::uint32_t uneven = 1U << 30;
  static constexpr std::uint32_t one_word = 1U << 31;
};

struct sort_counters {
  std::uint32_t buckets[2];  ///< of this level and the next, in turn
  std::uint32_t tiles[2];
  std::uint32_t rows[2];
  std::uint32_t groups;
  std::uint32_t ticket;
  std::uint32_t crowded;  ///< groups with bins of many words
  std::uint32_t crowded_ticket;
  std::uint32_t skewed;  ///< the sort is left to another kernel (sort_onesweep.cuh): there are no buckets
};

/// What the kernels share. Arrays of a pair are those of this level and the next, in turn.
struct sort_tables {
  sort_counters* counters;
  sort_bucket* buckets[2];
  std::uint32_t* tile_bucket[2];
  std::uint32_t* row_bucket[2];  ///< ordered alone
  std::uint32_t* rows[2];        ///< radix_bins counts each, then places
  std::uint32_t* tile_rows;      ///< the same of every tile; ordered alone
  std::uint32_t* differing[2];   ///< of each bucket, as many as limbs: the bits in which its words are not all the same
  sort_group* groups;
  sort_group* crowded;
};

struct msd_pass_arguments {
  const void* buffers[3];  ///< 0: the input
  const void* values[3];   ///< the same of values; none at first if they are the numbers of rows
  sort_tables tables;
  std::uint32_t count;
  std::uint32_t merged_words;  ///< of neighbours that are finished as one group, at most
  std::uint32_t key_low;
  std::uint32_t key_high;
  const void* finished;  ///< the buffer where words in order are where they belong; null: none
  word_source rows;      ///< what the first level's words are made of, where they are
  key_change change;
};

constexpr std::uint32_t next_buffer(std::uint32_t where) { return where == 1 ? 2 : 1; }

/// Where a level reads words of the first buffer: as they lie, or put together from rows, which the first level alone
/// does.
template <int Limbs, bool FromRows>
class word_reader {
 public:
  using word = sort_word<Limbs>;

  __device__ word_reader(const msd_pass_arguments& a, std::uint32_t where, std::uint32_t first)
      : a_(a), words_(FromRows ? nullptr : static_cast<const word*>(a.buffers[where]) + first), first_(first) {}

  __device__ __forceinline__ word load(std::uint32_t i) const {
    if constexpr (FromRows) {
      return read_word<Limbs>(a_.rows, a_.change, first_ + i);
    } else {
      return load_word_of(words_ + i);
    }
  }
  /// The key's limbs alone are right.
  __device__ __forceinline__ word load_key(std::uint32_t i) const {
    if constexpr (FromRows) {
      return read_key<Limbs>(a_.rows, a_.change, first_ + i);
    } else {
      return load_word_of(words_ + i);
    }
  }

 private:
  const msd_pass_arguments& a_;
  const word* words_;
  std::uint32_t first_;
};

/// A key that seems to be frequent in a bucket.
struct pivot_word {
  std::uint32_t limb[4];
  bool found;
};

/// What a block needs of shared memory beside the tile.
struct level_shared {
  std::uint32_t place[radix_bins];
  /// Copies for lanes that are neighbours, which so meet each other less at the counter of a frequent digit; rows that
  /// are a multiple of all banks long would have them meet at its bank.
  std::uint32_t histogram[4][radix_bins + 8];
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t differing[4];
  std::uint32_t child_bucket[radix_bins];  ///< number of the next level's bucket + 1; 0: none
  std::uint32_t jump[radix_bins];
  std::uint32_t is_reached[radix_bins];
  std::uint32_t first_group;
  std::uint32_t group_total;
  std::uint32_t coming;  ///< the number of the bucket of the tile that the block takes next
  sort_bucket coming_bucket;
  pivot_word coming_pivot;
};

template <int Limbs, payload_mode Payload>
constexpr std::size_t level_shared_bytes() {
  const std::size_t widest = std::max<std::size_t>(sizeof(sort_word<Limbs>), value_bytes_of(Payload));
  const std::size_t counters = keeps_order(Payload) ? level_threads / 32 * radix_bins * sizeof(warp_bin) : 0;
  return sizeof(level_shared) + std::max(level_tile<Limbs> * widest, counters);
}

}  // namespace sheaf::cuda
