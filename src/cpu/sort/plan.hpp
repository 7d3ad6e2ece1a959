#pragma once

#include "cpu/sort/encoding.hpp"

namespace sheaf::cpu {

/// Bytes of words that a thread sorts in its cache; with the second array of a radix sort they take twice as much. Keys
/// of 8 bytes, one thread of a Xeon of family 6 model 207 with a second-level cache of 2 MB: 2^24 keys take 194 ms,
/// with 64 KB 232, with 128 KB 190; 2^26 keys take 804, 968 and 928.
constexpr std::uint64_t cached_sort_bytes = 384 * 1024;

/// Scratch layout of a sort. Beside tables of some MB a thread it holds the words once if the outputs can hold them
/// too: for rows of one word, and for keys with one array of values, of 4 or 8 bytes each and without gaps. Otherwise
/// it holds the words twice. An index sort takes 16 bytes a row twice, or 8 where key and index fit in 8.
struct sort_scratch {
  std::uint64_t cached_words = 0;  ///< most words that a thread sorts in its cache
  std::uint64_t starts = 0;        ///< offset of the bucket_table
  std::uint64_t cursors = 0;       ///< offset of the parts' cursors, as large as the bucket_table
  std::uint64_t buffers = 0;       ///< offset of the parts' write-combining buffers
  std::uint64_t properties = 0;    ///< offset of the parts' range_properties, a cache line each
  std::uint64_t spare = 0;         ///< offset of the parts' arrays for sorting in cache
  std::uint64_t spare_bytes = 0;   ///< bytes of a part's arrays: one of cached_words, or two if words are encoded there
  std::uint64_t words[2] = {};     ///< offsets of the two arrays between which passes move words
  std::uint64_t bytes = 0;         ///< size of all scratch
};

/// What plan decides for run.
struct sort_decision {
  std::uint64_t parts = 1;        ///< parts of a range that are counted and moved in parallel
  std::uint32_t digit_bits = 0;   ///< most bits of a digit in a pass over memory; 0: one thread sorts all in its cache
  bool streams = false;           ///< whether full write-combining buffers leave by streaming stores
  bool may_take_vectors = false;  ///< cpu.msd: crowded keys are sorted in vectors, with row numbers in words
  word_encoding encoding{};
  sort_scratch layout{};  ///< where things lie in the scratch

  void tell(plan::told& to) const {
    to.add("rounds", encoding.rounds)
        .add("word_bytes", encoding.word_bytes)
        .add("digit_bits", digit_bits)
        .add("parts", parts)
        .add("streams", streams);
  }
};

plan::planned plan_msd(const primitives::sort_problem& problem, const plan::scope& scope);
plan::planned plan_lsd(const primitives::sort_problem& problem, const plan::scope& scope);
/// For words of 4, 8 and 16 bytes that one thread sorts as numbers.
plan::planned plan_vqsort(const primitives::sort_problem& problem, const plan::scope& scope);

}  // namespace sheaf::cpu
