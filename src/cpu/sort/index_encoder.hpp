#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/sort/encoder.hpp"
#include "cpu/sort/encoding.hpp"
#include "cpu/sort/key_reader.hpp"
#include "cpu/threads/cache_hints.hpp"

namespace sheaf::cpu {

/// Encodes key bits in the high bits of a word and the row's number in the low bits. Rows and values are gathered when
/// their order is known.
template <class Word>
class index_encoder final : public word_encoder<Word> {
 public:
  index_encoder(const primitives::sort_problem& p, const primitives::sort_buffers& b,
                const word_encoding& encoding) noexcept
      : p_(p), b_(b), lowest_key_bit_(encoding.lowest_key_bit), words_hold_rows_(words_hold_rows(p, encoding)) {
    for (std::uint32_t round = 0; round < encoding.rounds; ++round) {
      const std::uint32_t from = round * encoding.key_bits;
      round_keys_[round] = key_reader(p.key, from, std::min(encoding.key_bits, p.key.bits - from));
    }
  }

  const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    encode(first, count, 0, buffer);
    return buffer;
  }
  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t round, Word* to) const noexcept override {
    round_keys_[round].read(b_.in.data + first * b_.in.stride_bytes, b_.in.stride_bytes, count, to);
    const std::uint32_t up = lowest_key_bit_;
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(to[i] << up) | (first + i);
  }
  void encode_round(Word* words, std::uint64_t count, std::uint32_t round) const noexcept override {
    const key_reader& key = round_keys_[round];
    const std::uint64_t distance = prefetch_distance_of(p_.rows.record_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) prefetch_row(b_.in, words[i + distance]);
      const std::uint64_t row = row_number(words[i]);
      words[i] =
          static_cast<Word>(key.template of<Word>(b_.in.data + row * b_.in.stride_bytes) << lowest_key_bit_) | row;
    }
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    if (p_.product == primitives::sort_product::gather_index) {
      with_unsigned_of(bytes(p_.index), [&](auto number) {
        using entry = decltype(number);
        entry* const to = static_cast<entry*>(b_.index.data) + first;
        for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<entry>(row_number(words[i]));
      });
      return;
    }
    if (p_.writes_rows && words_hold_rows_) {
      with_unsigned_of(p_.rows.record_bytes, [&](auto row) { decode_rows<decltype(row)>(first, count, words); });
    } else if (p_.writes_rows) {
      gather_rows(b_.in, b_.out, first, count, words);
    }
    for (std::uint32_t c = 0; c < p_.column_count; ++c)
      gather_rows(b_.columns[c].in, b_.columns[c].out, first, count, words);
  }

 private:
  std::uint64_t row_number(Word word) const noexcept {
    return static_cast<std::uint64_t>(word & low_bits<Word>(lowest_key_bit_));
  }
  // Rows that are their own key need not be fetched: the key bits of a word are the row in another form.
  template <class Row>
  void decode_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept {
    const ordered_word<Row> order(p_.key.fields[0], 0, sizeof(Row), true);
    const std::uint32_t down = lowest_key_bit_;
    std::byte* const to = b_.out.data + first * b_.out.stride_bytes;
    with_stride<sizeof(Row)>(b_.out.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) {
        store_word(to + i * stride, order.from_number(static_cast<Row>(words[i] >> down)));
      }
    });
  }
  void prefetch_row(const_records in, Word word) const noexcept {
    prefetch(in.data, row_number(word) * in.stride_bytes, in.record_bytes);
  }
  void gather_rows(const_records in, records out, std::uint64_t first, std::uint64_t count,
                   const Word* words) const noexcept {
    const auto is_dense = [&](std::uint64_t bytes) {
      return in.record_bytes == bytes && in.stride_bytes == bytes && out.stride_bytes == bytes;
    };
    if (is_dense(4)) return gather_rows_by(dense_layout<4>{}, in, out, first, count, words);
    if (is_dense(8)) return gather_rows_by(dense_layout<8>{}, in, out, first, count, words);
    gather_rows_by(any_layout{in.record_bytes, out.stride_bytes, in.stride_bytes}, in, out, first, count, words);
  }
  template <class Layout>
  void gather_rows_by(const Layout& layout, const_records in, records out, std::uint64_t first, std::uint64_t count,
                      const Word* words) const noexcept {
    const std::uint64_t distance = prefetch_distance_of(in.record_bytes);
    std::byte* const to = out.data + layout.sequential_offset(first);
    for (std::uint64_t i = 0; i < std::min(distance, count); ++i) prefetch_row(in, words[i]);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) prefetch_row(in, words[i + distance]);
      layout.copy(to + layout.sequential_offset(i), in.data + layout.indexed_offset(row_number(words[i])));
    }
  }

  const primitives::sort_problem& p_;
  const primitives::sort_buffers& b_;
  std::uint32_t lowest_key_bit_;
  bool words_hold_rows_;  ///< a word's key bits are the whole row
  std::array<key_reader, most_rounds> round_keys_;
};

}  // namespace sheaf::cpu
