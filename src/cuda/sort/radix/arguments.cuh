#pragma once

#include <algorithm>

#include "cuda/block/scan.cuh"
#include "cuda/sort/radix/key_map.cuh"
#include "cuda/sort/words/payload.cuh"
#include "cuda/sort/words/rows.cuh"

// What the kernels of a radix sort are given, how tiles are cut, and what a block keeps in shared memory.
namespace sheaf::cuda {

/// Bytes of a key of so many limbs; each byte may take a pass.
template <int Limbs>
constexpr int most_digits = 4 * Limbs;

/// Tiles of short lists are short, so that more multiprocessors have one. By codes, long lists of words of one limb
/// without values have longer tiles than by digits.
enum class tile_length { of_short_list, of_long_list, of_coded_list };

/// How a pass is cut into tiles. A thread takes an odd number of words: where all bins are equally full, the places
/// where they begin in the tile then fall on different banks of shared memory.
template <int Limbs, value_width Values, tile_length Length>
struct tile_tuning {
  static constexpr bool has_values = carries_values(Values);
  static constexpr bool is_short = Length == tile_length::of_short_list;
  static constexpr int threads = Values == value_width::values_16 ? 512 : 384;
  static constexpr int short_words = Limbs > 2 ? 3 : Values == value_width::values_16 || Limbs == 2 ? 5 : 7;
  static constexpr bool is_coded = Length == tile_length::of_coded_list;
  static constexpr int long_words = Values == value_width::values_16 || Limbs == 4 ? 9
                                    : Limbs == 3                                   ? 13
                                    : Limbs == 2                                   ? (has_values ? 15 : 19)
                                    : has_values || !is_coded                      ? 23
                                                                                   : 31;
  static constexpr int words_per_thread = is_short ? short_words : long_words;
  static constexpr int blocks_per_multiprocessor = has_values || Limbs > 1 || is_coded ? 2 : 3;
  static constexpr std::uint32_t tile_words = threads * words_per_thread;
  /// Values that a thread loads at once: more would not fit its registers, fewer wait for memory more often.
  static constexpr int values_at_once = Values == value_width::values_4 ? 6 : Values == value_width::values_8 ? 4 : 5;
};

template <int Limbs, value_width Values>
constexpr bool has_short_tiles(std::uint64_t count) {
  constexpr std::uint64_t most_short_tiles = 160;  // somewhat more than an H200 has multiprocessors
  return count <= most_short_tiles * tile_tuning<Limbs, Values, tile_length::of_short_list>::tile_words;
}

/// A list so short that it leaves multiprocessors idle. Its groups are kept small, so that more blocks work, and one
/// kernel finishes all of them, which saves a launch of 2 to 4 us.
constexpr bool has_small_groups(std::uint64_t count) { return count <= std::uint64_t{1} << 19; }

/// Most words of neighbouring codes that are finished together.
constexpr std::uint32_t merged_group_words(std::uint64_t count) {
  return has_small_groups(count) ? 2048 : most_group_words;
}

/// Whether groups are finished by two kernels, of which the first leaves those with hot bins to the second.
constexpr bool has_bins_kernel(const word_sort& s) {
  return !has_small_groups(s.count) && s.method == sort_method::sample;
}

/// A list that one block sorts, without passes.
constexpr bool is_one_group(const word_sort& s) {
  return s.method != sort_method::onesweep && s.count <= most_group_words;
}

/// Whether a sort may end with groups. Two passes by digits sort keys of up to 16 bits completely.
constexpr bool may_sort_by_codes(const word_sort& s) {
  return s.method != sort_method::onesweep && s.key_high - s.key_low > 16;
}

/// For each of the 256 values of a digit a full group, less what chance adds to it.
constexpr std::uint32_t most_words_by_highest_digit = std::uint32_t{1} << 20;

/// A list that may be so evenly spread over its highest digit that the words of each of its values make a group. The
/// histogram of a sort by digits says so, where a sample takes 36 us. Lists of other keys wait for no more than the
/// finishing kernels, which then end at once. Words of one limb have four digits at most, of which one pass and groups
/// save too little.
constexpr bool tries_highest_digit(const word_sort& s) {
  return may_sort_by_codes(s) && s.limbs == 2 && s.count <= most_words_by_highest_digit;
}

/// Most words of a value of the highest digit where these are finished as groups. Keys of which a value has four times
/// the words that it has of even ones would leave groups with hot bins, which take as long as the passes saved.
constexpr std::uint32_t most_words_of_value(std::uint32_t count) {
  const std::uint32_t uneven = 4 * (count / 256) + 256;
  return uneven < most_group_words ? uneven : most_group_words;
}

/// Whether the kernel that samples keys and sorts by codes is queued; the sample may still choose digits.
constexpr bool has_codes_kernel(const word_sort& s) { return may_sort_by_codes(s) && !tries_highest_digit(s); }

/// The number of codes for evenly spread keys: the least power of two that leaves at most 4200 words a code, somewhat
/// fewer than a group holds; if has_small_groups, at most 1280 words, but with no more than the 256 codes of one pass.
constexpr std::uint32_t codes_of_even_keys(std::uint32_t count) {
  if (has_small_groups(count) && count > 256 * 1280) return 256;
  std::uint32_t codes = 1;
  while (codes * (has_small_groups(count) ? 1280 : 4200) < count) codes *= 2;
  return codes;
}
/// The number of codes for other keys: mostly more, because a sample errs, and because keys are skewed within a piece,
/// too. One pass by 256 codes suffices for 400,000 words, two by 2^16 for 2^27 (docs/experiments/sort.md).
constexpr std::uint32_t codes_of_uneven_keys(std::uint32_t count) {
  if (count <= 400'000) return 256;
  return count <= 1U << 27 ? 1U << 16 : 1U << 20;
}
/// Most codes for other keys: those of three passes, for keys so clustered that the codes of two leave many words in
/// crowded ones. Shorter lists have so few words in a code of two passes that codes are hardly crowded.
constexpr std::uint32_t most_codes_of_uneven_keys(std::uint32_t count) {
  return count <= 1U << 22 ? codes_of_uneven_keys(count) : 1U << 20;
}
constexpr std::uint32_t passes_of_codes(std::uint32_t codes) { return codes > 1U << 16 ? 3 : codes > 1U << 8 ? 2 : 1; }
constexpr std::uint32_t most_codes(std::uint32_t count) {
  return std::max(codes_of_even_keys(count), most_codes_of_uneven_keys(count));
}

/// Neighbouring words that one block finishes in shared memory: those of one code or of several.
struct word_group {
  std::uint32_t begin;
  std::uint32_t count;  ///< at most most_group_words
};

/// Neighbouring codes of which a warp makes groups at once. Groups do not reach beyond them.
constexpr std::uint32_t codes_of_warp = 128;

/// A part of the words of a crowded code, which has more words than a group holds.
struct crowded_part {
  std::uint32_t begin;
  std::uint32_t count;  ///< at most crowded_part_words
  std::uint32_t code;
};
constexpr std::uint32_t crowded_part_words = 4096;

struct radix_counters {
  std::uint32_t tile[16];  ///< tiles that were drawn beyond the first of each block, for each pass
  std::uint32_t group_total;
  std::uint32_t next_group;       ///< index of the next group that a block draws
  std::uint32_t hot_group_total;  ///< groups with hot bins, which the first finishing kernel leaves to the second
  std::uint32_t next_hot_group;   ///< index of the next hot group that a block draws
  std::uint32_t crowded_total;    ///< parts of crowded codes
  std::uint32_t mixed_words;      ///< words of crowded codes with several keys
  std::uint32_t buffer;           ///< number of the buffer that holds the words of groups
};

/// Tables in device memory through which blocks cooperate.
struct radix_tables {
  radix_counters* counters;
  std::uint32_t* histogram;       ///< words of each bin, radix_bins for each digit
  std::uint32_t* tile_states[2];  ///< radix_bins states for each tile; passes take the two arrays in turn
  // The following are for sorts that may end with groups alone.
  code_map* map;
  std::uint32_t* code_begin;   ///< where the words of each code begin; one entry more than there are codes
  std::uint32_t* mixed_begin;  ///< of crowded codes with several keys: where their words begin in a list of all such
                               ///< words, which is then sorted; not_mixed for others
  crowded_part* crowded;
  word_group* groups;
  word_group* hot_groups;  ///< groups with hot bins
};
constexpr std::uint32_t not_mixed = ~0U;

/// A sort and its tables, as kernels are given them.
struct radix_arguments : word_sort {
  radix_tables tables;
};

/// Where words and their values are moved from and to.
struct word_move {
  const void* words;  ///< null: words are made of the rows
  void* words_to;     ///< null: words are stored in the target
  const void* values;
  void* values_to;
};

/// The pass that blocks are at.
struct pass_state : word_move {
  std::uint32_t index;  ///< of the pass in the sort
  std::uint32_t digit;  ///< number of the digit
};

/// Arrays between which passes move words and values: the first pass reads [0], others [1] and [2] in turn.
struct pass_arrays {
  const void* words[3];  ///< [0] may be null: words are made of the rows
  const void* values[3];
  bool ends_at_target;  ///< the last pass writes to the target of the sort
};

struct block_shared {
  std::uint32_t
      bin_begin[radix_bins + 1];  ///< index in the sorted tile of the bin's first word; in find_codes, in the list
  /// What to add to an index in the sorted tile to get the index in the list. Before the first tile of a list has
  /// placed its bins: where they begin in the list.
  std::uint32_t bin_offset[radix_bins];
  alignas(16) std::uint32_t warp_sums[32];
  alignas(16) std::uint32_t tile;  ///< number of the tile that the block has drawn
  // Not in registers, which words need.
  pass_arrays arrays;
  pass_state pass;
  code_shape shape;
};

/// The sample of the keys, in shared memory of the block that takes it.
struct key_sample {
  static constexpr std::uint32_t samples = 4096;
  static constexpr std::uint32_t slots = 4096;
  static constexpr std::uint32_t looked_up = samples / 2;  ///< samples whose codes are looked up
  static constexpr std::uint32_t scales = 4;               ///< of which the one is chosen that suits the samples

  std::uint64_t number[samples];  ///< the keys of the samples, as key_numbers makes them
  union {
    std::uint32_t in_interval[scales][code_map::pieces];  ///< samples on each piece of the map, by each scale
    struct {
      std::uint32_t first_in_slot[slots];  ///< hash table of codes: 1 + index, among those looked up, of the first
                                           ///< sample with one
      std::uint32_t with_code[looked_up];  ///< of the first sample of a slot: samples with its code, and a flag
    };
  };
  std::uint32_t differing[4];      ///< bits in which keys of samples differ, by limb
  unsigned long long least[2];     ///< the least of the numbers as they are, and of the folded ones
  unsigned long long greatest[2];  ///< the greatest, likewise
  static constexpr std::uint32_t most_sums = 5;
  std::uint32_t sums[most_sums];
};

/// Dynamic shared memory: block_shared, codes_of_piece of the map, then one area that is used in turn for the sample of
/// the keys (by codes alone), the block's histogram, the counters of a tile's warps, and the sorted tile with the
/// digits of its codes.
template <int Limbs, value_width Values, tile_length Length>
constexpr std::size_t radix_shared_bytes(bool by_codes) {
  using tuning = tile_tuning<Limbs, Values, Length>;
  const std::size_t widest = std::max<std::size_t>(sizeof(sort_word<Limbs>), value_bytes_of(Values));
  const std::size_t counters = std::max<std::size_t>(most_digits<Limbs>, tuning::threads / 32) * radix_bins;
  const std::size_t moved =
      std::max(tuning::tile_words * (widest + (by_codes ? 1 : 0)), counters * sizeof(std::uint32_t));
  return sizeof(block_shared) + sizeof(code_map::codes_of_piece) +
         (by_codes ? std::max(moved, sizeof(key_sample)) : moved);
}

/// A block's view of the sort of a list.
template <int Limbs, value_width Values, tile_length Length>
struct radix_block {
  using tuning = tile_tuning<Limbs, Values, Length>;
  using word = sort_word<Limbs>;
  static constexpr value_width values = Values;
  static constexpr int threads = tuning::threads;

  const radix_arguments& arguments;
  block_shared& shared;
  std::uint32_t* codes_of_piece;  ///< a copy of the map's, in shared memory
  unsigned char* staged;          ///< the area of shared memory that is used in turn
  std::uint32_t count;            ///< words of the list that is sorted

  __device__ std::uint32_t tiles() const { return (count - 1) / tuning::tile_words + 1; }
  /// The calling thread's number among all threads of the grid, of which there are grid_threads().
  __device__ std::uint32_t grid_thread() const { return blockIdx.x * threads + threadIdx.x; }
  __device__ std::uint32_t grid_threads() const { return gridDim.x * threads; }

  /// Calls body(load) with what loads word i of a list that begins at `words`, or is made of the rows where that is
  /// null. A branch here, and not at each word, lets all loads of a thread be under way at once.
  template <class Body>
  __device__ __forceinline__ void read_words(const void* words, Body body) const {
    if (words != nullptr) {
      return body([&](std::uint32_t i) { return load_word_streaming(static_cast<const word*>(words) + i); });
    }
    body([&](std::uint32_t i) { return read_word<Limbs>(arguments.rows, arguments.transform, i); });
  }
};

}  // namespace sheaf::cuda
