#pragma once

#include "cpu/movement/record_copy.hpp"
#include "cpu/split/category_reader.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

// The loops of one radix pass over the parts of the input: histogram (count_part, count_words) and scatter (move_part,
// move_words). call.hpp puts the scan between them.
namespace sheaf::cpu {

/// Input of a pass. A record's bucket is category >> shift & mask. Records whose category is not below `limit` are left
/// out.
struct pass_input {
  category_reader categories;
  std::uint64_t count;
  std::uint64_t buckets;
  std::uint64_t limit = ~std::uint64_t{0};
  std::uint32_t shift = 0;
  std::uint32_t mask = ~std::uint32_t{0};
  bool checks_limit = false;  ///< whether a category may reach `limit`

  std::uint64_t bucket_of(std::uint32_t category) const noexcept { return category >> shift & mask; }
};

/// Calls block(first, count, categories) for a part's records in order, a block of records at a time.
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

/// Calls group(begin, end) for a block's records in small groups. Between them it prefetches the keys of the next
/// block.
template <class Group>
void for_each_group(const pass_input& in, std::uint64_t first, std::uint64_t count, Group group) {
  constexpr std::uint64_t size = category_reader::group_records;
  for (std::uint64_t begin = 0; begin < count; begin += size) {
    in.categories.prefetch_keys(first + category_reader::block_records + begin);
    group(begin, std::min(begin + size, count));
  }
}

// count_block and move_block take their arguments by value, since the compiler must assume that stores of bytes change
// what lies behind a reference.

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

/// Histogram of a part: adds its records to `counts`, and to category_counts, by whole category, where that is not
/// null. Returns the first record whose category is not below the limit.
inline first_bad count_part(const pass_input& in, std::uint64_t parts, std::uint64_t part, std::uint64_t* counts,
                            std::uint64_t* category_counts) {
  first_bad bad;
  for_each_block(in, parts, part, [&](std::uint64_t first, std::uint64_t count, const std::uint32_t* categories) {
    if (category_counts != nullptr) count_categories(categories, count, category_counts);
    if (!in.checks_limit) return count_block(in, categories, first, count, counts);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (categories[i] < in.limit) {
        ++counts[in.bucket_of(categories[i])];
      } else {
        bad.note(first + i);
      }
    }
  });
  return bad;
}

/// Scatter of a part: calls sink.put(bucket, value(i, category)) for its records in order.
template <class Value, class Sink>
void move_part(const pass_input& in, std::uint64_t parts, std::uint64_t part, Value value, Sink sink) {
  for_each_block(in, parts, part, [&](std::uint64_t first, std::uint64_t count, const std::uint32_t* categories) {
    if (!in.checks_limit) return move_block(in, categories, first, count, value, sink);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (categories[i] < in.limit) sink.put(in.bucket_of(categories[i]), value(first + i, categories[i]));
    }
  });
  sink.finish(in.buckets);
}

// The most frequent case has loops of its own: records without gaps that hold their keys. Their categories are not read
// ahead of the loop, which saves a third of the instructions.

/// The digit of a record's category as bits of one word of the record.
struct word_digit {
  const std::byte* words;  ///< the first record's word
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

/// Calls visit(i) for every record, and prefetch_line(i) once before the records of a cache line.
template <class Record, class PrefetchLine, class Visit>
void for_each_line(std::uint64_t begin, std::uint64_t end, PrefetchLine prefetch_line, Visit visit) {
  constexpr std::uint64_t per_line = line_bytes / sizeof(Record);
  std::uint64_t i = begin;
  for (; i + per_line <= end; i += per_line) {
    prefetch_line(i);
    for (std::uint64_t r = 0; r < per_line; ++r) visit(i + r);
  }
  for (; i < end; ++i) visit(i);
}

/// Prefetch distance in records that are read in order. The hardware prefetcher stops at the end of every page, and
/// pages are small.
constexpr std::uint64_t record_prefetch_distance = 256;

template <class Record>
void count_words(word_digit digit, std::uint64_t begin, std::uint64_t end, std::uint64_t* counts) noexcept {
  for_each_line<Record>(
      begin, end, [=](std::uint64_t i) { prefetch(digit.words, (i + record_prefetch_distance) * sizeof(Record), 1); },
      [=](std::uint64_t i) { ++counts[digit.of<Record>(i)]; });
}

template <class Record>
void move_words(word_digit digit, const std::byte* records, std::uint64_t begin, std::uint64_t end,
                std::uint64_t buckets, write_buffers<Record> sink) noexcept {
  for_each_line<Record>(
      begin, end, [=](std::uint64_t i) { prefetch(records, (i + record_prefetch_distance) * sizeof(Record), 1); },
      [=](std::uint64_t i) {
        Record record;
        std::memcpy(&record, records + i * sizeof(Record), sizeof record);
        sink.put(digit.of<Record>(i), record);
      });
  sink.finish(buckets);
}

/// Sink that copies records of any width to the output one by one. The value of put() is a record's number.
struct record_sink {
  any_layout layout;  ///< the output is the sequential side, the input the indexed side
  const std::byte* in;
  std::byte* out;
  std::uint64_t* cursors;
  bool streams;

  void put(std::uint64_t bucket, std::uint64_t record) const noexcept {
    std::byte* const to = out + layout.sequential_offset(cursors[bucket]++);
    const std::byte* const from = in + layout.indexed_offset(record);
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

/// Sink that writes a record's rank to out[record number], which makes a scatter index.
template <class Index>
struct rank_sink {
  Index* out;
  std::uint64_t* cursors;

  void put(std::uint64_t bucket, std::uint64_t record) const noexcept {
    out[record] = static_cast<Index>(cursors[bucket]++);
  }
  void finish(std::uint64_t) const noexcept {}
};

}  // namespace sheaf::cpu
