#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/sort/encoder.hpp"
#include "cpu/threads/cache_hints.hpp"

namespace sheaf::cpu {

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
