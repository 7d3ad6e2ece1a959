#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "cpu/cache_hints.hpp"
#include "cpu/record_copy.hpp"
#include "cpu/sort_key_reader.hpp"
#include "cpu/sort_shape.hpp"
#include "primitives/sort.hpp"

// Between the arrays of a call and the words of a sort, a block at a time: the passes are written once for all ways
// that keys and values lie in memory.
namespace sheaf::cpu {

/// Words in a block.
constexpr std::uint64_t block_words = 512;

/// Where a pass reads words.
template <class Word>
class word_reader {
 public:
  /// Words [first, first + count), in `room` or where they lie; count is at most what room holds.
  virtual const Word* read(std::uint64_t first, std::uint64_t count, Word* room) const noexcept = 0;

 protected:
  ~word_reader() = default;
};

/// Makes words of rows, in the first round all, and rows of words.
template <class Word>
class word_maker : public word_reader<Word> {
 public:
  /// Words of rows [first, first + count) with the key bits of a round.
  virtual void make(std::uint64_t first, std::uint64_t count, std::uint32_t round, Word* to) const noexcept = 0;
  /// Puts the key bits of another round into words.
  virtual void renew(Word*, std::uint64_t, std::uint32_t) const noexcept {}
  /// Writes the rows of words to [first, first + count) of the outputs, which words may lie in.
  virtual void write(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept = 0;

 protected:
  ~word_maker() = default;
};

/// Calls body(first, count) for the blocks of [begin, end).
template <class Body>
void for_each_word_block(std::uint64_t begin, std::uint64_t end, Body body) {
  for (std::uint64_t i = begin; i < end; i += block_words) body(i, std::min(block_words, end - i));
}

/// Rows of one word that holds their key.
template <class Word>
class row_words final : public word_maker<Word> {
 public:
  row_words(const primitives::sort_problem& p, const primitives::sort_buffers& b) noexcept
      : in_(b.in),
        out_(b.out),
        order_(p.key.fields[0], static_cast<std::uint32_t>(p.key.fields[0].offset), p.key.fields[0].bytes, true),
        reads_in_place_(order_.changes_nothing() && std::endian::native == std::endian::little &&
                        in_.stride_bytes == sizeof(Word) &&
                        reinterpret_cast<std::uintptr_t>(in_.data) % alignof(Word) == 0) {}

  const Word* read(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    if (reads_in_place_) return reinterpret_cast<const Word*>(in_.data) + first;
    make(first, count, 0, room);
    return room;
  }
  void make(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    const ordered_word<Word> order = order_;
    const std::byte* const from = in_.data + first * in_.stride_bytes;
    if (in_.stride_bytes == sizeof(Word)) {
      if (order.changes_nothing() && std::endian::native == std::endian::little) {
        std::memcpy(to, from, count * sizeof(Word));
        return;
      }
      for (std::uint64_t i = 0; i < count; ++i) to[i] = order.number(load_word<Word>(from + i * sizeof(Word)));
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) to[i] = order.number(load_word<Word>(from + i * in_.stride_bytes));
  }
  /// The row of a number, as a word in memory.
  Word row_of(Word number) const noexcept {
    Word row;
    store_word(reinterpret_cast<std::byte*>(&row), order_.back(number));
    return row;
  }
  void write(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    const ordered_word<Word> order = order_;
    std::byte* const to = out_.data + first * out_.stride_bytes;
    if (out_.stride_bytes == sizeof(Word)) {
      if (order.changes_nothing() && std::endian::native == std::endian::little) {
        if (static_cast<const void*>(to) != words) std::memcpy(to, words, count * sizeof(Word));
        return;
      }
      for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * sizeof(Word), order.back(words[i]));
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * out_.stride_bytes, order.back(words[i]));
  }

 private:
  const_records in_;
  records out_;
  ordered_word<Word> order_;
  bool reads_in_place_;
};

/// Calls body with an unsigned number of the width, which is one of a word's up to 8 bytes.
template <class Body>
void with_number_of(std::uint64_t bytes, Body body) {
  switch (bytes) {
    case 1: return body(std::uint8_t{});
    case 2: return body(std::uint16_t{});
    case 4: return body(std::uint32_t{});
    default: return body(std::uint64_t{});
  }
}

/// A key's number, and below it a value. Word has 64 bits for both of 4 bytes, else 128.
template <class Word>
class payload_words final : public word_maker<Word> {
 public:
  payload_words(const primitives::sort_problem& p, const primitives::sort_buffers& b, const sort_shape& s) noexcept
      : keys_(b.in),
        payload_(s.payload_is_row ? b.in : b.columns[0].in),
        payload_out_(s.payload_is_row ? b.out : b.columns[0].out),
        keys_out_(!s.payload_is_row && p.writes_rows ? b.out : records()),
        key_(p.key, 0, p.key.bits),
        back_(p.key.fields[0], 0, p.key.fields[0].bytes, true),
        back_shift_(p.key.fields[0].type == key_type::bytes ? 64 - 8 * p.key.fields[0].bytes : 0),
        low_(s.key_low) {}

  const Word* read(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    make(first, count, 0, room);
    return room;
  }
  void make(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t here) {
      std::uint64_t numbers[block_words];
      key_.read(keys_.data + begin * keys_.stride_bytes, keys_.stride_bytes, here, numbers);
      with_number_of(payload_.record_bytes, [&, to = to + (begin - first)](auto number) {
        using value = decltype(number);
        const std::byte* const from = payload_.data + begin * payload_.stride_bytes;
        for (std::uint64_t i = 0; i < here; ++i) {
          to[i] = static_cast<Word>(Word{numbers[i]} << low_) | load_word<value>(from + i * payload_.stride_bytes);
        }
      });
    });
  }
  void write(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    with_number_of(payload_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = payload_out_.data + first * payload_out_.stride_bytes;
      for (std::uint64_t i = 0; i < count; ++i) {
        store_word(to + i * payload_out_.stride_bytes, static_cast<value>(words[i]));
      }
    });
    if (keys_out_.data == nullptr) return;
    with_number_of(keys_out_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = keys_out_.data + first * keys_out_.stride_bytes;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t key = static_cast<std::uint64_t>(words[i] >> low_) << back_shift_;
        store_word(to + i * keys_out_.stride_bytes, static_cast<value>(back_.back(key)));
      }
    });
  }

 private:
  const_records keys_;
  const_records payload_;
  records payload_out_;
  records keys_out_;  ///< none if keys are not wanted, or rows are the payload
  key_reader key_;
  ordered_word<std::uint64_t> back_;
  std::uint32_t back_shift_;
  std::uint32_t low_;
};

/// Key bits, and below them the row's number. Rows and values are fetched when their order is known.
template <class Word>
class index_words final : public word_maker<Word> {
 public:
  index_words(const primitives::sort_problem& p, const primitives::sort_buffers& b, const sort_shape& s) noexcept
      : p_(p), b_(b), low_(s.key_low) {
    for (std::uint32_t round = 0; round < s.rounds; ++round) {
      const std::uint32_t from = round * s.key_bits;
      key_[round] = key_reader(p.key, from, std::min(s.key_bits, p.key.bits - from));
    }
  }

  const Word* read(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    make(first, count, 0, room);
    return room;
  }
  void make(std::uint64_t first, std::uint64_t count, std::uint32_t round, Word* to) const noexcept override {
    key_[round].read(b_.in.data + first * b_.in.stride_bytes, b_.in.stride_bytes, count, to);
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(to[i] << low_) | (first + i);
  }
  void renew(Word* words, std::uint64_t count, std::uint32_t round) const noexcept override {
    const key_reader& key = key_[round];
    const std::uint64_t distance = prefetch_distance_of(p_.rows.record_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) ask(b_.in, words[i + distance]);
      const std::uint64_t row = index_of(words[i]);
      words[i] = static_cast<Word>(key.template of<Word>(b_.in.data + row * b_.in.stride_bytes) << low_) | row;
    }
  }
  void write(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    if (p_.product == primitives::sort_product::gather_index) {
      with_number_of(bytes(p_.index), [&](auto number) {
        using entry = decltype(number);
        entry* const to = static_cast<entry*>(b_.index.data) + first;
        for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<entry>(index_of(words[i]));
      });
      return;
    }
    if (p_.writes_rows) fetch(b_.in, b_.out, first, count, words);
    for (std::uint32_t c = 0; c < p_.column_count; ++c) fetch(b_.columns[c].in, b_.columns[c].out, first, count, words);
  }

 private:
  std::uint64_t index_of(Word word) const noexcept { return static_cast<std::uint64_t>(word & low_bits<Word>(low_)); }
  void ask(const_records in, Word word) const noexcept {
    prefetch(in.data, index_of(word) * in.stride_bytes, in.record_bytes);
  }
  void fetch(const_records in, records out, std::uint64_t first, std::uint64_t count,
             const Word* words) const noexcept {
    const any_layout layout{in.record_bytes, out.stride_bytes, in.stride_bytes};
    const std::uint64_t distance = prefetch_distance_of(in.record_bytes);
    std::byte* const to = out.data + layout.near(first);
    for (std::uint64_t i = 0; i < std::min(distance, count); ++i) ask(in, words[i]);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) ask(in, words[i + distance]);
      layout.copy(to + layout.near(i), in.data + layout.far(index_of(words[i])));
    }
  }

  const primitives::sort_problem& p_;
  const primitives::sort_buffers& b_;
  std::uint32_t low_;
  std::array<key_reader, most_rounds> key_;
};

}  // namespace sheaf::cpu
