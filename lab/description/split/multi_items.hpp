#pragma once

#include <cstddef>
#include <cstdint>

#include "lab/description/items.hpp"
#include "lab/description/split/items.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the arrays of a multi_split and check its answer. Every record has as
// many memberships as any other, or one more.
namespace sheaf::jobs {

struct membership_source {
  split_source categories;  ///< the category of membership e is that of record e of a split
  std::uint64_t entries = 0;
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t seed = 1;  ///< of the records' bytes

  SHEAF_HOST_DEVICE std::uint64_t first_of(std::uint64_t record) const {
    if (records == 0) return 0;
    const std::uint64_t longer = entries % records;
    return record * (entries / records) + (record < longer ? record : longer);
  }
  SHEAF_HOST_DEVICE std::uint64_t record_of(std::uint64_t entry) const {
    const std::uint64_t length = entries / records;
    const std::uint64_t in_longer = entries % records * (length + 1);
    return entry < in_longer ? entry / (length + 1) : entries % records + (entry - in_longer) / length;
  }
  SHEAF_HOST_DEVICE static std::uint64_t weight(std::uint64_t category, std::uint64_t record) {
    return inputs::mix(inputs::mix(category) + record);
  }
};

struct fill_first {
  membership_source source;
  std::uint64_t* first;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t record) const {
    first[record] = source.first_of(record);
    return {};
  }
};

struct fill_categories {
  membership_source source;
  std::uint32_t* categories;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    categories[entry] = static_cast<std::uint32_t>(category_of(source.categories, entry));
    return {};
  }
};

/// Checks that categories begin where the one before ends, the first at 0 and the last before `count`.
struct check_ascending_offsets {
  const std::uint64_t* offsets;
  std::uint64_t categories;
  std::uint64_t count;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t c) const {
    std::uint64_t wrong = offsets[c] > offsets[c + 1];
    if (c == 0) wrong += offsets[0] != 0;
    if (c + 1 == categories) wrong += offsets[categories] != count;
    return {wrong, 0};
  }
};

/// Checks that record i of the output is the one that sources[i] names and that the numbers of a category ascend. The
/// checksums of pairs of category and record cancel out in the sum if the output has the memberships of the input.
struct check_members {
  membership_source source;
  const std::byte* records;
  const std::byte* sources;
  std::uint64_t source_bytes;
  const std::uint64_t* offsets;  ///< ascending from 0 to the number of entries
  std::uint64_t categories;

  /// The category whose part of the output position i lies in.
  SHEAF_HOST_DEVICE std::uint64_t category_at(std::uint64_t i) const {
    std::uint64_t low = 0;
    std::uint64_t high = categories;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (offsets[middle] <= i ? low : high) = middle;
    }
    return low;
  }
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t number = load_index(sources, source_bytes, i);
    if (number >= source.records) return {1, 0};
    tally t;
    for (std::uint64_t w = 0; 8 * w < source.record_bytes; ++w) {
      const std::uint64_t found = load_word(records + i * source.record_bytes, source.record_bytes, w);
      t.mismatches += found != within(source.record_bytes, w, inputs::record_word(source.seed, number, w));
    }
    const std::uint64_t category = category_at(i);
    if (i > offsets[category]) t.mismatches += load_index(sources, source_bytes, i - 1) > number;
    t.sum = membership_source::weight(category, number) -
            membership_source::weight(jobs::category_of(source.categories, i), source.record_of(i));
    return t;
  }
};

}  // namespace sheaf::jobs
