#pragma once

#include "lab/description/items.hpp"
#include "lab/description/sort/source.hpp"
#include "lab/description/split/items.hpp"

// Function objects for over_items() that fill the arrays of a sort and check its answers.
namespace sheaf::jobs {

SHEAF_HOST_DEVICE inline key_word128 load_key(const std::byte* keys, std::uint64_t key_bytes, std::uint64_t i) {
  const std::byte* const key = keys + i * key_bytes;
  const key_word128 high = key_bytes > 8 ? load_word(key, key_bytes, 1) : 0;
  return high << 64 | load_word(key, key_bytes, 0);
}

struct fill_sort_keys {
  sort_source source;
  std::byte* keys;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const key_word128 key = sort_key_bytes(source, i);
    for (std::uint64_t word = 0; 8 * word < source.key_bytes; ++word) {
      store_word(keys + i * source.key_bytes, source.key_bytes, word, static_cast<std::uint64_t>(key >> (64 * word)));
    }
    return {};
  }
};

using fill_sort_rows = fill_words<sort_source, sort_row_word>;

/// Checks that sorted key i is not below key i - 1. The checksums of output and input keys cancel out in the sum if the
/// output is a permutation of the input.
struct check_sorted_keys {
  sort_source source;
  const std::byte* keys;

  SHEAF_HOST_DEVICE static std::uint64_t weight(key_word128 key) {
    return inputs::mix(inputs::mix(static_cast<std::uint64_t>(key)) + static_cast<std::uint64_t>(key >> 64));
  }
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    tally tally;
    const key_word128 key = load_key(keys, source.key_bytes, i);
    tally.sum = weight(key) - weight(sort_key_bytes(source, i));
    if (i > 0) {
      const key_word128 before = load_key(keys, source.key_bytes, i - 1);
      tally.mismatches += rank_of_key(source, key) < rank_of_key(source, before);
    }
    return tally;
  }
};

/// Whether input row `number` may follow input row `before` in a stable sort.
SHEAF_HOST_DEVICE inline bool in_sorted_order(const sort_source& s, std::uint64_t before, std::uint64_t number) {
  const key_word128 first = rank_of(s, before);
  const key_word128 second = rank_of(s, number);
  return first < second || (first == second && before < number);
}

/// Checks that sorted row i equals the input row whose number it holds, and that it may follow row i - 1. A stable
/// order is strict, so that rows that are all in order are all different: the output is a permutation of the input.
struct check_sorted_rows {
  sort_source source;
  const std::byte* rows;
  const std::byte* keys;  ///< sorted keys in an array of their own; null where the rows hold them

  SHEAF_HOST_DEVICE std::uint64_t number(std::uint64_t i) const {
    const std::byte* const row = rows + i * source.record_bytes + source.number_at();
    return load_word(row, source.number_bytes(), 0);
  }
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t n = number(i);
    if (n >= source.count) return {1, 0};
    tally tally;
    for (std::uint64_t w = 0; 8 * w < source.record_bytes; ++w) {
      const std::uint64_t found = load_word(rows + i * source.record_bytes, source.record_bytes, w);
      tally.mismatches += found != within(source.record_bytes, w, sort_row_word(source, n, w));
    }
    if (keys != nullptr) tally.mismatches += load_key(keys, source.key_bytes, i) != sort_key_bytes(source, n);
    if (i > 0) {
      const std::uint64_t before = number(i - 1);
      tally.mismatches += before >= source.count || !in_sorted_order(source, before, n);
    }
    return tally;
  }
};

/// Checks entry i of a gather index: its row may follow the row of entry i - 1 in a stable sort, which also proves that
/// the index is a permutation.
struct check_sort_index {
  sort_source source;
  const std::byte* index;
  std::uint64_t index_bytes;

  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t n = load_index(index, index_bytes, i);
    if (n >= source.count) return {1, 0};
    if (i == 0) return {};
    const std::uint64_t before = load_index(index, index_bytes, i - 1);
    return {before >= source.count || !in_sorted_order(source, before, n), 0};
  }
};

}  // namespace sheaf::jobs
