#pragma once

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/encoding.hpp"
#include "cpu/sort/words.hpp"

namespace sheaf::cpu {

/// Most rows that are packed: values of more do not stay in a core's caches, and index_encoder asks for them ahead of
/// time.
constexpr std::uint64_t most_packed_rows = std::uint64_t{1} << 20;

/// What index_encoder does for the usual rows: keys of 4 or 8 bytes side by side, with one array of values of 4 or 8
/// bytes side by side, or for an index. A word is the key as a Number and below it the row's number, which has
/// as many bits. So shifts are known, and a block takes half the time.
template <class Number>
class packed_encoder final : public word_encoder<std::conditional_t<sizeof(Number) == 4, std::uint64_t, word128>> {
 public:
  using word = std::conditional_t<sizeof(Number) == 4, std::uint64_t, word128>;

  /// Whether a problem has such rows.
  static bool takes(const primitives::sort_problem& problem) noexcept {
    const auto is_dense = [](const primitives::sorted_array& a) {
      return a.in_stride_bytes == a.record_bytes && a.out_stride_bytes == a.record_bytes;
    };
    if (!key_is_row(problem) || problem.rows.record_bytes != sizeof(Number) ||
        problem.rows.in_stride_bytes != sizeof(Number)) {
      return false;
    }
    if (problem.product == primitives::sort_product::gather_index) return true;
    if (problem.column_count != 1 || (problem.writes_rows && !is_dense(problem.rows))) return false;
    const primitives::sorted_array& values = problem.columns[0];
    return is_dense(values) && (values.record_bytes == 4 || values.record_bytes == 8);
  }

  packed_encoder(const primitives::sort_problem& p, const primitives::sort_buffers& b) noexcept
      : problem_(p), buffers_(b), order_(p.key.fields[0], 0, sizeof(Number), true) {}

  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t, word* to) const noexcept override {
    const std::byte* const from = buffers_.in.data + first * sizeof(Number);
    const auto pack = [&](auto number_of) {
      for (std::uint64_t i = 0; i < count; ++i) {
        to[i] = static_cast<word>(number_of(load_word<Number>(from + i * sizeof(Number)))) << number_bits | (first + i);
      }
    };
    if (order_.changes_nothing()) return pack([](Number key) { return key; });
    pack([order = order_](Number key) { return order.to_number(key); });
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const word* words) const noexcept override {
    if (problem_.product == primitives::sort_product::gather_index) {
      return write_numbers(problem_, buffers_, first, count, [&](std::uint64_t i) { return row_of(words[i]); });
    }
    if (problem_.writes_rows) {
      std::byte* const to = buffers_.out.data + first * sizeof(Number);
      for (std::uint64_t i = 0; i < count; ++i) {
        store_word(to + i * sizeof(Number), order_.from_number(static_cast<Number>(words[i] >> number_bits)));
      }
    }
    problem_.columns[0].record_bytes == 4 ? write_values<std::uint32_t>(first, count, words)
                                          : write_values<std::uint64_t>(first, count, words);
  }

 private:
  static constexpr unsigned number_bits = 8 * sizeof(Number);

  static std::uint64_t row_of(word w) noexcept { return static_cast<Number>(w); }
  template <class Value>
  void write_values(std::uint64_t first, std::uint64_t count, const word* words) const noexcept {
    const std::byte* const from = buffers_.columns[0].in.data;
    std::byte* const to = buffers_.columns[0].out.data + first * sizeof(Value);
    for (std::uint64_t i = 0; i < count; ++i) {
      store_word(to + i * sizeof(Value), load_word<Value>(from + row_of(words[i]) * sizeof(Value)));
    }
  }

  const primitives::sort_problem& problem_;
  const primitives::sort_buffers& buffers_;
  ordered_word<Number> order_;
};

}  // namespace sheaf::cpu
