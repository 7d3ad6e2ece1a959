#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/sort/index_words.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

// One pass of a sort over memory: look at words and count their digits, scan, let each part move its words.
namespace sheaf::cpu {

/// Bytes rounded up to whole write-combining buckets.
constexpr std::uint64_t whole_buckets(std::uint64_t bytes) noexcept {
  return (bytes + bucket_bytes - 1) / bucket_bytes * bucket_bytes;
}

/// Words side by side in memory.
template <class Word>
class word_array final : public word_reader<Word> {
 public:
  using word = Word;
  static constexpr bool holds_words = true;
  static constexpr std::uint64_t stored_bytes = sizeof(Word);
  /// Of write-combining buckets, for each bucket.
  static constexpr std::uint64_t line_room = bucket_bytes;

  word_array() = default;
  explicit word_array(void* words) noexcept : words_(static_cast<Word*>(words)) {}
  static word_array in_scratch(std::byte* room, std::uint64_t /*count*/) noexcept { return word_array(room); }
  static word_array in_outputs(const primitives::sort_buffers& b) noexcept { return word_array(b.out.data); }

  Word* at(std::uint64_t first) const noexcept { return words_ + first; }
  word_array from(std::uint64_t first) const noexcept { return word_array(words_ + first); }
  const Word* read(std::uint64_t first, std::uint64_t, Word*) const noexcept override { return words_ + first; }

  /// Puts words into buckets of this array that begin at `starts`; `next` is room for as many counters.
  class writer {
   public:
    writer(const word_array& to, std::byte* room, std::uint64_t* next, const std::uint64_t* starts,
           std::uint64_t buckets, bool streams) noexcept
        : lines_(room, next, starts, to.words_, streams) {
      const std::uint64_t phase = line_buckets<Word>::phase_of(to.words_);
      for (std::uint64_t b = 0; b < buckets; ++b) next[b] = starts[b] + phase;
    }
    void put(std::uint64_t bucket, Word word) const noexcept { lines_.put(bucket, word); }
    void finish(std::uint64_t buckets) const noexcept { lines_.finish(buckets); }

   private:
    line_buckets<Word> lines_;
  };

 private:
  Word* words_ = nullptr;
};

/// Words in two arrays: their key bits and their payload.
template <class Word, class Key, class Payload>
class pair_array final : public word_reader<Word> {
 public:
  using word = Word;
  static constexpr bool holds_words = false;
  static constexpr std::uint64_t stored_bytes = sizeof(Key) + sizeof(Payload);
  static constexpr std::uint64_t line_room = 2 * bucket_bytes;

  pair_array() = default;
  pair_array(Key* keys, Payload* payloads) noexcept : keys_(keys), payloads_(payloads) {}
  static pair_array in_scratch(std::byte* room, std::uint64_t count) noexcept {
    auto* const payloads = reinterpret_cast<std::uint64_t*>(room + whole_buckets(count * sizeof(Key)));
    return {reinterpret_cast<Key*>(room), reinterpret_cast<Payload*>(payloads)};
  }
  static pair_array in_outputs(const primitives::sort_buffers& b) noexcept {
    return {reinterpret_cast<Key*>(b.out.data), reinterpret_cast<Payload*>(b.columns[0].out.data)};
  }

  pair_array from(std::uint64_t first) const noexcept { return {keys_ + first, payloads_ + first}; }
  const Word* read(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    for (std::uint64_t i = 0; i < count; ++i) {
      room[i] = static_cast<Word>(Word{keys_[first + i]} << bits_in<Payload>) | payloads_[first + i];
    }
    return room;
  }

  const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* room) const noexcept override {
    for (std::uint64_t i = 0; i < count; ++i) {
      room[i] = static_cast<Word>(Word{keys_[first + i]} << bits_in<Payload>);
    }
    return room;
  }

  /// As word_array's; both arrays share the counters, which count from the keys' origin.
  class writer {
   public:
    writer(const pair_array& to, std::byte* room, std::uint64_t* next, const std::uint64_t* starts,
           std::uint64_t buckets, bool streams) noexcept
        : keys_(room, next, starts, to.keys_, streams),
          payloads_(room + buckets * bucket_bytes, next, starts, to.payloads_, streams),
          next_(next),
          between_(line_buckets<Payload>::phase_of(to.payloads_) - line_buckets<Key>::phase_of(to.keys_)) {
      const std::uint64_t phase = line_buckets<Key>::phase_of(to.keys_);
      for (std::uint64_t b = 0; b < buckets; ++b) next[b] = starts[b] + phase;
    }
    void put(std::uint64_t bucket, Word word) const noexcept {
      const std::uint64_t at = next_[bucket]++;
      keys_.put_at(bucket, at, static_cast<Key>(word >> bits_in<Payload>));
      payloads_.put_at(bucket, at + between_, static_cast<Payload>(word));
    }
    void finish(std::uint64_t buckets) const noexcept {
      keys_.finish(buckets);
      for (std::uint64_t b = 0; b < buckets; ++b) next_[b] += between_;
      payloads_.finish(buckets);
    }

   private:
    line_buckets<Key> keys_;
    line_buckets<Payload> payloads_;
    std::uint64_t* next_;
    std::uint64_t between_;  // wraps around where it would be below 0
  };

 private:
  Key* keys_ = nullptr;
  Payload* payloads_ = nullptr;
};

/// Bits of words that a pass goes by.
struct pass_digit {
  std::uint32_t shift = 0;
  std::uint32_t bits = 1;

  std::uint64_t buckets() const noexcept { return std::uint64_t{1} << bits; }
};

/// What a part, or all, of the words of a range are like.
template <class Word>
struct range_order {
  Word first = 0;
  Word last = 0;
  Word differing = 0;
  bool ascends = true;
  bool descends = true;  ///< and no two words are equal

  /// The same with a range that follows.
  void add(const range_order& behind) noexcept {
    differing = static_cast<Word>(differing | behind.differing | (first ^ behind.first));
    ascends = ascends && behind.ascends && last <= behind.first;
    descends = descends && behind.descends && last > behind.first;
    last = behind.last;
  }
};

static_assert(sizeof(range_order<word128>) <= line_bytes);

/// Looks at words [begin, end), of which there is one, under the mask, and counts their digits.
template <class Word>
range_order<Word> count_words(const word_reader<Word>& words, std::uint64_t begin, std::uint64_t end, Word mask,
                              pass_digit digit, std::uint64_t* counts) noexcept {
  Word room[block_words];
  range_order<Word> order;
  const digit_reader<Word> bucket(digit.shift, digit.bits);
  for_each_word_block(begin, end, [&](std::uint64_t first, std::uint64_t count) {
    const Word* const block = words.read_keys(first, count, room);
    range_order<Word> here;
    here.first = static_cast<Word>(block[0] & mask);
    here.last = static_cast<Word>(block[count - 1] & mask);
    Word differing = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      differing = static_cast<Word>(differing | (block[i] ^ block[0]));
      ++counts[bucket.of(block[i])];
    }
    here.differing = static_cast<Word>(differing & mask);
    if (order.ascends) here.ascends = order_of(block, count, mask).ascends;
    if (order.descends) here.descends = falls_strictly(block, count, mask);
    if (first == begin) {
      order = here;
    } else {
      order.add(here);
    }
  });
  return order;
}

/// Moves words [begin, end) to where the writer's buckets have room.
template <class Word, class Writer>
void move_words_by_digit(const word_reader<Word>& words, std::uint64_t begin, std::uint64_t end, pass_digit digit,
                         const Writer& to) noexcept {
  Word room[block_words];
  const digit_reader<Word> bucket(digit.shift, digit.bits);
  for_each_word_block(begin, end, [&](std::uint64_t first, std::uint64_t count) {
    const Word* const block = words.read(first, count, room);
    const Writer writer = to;
    for (std::uint64_t i = 0; i < count; ++i) writer.put(bucket.of(block[i]), block[i]);
  });
  to.finish(digit.buckets());
}

/// Calls body(maker, array) with what makes the words of a sort, and with an array, without memory, as they lie in.
template <class Body>
void with_words(const primitives::sort_problem& p, const primitives::sort_buffers& b, const sort_shape& s, Body body) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (s.moves == sort_moves::index) {
    if (s.word_bytes == 8) return body(index_words<u64>(p, b, s), word_array<u64>());
    return body(index_words<word128>(p, b, s), word_array<word128>());
  }
  if (s.moves == sort_moves::payload) {
    if (s.word_bytes == 8) return body(payload_words<u64>(p, b, s), pair_array<u64, u32, u32>());
    const payload_words<word128> maker(p, b, s);
    if (s.key_bytes == 4) return body(maker, pair_array<word128, u32, u64>());
    if (s.payload_bytes == 4) return body(maker, pair_array<word128, u64, u32>());
    return body(maker, pair_array<word128, u64, u64>());
  }
  switch (s.word_bytes) {
    case 1: return body(row_words<std::uint8_t>(p, b), word_array<std::uint8_t>());
    case 2: return body(row_words<std::uint16_t>(p, b), word_array<std::uint16_t>());
    case 4: return body(row_words<u32>(p, b), word_array<u32>());
    case 8: return body(row_words<u64>(p, b), word_array<u64>());
    default: return body(row_words<word128>(p, b), word_array<word128>());
  }
}

}  // namespace sheaf::cpu
