#pragma once

#include "cpu/sort/arrays.hpp"
#include "cpu/sort/encoding.hpp"
#include "cpu/sort/plan.hpp"
#include "cpu/sort/range.hpp"
#include "cpu/sort/row_encoders.hpp"
#include "cpu/threads/huge_pages.hpp"

namespace sheaf::cpu {

/// One call of cpu.msd or cpu.lsd: what plan and encoding decided, and where words lie. Words have three sources, which
/// have numbers: the arrays 0 and 1, between which passes move them, and the caller's rows, which are encoded as they
/// are read.
template <class Array>
struct sort_call {
  using word = typename Array::word;
  static constexpr std::uint32_t encoded_rows = 2;  ///< number of the source that encodes the caller's rows

  const word_encoder<word>& encoder;
  const sort_scratch& layout;
  std::byte* scratch;
  Array arrays[2];
  std::uint64_t count;
  std::uint64_t parts;
  std::uint32_t digit_bits;
  bool streams;
  std::uint32_t lowest_key_bit;
  std::uint32_t rounds;
  word mask;  ///< the key bits of a word

  template <class T>
  T* scratch_at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch + offset);
  }
  pass_scratch<word> tables() const noexcept {
    return {scratch_at<std::uint64_t>(layout.starts), scratch_at<std::uint64_t>(layout.cursors),
            scratch + layout.buffers, scratch_at<range_properties<word>>(layout.properties)};
  }
  const word_reader<word>& words(std::uint32_t source) const noexcept {
    if (source == encoded_rows) return encoder;
    return arrays[source];
  }

  /// Gives the words of a range the key bits of a round, and returns the source that then holds them. Only words with
  /// row numbers (word_content::key_and_index) have several rounds, and these lie in arrays of words.
  std::uint32_t begin_round(word_range range, std::uint64_t range_parts, std::uint32_t source,
                            std::uint32_t round) const {
    if constexpr (Array::holds_words) {
      const std::uint32_t to = source == encoded_rows ? 0 : source;
      for_each_part_of(range, range_parts, [&](word_range part_words, std::uint64_t) {
        word* const words = arrays[to].word_at(part_words.begin);
        if (source == encoded_rows) {
          encoder.encode(part_words.begin, part_words.size(), round, words);
        } else {
          encoder.encode_round(words, part_words.size(), round);
        }
      });
      return to;
    }
    return source;
  }
};

/// Calls body(encoder, array) with the encoder of a sort, and with an empty array of the form in which its words lie in
/// memory.
template <class Body>
void with_encoder(const primitives::sort_problem& problem, const primitives::sort_buffers& buffers,
                  const word_encoding& encoding, Body body) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (encoding.content == word_content::key_and_index) {
    if (encoding.word_bytes == 8) return body(index_encoder<u64>(problem, buffers, encoding), word_array<u64>());
    return body(index_encoder<word128>(problem, buffers, encoding), word_array<word128>());
  }
  if (encoding.content == word_content::key_and_payload) {
    if (encoding.word_bytes == 8)
      return body(payload_encoder<u64>(problem, buffers, encoding), pair_array<u64, u32, u32>());
    const payload_encoder<word128> encoder(problem, buffers, encoding);
    if (encoding.key_bytes == 4) return body(encoder, pair_array<word128, u32, u64>());
    if (encoding.payload_bytes == 4) return body(encoder, pair_array<word128, u64, u32>());
    return body(encoder, pair_array<word128, u64, u64>());
  }
  switch (encoding.word_bytes) {
    case 1: return body(row_encoder<std::uint8_t>(problem, buffers), word_array<std::uint8_t>());
    case 2: return body(row_encoder<std::uint16_t>(problem, buffers), word_array<std::uint16_t>());
    case 4: return body(row_encoder<u32>(problem, buffers), word_array<u32>());
    case 8: return body(row_encoder<u64>(problem, buffers), word_array<u64>());
    default: return body(row_encoder<word128>(problem, buffers), word_array<word128>());
  }
}

/// Calls body with the sort_call of a planned problem.
template <class Body>
void with_sort_call(const primitives::sort_problem& problem, const plan::planned& plan,
                    const primitives::sort_buffers& buffers, std::byte* scratch, Body body) {
  const auto decided = plan.decided.get<sort_decision>();
  const word_encoding& encoding = decided.encoding;
  const sort_scratch& layout = decided.layout;
  ask_for_huge_pages(scratch, layout.bytes);
  with_encoder(problem, buffers, encoding, [&](const auto& encoder, auto array) {
    using Array = decltype(array);
    body(sort_call<Array>{
        .encoder = encoder,
        .layout = layout,
        .scratch = scratch,
        .arrays = {Array::in_scratch(scratch + layout.words[0], problem.count),
                   encoding.out_holds_words ? Array::in_outputs(buffers)
                                            : Array::in_scratch(scratch + layout.words[1], problem.count)},
        .count = problem.count,
        .parts = decided.parts,
        .digit_bits = decided.digit_bits,
        .streams = decided.streams,
        .lowest_key_bit = encoding.lowest_key_bit,
        .rounds = encoding.rounds,
        .mask = bits_at<typename Array::word>(encoding.lowest_key_bit, encoding.key_bits),
    });
  });
}

}  // namespace sheaf::cpu
