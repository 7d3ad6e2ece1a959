#pragma once

#include <bit>

#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/split/category.hpp"

namespace sheaf::cpu {

/// Reads the categories of a block of records ahead of the loop that moves the records. So there is one loop for each
/// way that keys lie in memory, which the compiler can vectorize, and not one for each pair of key and record layouts.
class category_reader {
 public:
  static constexpr std::uint64_t block_records = 1024;
  static constexpr std::uint64_t group_records = 16;

  category_reader(const std::byte* keys, std::uint64_t key_bytes, std::uint64_t stride_bytes, const bit_field& bits)
      : keys_(keys), stride_(stride_bytes), bits_(bits) {
    if constexpr (std::endian::native != std::endian::little) return;
    const std::uint64_t word = std::min<std::uint64_t>(8, std::bit_floor(key_bytes));
    offset_ = std::min(bits.first / 8, key_bytes - word);
    const std::uint64_t skipped = bits.first - 8 * offset_;
    if (skipped + bits.count > 8 * word) return;  // keys of 3, 5, 6 or 7 bytes: the field crosses the widest word
    word_bytes_ = word;
    shift_ =
        static_cast<std::uint32_t>(bits.order == bit_order::little_endian ? skipped : 8 * word - skipped - bits.count);
  }

  /// Reads the categories of records [first, first + count); count is at most block_records.
  void read(std::uint64_t first, std::uint64_t count, std::uint32_t* to) const noexcept {
    const std::byte* const from = keys_ + first * stride_;
    switch (word_bytes_) {
      case 1: return read_words<std::uint8_t>(from, count, to);
      case 2: return read_words<std::uint16_t>(from, count, to);
      case 4: return read_words<std::uint32_t>(from, count, to);
      case 8: return read_words<std::uint64_t>(from, count, to);
      default:
        for (std::uint64_t i = 0; i < count; ++i) to[i] = primitives::field_of(from + i * stride_, bits_);
    }
  }

  /// Whether a category is word >> word_shift() & mask of one little-endian word of the record.
  bool is_in_word(std::uint64_t word_bytes) const noexcept {
    return word_bytes_ == word_bytes && bits_.order == bit_order::little_endian;
  }
  std::uint64_t word_offset() const noexcept { return offset_; }
  std::uint32_t word_shift() const noexcept { return shift_; }
  std::uint32_t bits() const noexcept { return bits_.count; }

  /// Prefetches the keys of the group_records records that begin at `record`, which may lie past the end. Without this
  /// in the loop that moves a block, memory would be idle until the next block is read.
  void prefetch_keys(std::uint64_t record) const noexcept {
    const std::uint64_t step = std::max(stride_, line_bytes);
    for (std::uint64_t b = 0; b < group_records * stride_; b += step)
      prefetch(keys_, record * stride_ + offset_ + b, 1);
  }

 private:
  template <class Word>
  void read_words(const std::byte* from, std::uint64_t count, std::uint32_t* to) const noexcept {
    if (bits_.order == bit_order::from_left) return read_strided<Word, true>(from + offset_, count, stride_, to);
    if (stride_ == sizeof(Word)) {
      return read_strided<Word, false>(from, count, std::integral_constant<std::uint64_t, sizeof(Word)>{}, to);
    }
    read_strided<Word, false>(from + offset_, count, stride_, to);
  }

  template <class Word, bool Swapped, class Stride>
  void read_strided(const std::byte* from, std::uint64_t count, Stride stride, std::uint32_t* to) const noexcept {
    const auto mask = static_cast<Word>((std::uint64_t{1} << bits_.count) - 1);
    const std::uint32_t shift = shift_;
    for (std::uint64_t i = 0; i < count; ++i) {
      Word word;
      std::memcpy(&word, from + i * stride, sizeof word);
      if constexpr (Swapped) word = swapped(word);
      to[i] = static_cast<std::uint32_t>(static_cast<Word>(word >> shift) & mask);
    }
  }

  static std::uint8_t swapped(std::uint8_t word) noexcept { return word; }
  static std::uint16_t swapped(std::uint16_t word) noexcept { return __builtin_bswap16(word); }
  static std::uint32_t swapped(std::uint32_t word) noexcept { return __builtin_bswap32(word); }
  static std::uint64_t swapped(std::uint64_t word) noexcept { return __builtin_bswap64(word); }

  const std::byte* keys_;
  std::uint64_t stride_;
  bit_field bits_;
  std::uint64_t offset_ = 0;      // bytes from the beginning of a key to the word that holds its field
  std::uint64_t word_bytes_ = 0;  // width of that word; 0 if fields are read byte by byte
  std::uint32_t shift_ = 0;
};

// The offsets of a split in several passes. The histograms of its digits do not count whole categories, so the last
// pass counts these, when records of one category follow each other, and a scan makes offsets of the counts. Every
// function here does nothing if the caller wants no offsets (null).

inline void clear_offsets(std::uint64_t* offsets, std::uint64_t categories, std::uint64_t parts) {
  if (offsets == nullptr) return;
  for_each_range(categories + 1, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::fill(offsets + begin, offsets + end, std::uint64_t{0});
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
  for_each_range(count, parts, [&](std::uint64_t i, std::uint64_t end, std::uint64_t part) {
    std::uint32_t block[category_reader::block_records];
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
  offsets[categories] = exclusive_scan(offsets, categories, parts, sums);
}

}  // namespace sheaf::cpu
