#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "cpu/split/category_reader.hpp"
#include "cpu/threads/parts.hpp"

// The offsets of a split that takes several passes, whose digits alone count nothing: counted with the last digit, when
// records of one category follow each other, and summed. None of this does anything without offsets.
namespace sheaf::cpu {

inline void clear_offsets(std::uint64_t* offsets, std::uint64_t categories, std::uint64_t parts) {
  if (offsets == nullptr) return;
  for_each_part(parts, [&](std::uint64_t part) {
    std::fill(offsets + part_begin(categories + 1, parts, part), offsets + part_begin(categories + 1, parts, part + 1),
              std::uint64_t{0});
  });
}

/// Counts categories of a block at offsets[category]: one addition for a run of the same, as many threads may meet
/// there.
inline void count_categories(const std::uint32_t* categories, std::uint64_t count, std::uint64_t* offsets) noexcept {
  for (std::uint64_t i = 0; i < count;) {
    const std::uint64_t run = i;
    while (i < count && categories[i] == categories[run]) ++i;
    std::atomic_ref(offsets[categories[run]]).fetch_add(i - run, std::memory_order_relaxed);
  }
}

/// The offsets from sorted records: category c begins at the first record of a category from c on.
inline void find_offsets(const category_reader& sorted, std::uint64_t count, std::uint64_t* offsets,
                         std::uint64_t categories, std::uint64_t parts) {
  if (offsets == nullptr) return;
  const auto category_of = [&](std::uint64_t i) {
    std::uint32_t category;
    sorted.read(i, 1, &category);
    return std::uint64_t{category};
  };
  for_each_part(parts, [&](std::uint64_t part) {
    std::uint32_t block[category_reader::block_records];
    std::uint64_t i = part_begin(count, parts, part);
    const std::uint64_t end = part_begin(count, parts, part + 1);
    std::uint64_t open = i == 0 ? 0 : category_of(i - 1) + 1;  // the first category whose offset is still to be said
    for (; i < end; i += category_reader::block_records) {
      const std::uint64_t records = std::min(category_reader::block_records, end - i);
      sorted.read(i, records, block);
      for (std::uint64_t r = 0; r < records; ++r) {
        for (; open <= block[r]; ++open) offsets[open] = i + r;
      }
    }
    if (part + 1 == parts) std::fill(offsets + open, offsets + categories + 1, count);
  });
}

/// Makes starts of counts, the sum of all at offsets[categories]. @param sums room for a value of each part.
inline void sum_offsets(std::uint64_t* offsets, std::uint64_t categories, std::uint64_t parts, std::uint64_t* sums) {
  if (offsets == nullptr) return;
  for_each_part(parts, [&](std::uint64_t part) {
    std::uint64_t sum = 0;
    for (std::uint64_t c = part_begin(categories, parts, part); c < part_begin(categories, parts, part + 1); ++c) {
      sum += offsets[c];
    }
    sums[part] = sum;
  });
  std::uint64_t all = 0;
  for (std::uint64_t part = 0; part < parts; ++part) all += std::exchange(sums[part], all);
  for_each_part(parts, [&](std::uint64_t part) {
    std::uint64_t sum = sums[part];
    for (std::uint64_t c = part_begin(categories, parts, part); c < part_begin(categories, parts, part + 1); ++c) {
      sum += std::exchange(offsets[c], sum);
    }
  });
  offsets[categories] = all;
}

}  // namespace sheaf::cpu
