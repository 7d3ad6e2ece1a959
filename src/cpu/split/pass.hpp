#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/split/category_reader.hpp"
#include "cpu/split/offsets.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

// One pass of a split: count what each part has for each bucket, scan, let each part move its records.
namespace sheaf::cpu {

/// What a pass reads and what of it decides. A record's bucket is the bits from `shift` on, under the mask, of its
/// category; records of categories from `limit` on are left out.
struct pass_input {
  category_reader categories;
  std::uint64_t count;
  std::uint64_t buckets;
  std::uint64_t limit = ~std::uint64_t{0};
  std::uint32_t shift = 0;
  std::uint32_t mask = ~std::uint32_t{0};
  bool checks = false;  ///< whether there may be any from `limit` on

  std::uint64_t bucket_of(std::uint32_t category) const noexcept { return category >> shift & mask; }
};

/// Calls block(first, count, categories) for a part's records in order.
template <class Block>
void for_each_block(const pass_input& in, std::uint64_t parts, std::uint64_t part, Block block) {
  std::uint32_t categories[category_reader::block_records];
  const std::uint64_t end = part_begin(in.count, parts, part + 1);
  for (std::uint64_t i = part_begin(in.count, parts, part); i < end; i += category_reader::block_records) {
    const std::uint64_t count = std::min(category_reader::block_records, end - i);
    in.categories.read(i, count, categories);
    block(i, count, categories);
  }
}

/// Calls group(begin, end) for a block's records, and asks for those of the next block meanwhile.
template <class Group>
void for_each_group(const pass_input& in, std::uint64_t first, std::uint64_t count, Group group) {
  constexpr std::uint64_t size = category_reader::group_records;
  for (std::uint64_t begin = 0; begin < count; begin += size) {
    in.categories.ask(first + category_reader::block_records + begin);
    group(begin, std::min(begin + size, count));
  }
}

// The loops of a block, by value: stores of bytes could change what lies behind a reference, as far as the compiler
// knows.

inline void count_block(pass_input in, const std::uint32_t* categories, std::uint64_t first, std::uint64_t count,
                        std::uint64_t* counts) noexcept {
  for_each_group(in, first, count, [=](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) ++counts[categories[i] >> in.shift & in.mask];
  });
}

template <class Value, class Sink>
void move_block(pass_input in, const std::uint32_t* categories, std::uint64_t first, std::uint64_t count, Value value,
                Sink sink) {
  for_each_group(in, first, count, [=](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      sink.put(categories[i] >> in.shift & in.mask, value(first + i, categories[i]));
    }
  });
}

/// Adds a part's records to its counts, and to those of whole categories where there is room for them; returns the
/// first record that is of no category.
inline first_bad count_part(const pass_input& in, std::uint64_t parts, std::uint64_t part, std::uint64_t* counts,
                            std::uint64_t* category_counts) {
  first_bad bad;
  for_each_block(in, parts, part, [&](std::uint64_t first, std::uint64_t count, const std::uint32_t* categories) {
    if (category_counts != nullptr) count_categories(categories, count, category_counts);
    if (!in.checks) return count_block(in, categories, first, count, counts);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (categories[i] < in.limit) {
        ++counts[in.bucket_of(categories[i])];
      } else {
        bad.see(first + i);
      }
    }
  });
  return bad;
}

/// Moves a part: sink.put(bucket, value(i, category)) for its records in order.
template <class Value, class Sink>
void move_part(const pass_input& in, std::uint64_t parts, std::uint64_t part, Value value, Sink sink) {
  for_each_block(in, parts, part, [&](std::uint64_t first, std::uint64_t count, const std::uint32_t* categories) {
    if (!in.checks) return move_block(in, categories, first, count, value, sink);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (categories[i] < in.limit) sink.put(in.bucket_of(categories[i]), value(first + i, categories[i]));
    }
  });
  sink.finish(in.buckets);
}

// Records side by side with their keys in them are what is split most. Their categories are not read ahead of the loop:
// a third fewer instructions.

/// Where the digit of a record's category lies in a word of the record.
struct word_digit {
  const std::byte* words;  ///< of the first record
  std::uint32_t shift;
  std::uint32_t mask;

  word_digit(const std::byte* records, const pass_input& in) noexcept
      : words(records + in.categories.word_offset()),
        shift(in.categories.word_shift() + in.shift),
        mask(in.mask & static_cast<std::uint32_t>(((std::uint64_t{1} << in.categories.bits()) - 1) >> in.shift)) {}

  template <class Record>
  using word_of = std::conditional_t<sizeof(Record) == 4, std::uint32_t, std::uint64_t>;

  template <class Record>
  static bool takes(const category_reader& categories) noexcept {
    return sizeof(Record) >= 4 && categories.is_in_word(sizeof(word_of<Record>));
  }
  template <class Record>
  std::uint64_t of(std::uint64_t i) const noexcept {
    word_of<Record> word;
    std::memcpy(&word, words + i * sizeof(Record), sizeof word);
    return static_cast<std::uint32_t>(word >> shift) & mask;
  }
};

/// Calls ask(i) once for a line's worth of records, one(i) for each.
template <class Record, class Ask, class One>
void for_each_line(std::uint64_t begin, std::uint64_t end, Ask ask, One one) {
  constexpr std::uint64_t per_line = line_bytes / sizeof(Record);
  std::uint64_t i = begin;
  for (; i + per_line <= end; i += per_line) {
    ask(i);
    for (std::uint64_t r = 0; r < per_line; ++r) one(i + r);
  }
  for (; i < end; ++i) one(i);
}

/// How far ahead to ask for records that are read in order: pages are small, and the machine stops at their ends.
constexpr std::uint64_t records_ahead = 256;

template <class Record>
void count_words(word_digit digit, std::uint64_t begin, std::uint64_t end, std::uint64_t* counts) noexcept {
  for_each_line<Record>(
      begin, end, [=](std::uint64_t i) { prefetch(digit.words, (i + records_ahead) * sizeof(Record), 1); },
      [=](std::uint64_t i) { ++counts[digit.of<Record>(i)]; });
}

template <class Record>
void move_words(word_digit digit, const std::byte* records, std::uint64_t begin, std::uint64_t end,
                std::uint64_t buckets, line_buckets<Record> sink) noexcept {
  for_each_line<Record>(
      begin, end, [=](std::uint64_t i) { prefetch(records, (i + records_ahead) * sizeof(Record), 1); },
      [=](std::uint64_t i) {
        Record record;
        std::memcpy(&record, records + i * sizeof(Record), sizeof record);
        sink.put(digit.of<Record>(i), record);
      });
  sink.finish(buckets);
}

/// Copies records of any width to where they belong, one by one; the value is a record's number.
struct record_sink {
  any_layout layout;  ///< near is the output
  const std::byte* in;
  std::byte* out;
  std::uint64_t* next;
  bool streams;

  void put(std::uint64_t bucket, std::uint64_t record) const noexcept {
    std::byte* const to = out + layout.near(next[bucket]++);
    const std::byte* const from = in + layout.far(record);
    if (streams) {
      stream_lines(to, from, layout.record_bytes);
    } else {
      layout.copy(to, from);
    }
  }
  void finish(std::uint64_t) const noexcept {
    if (streams) finish_streaming();
  }
};

/// Writes at a record's number where it goes.
template <class Index>
struct rank_sink {
  Index* out;
  std::uint64_t* next;

  void put(std::uint64_t bucket, std::uint64_t record) const noexcept {
    out[record] = static_cast<Index>(next[bucket]++);
  }
  void finish(std::uint64_t) const noexcept {}
};

}  // namespace sheaf::cpu
