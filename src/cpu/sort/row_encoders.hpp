#pragma once

#include "cpu/movement/record_copy.hpp"
#include "cpu/sort/encoder.hpp"
#include "cpu/sort/encoding.hpp"
#include "cpu/sort/key_reader.hpp"
#include "cpu/sort/words.hpp"
#include "cpu/threads/cache_hints.hpp"

namespace sheaf::cpu {

/// Encodes rows that are one word themselves: the word is the row with its field mapped to an ordered number.
template <class Word>
class row_encoder final : public word_encoder<Word> {
 public:
  row_encoder(const primitives::sort_problem& p, const primitives::sort_buffers& b) noexcept
      : in_(b.in),
        out_(b.out),
        order_(p.key.fields[0], static_cast<std::uint32_t>(p.key.fields[0].offset), p.key.fields[0].bytes, true),
        reads_in_place_(order_.changes_nothing() && std::endian::native == std::endian::little &&
                        in_.stride_bytes == sizeof(Word) &&
                        reinterpret_cast<std::uintptr_t>(in_.data) % alignof(Word) == 0) {}

  const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    if (reads_in_place_) return reinterpret_cast<const Word*>(in_.data) + first;
    encode(first, count, 0, buffer);
    return buffer;
  }
  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    const ordered_word<Word> order = order_;
    const std::byte* const from = in_.data + first * in_.stride_bytes;
    if (in_.stride_bytes == sizeof(Word) && order.changes_nothing() && std::endian::native == std::endian::little) {
      std::memcpy(to, from, count * sizeof(Word));
      return;
    }
    with_stride<sizeof(Word)>(in_.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) to[i] = order.to_number(load_word<Word>(from + i * stride));
    });
  }
  /// The row that a word stands for, as it lies in memory.
  Word row_of(Word number) const noexcept {
    Word row;
    store_word(reinterpret_cast<std::byte*>(&row), order_.from_number(number));
    return row;
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    const ordered_word<Word> order = order_;
    std::byte* const to = out_.data + first * out_.stride_bytes;
    if (out_.stride_bytes == sizeof(Word) && order.changes_nothing() && std::endian::native == std::endian::little) {
      if (static_cast<const void*>(to) != words) std::memcpy(to, words, count * sizeof(Word));
      return;
    }
    with_stride<sizeof(Word)>(out_.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * stride, order.from_number(words[i]));
    });
  }

 private:
  const_records in_;
  records out_;
  ordered_word<Word> order_;
  bool reads_in_place_;
};

/// Encodes a key's number in the high bits of a word and a payload, one value or a whole row, in the low bits. Word has
/// 64 bits if key and payload take 4 bytes each, else 128.
template <class Word>
class payload_encoder final : public word_encoder<Word> {
 public:
  payload_encoder(const primitives::sort_problem& problem, const primitives::sort_buffers& buffers,
                  const word_encoding& encoding) noexcept
      : keys_(buffers.in),
        payload_(encoding.payload_is_row ? buffers.in : buffers.columns[0].in),
        payload_out_(encoding.payload_is_row ? buffers.out : buffers.columns[0].out),
        keys_out_(!encoding.payload_is_row && problem.writes_rows ? buffers.out : records()),
        key_(problem.key, 0, problem.key.bits),
        lowest_key_bit_(encoding.lowest_key_bit) {
    if (keys_out_.data == nullptr) return;
    const key_field& f = problem.key.fields[0];  // the field is the whole row, and no wider than 8 bytes
    key_order_ = ordered_word<std::uint64_t>(f, 0, f.bytes, true);
    if (f.type == key_type::bytes) key_shift_ = 64 - 8 * f.bytes;
  }

  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t block_count) {
      put_keys(begin, block_count, to + (begin - first));
      with_unsigned_of(payload_.record_bytes, [&, to = to + (begin - first)](auto number) {
        using value = decltype(number);
        const std::byte* const from = payload_.data + begin * payload_.stride_bytes;
        with_stride<sizeof(value)>(payload_.stride_bytes, [&](auto stride) {
          for (std::uint64_t i = 0; i < block_count; ++i) to[i] |= load_word<value>(from + i * stride);
        });
      });
    });
  }
  const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t block_count) {
      put_keys(begin, block_count, buffer + (begin - first));
    });
    return buffer;
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    with_unsigned_of(payload_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = payload_out_.data + first * payload_out_.stride_bytes;
      with_stride<sizeof(value)>(payload_out_.stride_bytes, [&](auto stride) {
        for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * stride, static_cast<value>(words[i]));
      });
    });
    if (keys_out_.data == nullptr) return;
    with_unsigned_of(keys_out_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = keys_out_.data + first * keys_out_.stride_bytes;
      const ordered_word<std::uint64_t> order = key_order_;
      const std::uint32_t low = lowest_key_bit_, shift = key_shift_;
      with_stride<sizeof(value)>(keys_out_.stride_bytes, [&](auto stride) {
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::uint64_t key = static_cast<std::uint64_t>(words[i] >> low) << shift;
          store_word(to + i * stride, static_cast<value>(order.from_number(key)));
        }
      });
    });
  }

 private:
  /// The keys of a block's rows, in place.
  void put_keys(std::uint64_t first, std::uint64_t count, Word* to) const noexcept {
    std::uint64_t numbers[block_words];
    key_.read(keys_.data + first * keys_.stride_bytes, keys_.stride_bytes, count, numbers);
    const std::uint32_t low = lowest_key_bit_;
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(Word{numbers[i]} << low);
  }

  const_records keys_;
  const_records payload_;
  records payload_out_;
  records keys_out_;  ///< null if the caller wants no keys, or if rows are the payload
  key_reader key_;
  ordered_word<std::uint64_t> key_order_;  ///< maps numbers back to keys
  std::uint32_t key_shift_ = 0;            ///< bits by which a number is shifted up to be mapped back
  std::uint32_t lowest_key_bit_;
};

/// Encodes key bits in the high bits of a word and the row's number in the low bits. Rows and values are gathered when
/// their order is known.
template <class Word>
class index_encoder final : public word_encoder<Word> {
 public:
  index_encoder(const primitives::sort_problem& problem, const primitives::sort_buffers& b,
                const word_encoding& encoding) noexcept
      : problem_(problem),
        buffers_(b),
        lowest_key_bit_(encoding.lowest_key_bit),
        words_hold_rows_(words_hold_rows(problem, encoding)) {
    for (std::uint32_t round = 0; round < encoding.rounds; ++round) {
      const std::uint32_t from = round * encoding.key_bits;
      round_keys_[round] = key_reader(problem.key, from, std::min(encoding.key_bits, problem.key.bits - from));
    }
  }

  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t round, Word* to) const noexcept override {
    round_keys_[round].read(buffers_.in.data + first * buffers_.in.stride_bytes, buffers_.in.stride_bytes, count, to);
    const std::uint32_t up = lowest_key_bit_;
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(to[i] << up) | (first + i);
  }
  void encode_round(Word* words, std::uint64_t count, std::uint32_t round) const noexcept override {
    const key_reader& key = round_keys_[round];
    const std::uint64_t distance = prefetch_distance_of(problem_.rows.record_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) prefetch_row(buffers_.in, words[i + distance]);
      const std::uint64_t row = row_number(words[i]);
      words[i] = static_cast<Word>(key.template of<Word>(buffers_.in.data + row * buffers_.in.stride_bytes)
                                   << lowest_key_bit_) |
                 row;
    }
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    if (problem_.product == primitives::sort_product::gather_index) {
      const Word numbers = low_bits<Word>(lowest_key_bit_);
      return write_numbers(problem_, buffers_, first, count, [=](std::uint64_t i) { return words[i] & numbers; });
    }
    if (problem_.writes_rows && words_hold_rows_) {
      with_unsigned_of(problem_.rows.record_bytes, [&](auto row) { decode_rows<decltype(row)>(first, count, words); });
    } else if (problem_.writes_rows) {
      gather_rows(buffers_.in, buffers_.out, first, count, words);
    }
    for (std::uint32_t c = 0; c < problem_.column_count; ++c)
      gather_rows(buffers_.columns[c].in, buffers_.columns[c].out, first, count, words);
  }

 private:
  std::uint64_t row_number(Word word) const noexcept {
    return static_cast<std::uint64_t>(word & low_bits<Word>(lowest_key_bit_));
  }
  // Rows that are their own key need not be fetched: the key bits of a word are the row in another form.
  template <class Row>
  void decode_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept {
    const ordered_word<Row> order(problem_.key.fields[0], 0, sizeof(Row), true);
    const std::uint32_t down = lowest_key_bit_;
    std::byte* const to = buffers_.out.data + first * buffers_.out.stride_bytes;
    with_stride<sizeof(Row)>(buffers_.out.stride_bytes, [&](auto stride) {
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

  const primitives::sort_problem& problem_;
  const primitives::sort_buffers& buffers_;
  std::uint32_t lowest_key_bit_;
  bool words_hold_rows_;  ///< a word's key bits are the whole row
  std::array<key_reader, most_rounds> round_keys_;
};

}  // namespace sheaf::cpu
