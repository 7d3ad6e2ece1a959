#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/sort/encoding.hpp"
#include "cpu/sort/key_reader.hpp"
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
  /// The same where only key bits are looked at.
  virtual const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* room) const noexcept {
    return read(first, count, room);
  }

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
    if (in_.stride_bytes == sizeof(Word) && order.changes_nothing() && std::endian::native == std::endian::little) {
      std::memcpy(to, from, count * sizeof(Word));
      return;
    }
    with_stride<sizeof(Word)>(in_.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) to[i] = order.number(load_word<Word>(from + i * stride));
    });
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
    if (out_.stride_bytes == sizeof(Word) && order.changes_nothing() && std::endian::native == std::endian::little) {
      if (static_cast<const void*>(to) != words) std::memcpy(to, words, count * sizeof(Word));
      return;
    }
    with_stride<sizeof(Word)>(out_.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * stride, order.back(words[i]));
    });
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
        low_(s.key_low) {
    if (keys_out_.data == nullptr) return;
    const key_field& f = p.key.fields[0];  // which is all of the row, and no wider than a word
    back_ = ordered_word<std::uint64_t>(f, 0, f.bytes, true);
    if (f.type == key_type::bytes) back_shift_ = 64 - 8 * f.bytes;
  }

  const Word* read(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    make(first, count, 0, room);
    return room;
  }
  void make(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t here) {
      std::uint64_t numbers[block_words];
      key_.read(keys_.data + begin * keys_.stride_bytes, keys_.stride_bytes, here, numbers);
      put_keys(numbers, here, to + (begin - first));
      with_number_of(payload_.record_bytes, [&, to = to + (begin - first)](auto number) {
        using value = decltype(number);
        const std::byte* const from = payload_.data + begin * payload_.stride_bytes;
        with_stride<sizeof(value)>(payload_.stride_bytes, [&](auto stride) {
          for (std::uint64_t i = 0; i < here; ++i) to[i] |= load_word<value>(from + i * stride);
        });
      });
    });
  }
  const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t here) {
      std::uint64_t numbers[block_words];
      key_.read(keys_.data + begin * keys_.stride_bytes, keys_.stride_bytes, here, numbers);
      put_keys(numbers, here, room + (begin - first));
    });
    return room;
  }
  void write(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    with_number_of(payload_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = payload_out_.data + first * payload_out_.stride_bytes;
      with_stride<sizeof(value)>(payload_out_.stride_bytes, [&](auto stride) {
        for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * stride, static_cast<value>(words[i]));
      });
    });
    if (keys_out_.data == nullptr) return;
    with_number_of(keys_out_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = keys_out_.data + first * keys_out_.stride_bytes;
      const ordered_word<std::uint64_t> order = back_;
      const std::uint32_t low = low_, shift = back_shift_;
      with_stride<sizeof(value)>(keys_out_.stride_bytes, [&](auto stride) {
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::uint64_t key = static_cast<std::uint64_t>(words[i] >> low) << shift;
          store_word(to + i * stride, static_cast<value>(order.back(key)));
        }
      });
    });
  }

 private:
  void put_keys(const std::uint64_t* numbers, std::uint64_t count, Word* to) const noexcept {
    const std::uint32_t low = low_;
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(Word{numbers[i]} << low);
  }

  const_records keys_;
  const_records payload_;
  records payload_out_;
  records keys_out_;  ///< none if keys are not wanted, or rows are the payload
  key_reader key_;
  ordered_word<std::uint64_t> back_;
  std::uint32_t back_shift_ = 0;
  std::uint32_t low_;
};

}  // namespace sheaf::cpu
