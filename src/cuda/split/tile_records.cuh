#pragma once

#include "cuda/block/category.cuh"

// The records of a tile in the registers of the scatter kernel's threads: what moves, and which bin it belongs to.
namespace sheaf::cuda {

/// Where the records that a pass moves come from: words that it reads, or the numbers of records, which come from no
/// array.
enum class record_source { words, record_numbers };

/// Where the bin of a record comes from: a field of the word that moves, or a separate key.
enum class bin_source { word, separate_key };

/// The bins of a thread's records. Record k of a thread lies 32 * k past its first one. Past the end of the list, a
/// word that is its own key is all ones in a stable pass: it sorts to the end of the last bin, behind all that is
/// written. In other passes such a record has no bin. With EveryRecordHasBin, bin() does not test for that.
template <class Word, bin_source Source, int Items, int Bins, bool EveryRecordHasBin>
struct tile_bins {
  /// Bins stay in registers, unless words take these: spilled registers cost more than a second look at the field.
  static constexpr bool keeps_bins = Source == bin_source::word && Bins <= 256 && sizeof(Word) != 8;

  word_field field;
  int records_from_first;  ///< records of the tile from the thread's first one on
  Word word[Source == bin_source::word ? Items : 1];
  packed_bytes<keeps_bins ? Items : 1> kept_bins;
  packed_numbers<Source == bin_source::separate_key ? Items : 1> key_bins;

  __device__ __forceinline__ std::uint32_t bin(int k) const {
    if constexpr (Source == bin_source::separate_key) {
      return key_bins.get(k);
    } else {
      std::uint32_t bin;
      if constexpr (keeps_bins) {
        bin = kept_bins.get(k);
      } else {
        bin = category_of(word[k], field);
      }
      return EveryRecordHasBin || k * 32 < records_from_first ? bin : no_bin;
    }
  }
};

template <class Word>
__device__ __forceinline__ Word all_ones() {
  if constexpr (sizeof(Word) == 16) {
    return {~0U, ~0U, ~0U, ~0U};
  } else if constexpr (sizeof(Word) == 8) {
    return {~0U, ~0U};
  } else {
    return static_cast<Word>(~Word{0});
  }
}

/// Record s of the tile whose first record has the number `tile` and lies at `tile_words`.
template <class Word, record_source Records>
__device__ __forceinline__ Word record_at(const Word* tile_words, std::uint64_t tile, std::uint32_t s) {
  if constexpr (Records == record_source::words) {
    return __ldcs(tile_words + s);
  } else {
    const std::uint64_t i = tile + s;
    if constexpr (sizeof(Word) == 8) {
      return Word{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32)};
    } else {
      return static_cast<Word>(i);
    }
  }
}

}  // namespace sheaf::cuda
