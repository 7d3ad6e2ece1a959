#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "cpu/split/category_reader.hpp"
#include "cpu/threads/parts.hpp"

// The offsets of a split in several passes. The histograms of its digits do not count whole categories, so the last
// pass counts these, when records of one category follow each other, and a scan makes offsets of the counts. Every
// function here does nothing if the caller wants no offsets (null).
namespace sheaf::cpu {

inline void clear_offsets(std::uint64_t* offsets, std::uint64_t categories, std::uint64_t parts) {
  if (offsets == nullptr) return;
  for_each_part(parts, [&](std::uint64_t part) {
    std::fill(offsets + part_begin(categories + 1, parts, part), offsets + part_begin(categories + 1, parts, part + 1),
              std::uint64_t{0});
  });
}

/// Adds a block's categories to offsets[category], atomically, as several threads may add to one counter. A run of
/// equal categories is one addition.
inline void count_categories(const std::uint32_t* categories, std::uint64_t count, std::uint64_t* offsets) noexcept {
  for (std::uint64_t i = 0; i < count;) {
    const std::uint64_t run = i;
    while (i < count && categories[i] == categories[run]) ++i;
    std::atomic_ref(offsets[categories[run]]).fetch_add(i - run, std::memory_order_relaxed);
  }
}

/// Offsets from sorted records: category c begins at the first record whose category is c or more.
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
    std::uint64_t category = i == 0 ? 0 : category_of(i - 1) + 1;  // the first one whose offset is not yet known
    for (; i < end; i += category_reader::block_records) {
      const std::uint64_t records = std::min(category_reader::block_records, end - i);
      sorted.read(i, records, block);
      for (std::uint64_t r = 0; r < records; ++r) {
        for (; category <= block[r]; ++category) offsets[category] = i + r;
      }
    }
    if (part + 1 == parts) std::fill(offsets + category, offsets + categories + 1, count);
  });
}

/// Exclusive scan of the counts in offsets; their sum goes to offsets[categories].
/// @param sums  scratch for one value of each part.
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
