#pragma once

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/words.hpp"

// Sorts of what is in order, or in the opposite order, are copies.
namespace sheaf::cpu {

enum class order_of_keys : std::uint8_t { none, ascending, descending };

/// Whether the processor compares numbers of 8 bytes in vectors.
bool compares_in_vectors() noexcept;
/// Whether `pairs` + 1 rows of 8 bytes ascend, with flips[1] of the bits of negative ones flipped, flips[0] of others.
/// Only where compares_in_vectors().
bool ascends_in_vectors(const std::byte* rows, std::uint64_t pairs, const std::uint64_t (&flips)[2]) noexcept;

/// Whether none of `pairs` pairs of neighbours, as numbers, is wrong.
template <class Row, class NumberOf, class IsWrong>
bool none_is_wrong(const std::byte* rows, std::uint64_t pairs, NumberOf number_of, IsWrong is_wrong) noexcept {
  std::uint32_t wrong = 0;
  if constexpr (sizeof(Row) == 4) {  // compared in vectors
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const Row a = number_of(load_word<Row>(rows + i * sizeof(Row)));
      const Row b = number_of(load_word<Row>(rows + (i + 1) * sizeof(Row)));
      wrong |= is_wrong(a, b) ? 1U : 0U;
    }
  } else {
    Row a = number_of(load_word<Row>(rows));
    for (std::uint64_t i = 1; i <= pairs; ++i) {
      const Row b = number_of(load_word<Row>(rows + i * sizeof(Row)));
      wrong |= is_wrong(a, b) ? 1U : 0U;
      a = b;
    }
  }
  return wrong == 0;
}

/// The order of rows that are their own keys: they ascend, or descend with no two equal. ascends(from, pairs) and
/// descends(from, pairs) say so of pairs of neighbours. Of rows in no order it mostly reads a few. Rows are copied to
/// `copies`, unless null, as far as they ascend, while they are in the cache: all of them if all ascend.
template <class Row, class Ascends, class Descends>
order_of_keys order_of_blocks(const std::byte* rows, std::uint64_t count, std::byte* copies, Ascends ascends,
                              Descends descends) noexcept {
  constexpr std::uint64_t first_look = 8;
  constexpr std::uint64_t look = 256;
  bool all_ascend = true;
  bool all_descend = true;
  for (std::uint64_t first = 0; first + 1 < count && (all_ascend || all_descend);) {
    const std::uint64_t pairs = std::min(first == 0 ? first_look : look, count - 1 - first);
    const std::byte* const from = rows + first * sizeof(Row);
    // After the first look one order is left, or none.
    all_ascend = all_ascend && ascends(from, pairs);
    all_descend = all_descend && descends(from, pairs);
    if (all_ascend && copies != nullptr) std::memcpy(copies + first * sizeof(Row), from, pairs * sizeof(Row));
    first += pairs;
  }
  if (all_ascend && copies != nullptr && count > 0) {
    std::memcpy(copies + (count - 1) * sizeof(Row), rows + (count - 1) * sizeof(Row), sizeof(Row));
  }
  return all_ascend ? order_of_keys::ascending : all_descend ? order_of_keys::descending : order_of_keys::none;
}

/// Likewise by number_of(row).
template <class Row, class NumberOf>
order_of_keys order_of(const std::byte* rows, std::uint64_t count, std::byte* copies, NumberOf number_of) noexcept {
  return order_of_blocks<Row>(
      rows, count, copies,
      [&](const std::byte* from, std::uint64_t pairs) {
        return none_is_wrong<Row>(from, pairs, number_of, [](Row a, Row b) { return a > b; });
      },
      [&](const std::byte* from, std::uint64_t pairs) {
        return none_is_wrong<Row>(from, pairs, number_of, [](Row a, Row b) { return a <= b; });
      });
}

template <class Row>
order_of_keys order_of(const std::byte* rows, const key_field& key, std::uint64_t count, std::byte* copies) noexcept {
  const ordered_word<Row> order(key, 0, sizeof(Row), true);
  if constexpr (sizeof(Row) == 8) {
    if (!order.swaps && compares_in_vectors()) {
      return order_of_blocks<Row>(
          rows, count, copies,
          [&](const std::byte* from, std::uint64_t pairs) { return ascends_in_vectors(from, pairs, order.flips); },
          [&](const std::byte* from, std::uint64_t pairs) {
            return none_is_wrong<Row>(
                from, pairs, [&](Row row) { return order.to_number(row); }, [](Row a, Row b) { return a <= b; });
          });
    }
  }
  // Loops that the compiler knows more of.
  if (order.changes_nothing()) return order_of<Row>(rows, count, copies, [](Row row) { return row; });
  if (!order.swaps && order.flips[0] == order.flips[1]) {
    return order_of<Row>(rows, count, copies,
                         [flips = order.flips[0]](Row row) { return static_cast<Row>(row ^ flips); });
  }
  return order_of<Row>(rows, count, copies, [order](Row row) { return order.to_number(row); });
}

/// Records in their order, or from the last one on.
inline void copy_in_order(const_records in, records out, std::uint64_t count, bool backwards) noexcept {
  const std::uint64_t bytes = in.record_bytes;
  if (!backwards && in.stride_bytes == bytes && out.stride_bytes == bytes) {
    std::memcpy(out.data, in.data, count * bytes);
    return;
  }
  const auto copy = [&](auto width) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t from = backwards ? count - 1 - i : i;
      std::memcpy(out.data + i * out.stride_bytes, in.data + from * in.stride_bytes, width);
    }
  };
  if (bytes == 4) return copy(std::integral_constant<std::uint64_t, 4>{});
  if (bytes == 8) return copy(std::integral_constant<std::uint64_t, 8>{});
  copy(bytes);
}

/// Sorts where keys that are whole rows of 4 or 8 bytes without gaps are in order or in the opposite one.
/// @return whether it did; else only rows may have been written that the sort writes again
inline bool sort_what_is_in_order(const primitives::sort_problem& problem,
                                  const primitives::sort_buffers& buffers) noexcept {
  const std::uint64_t bytes = problem.rows.record_bytes;
  const bool are_keys =
      problem.key.field_count == 1 && problem.key.fields[0].bytes == bytes && problem.key.bits == 8 * bytes;
  if (!are_keys || (bytes != 4 && bytes != 8) || buffers.in.stride_bytes != bytes) return false;
  const key_field& key = problem.key.fields[0];
  const bool is_index = problem.product == primitives::sort_product::gather_index;
  std::byte* const copies =
      !is_index && problem.writes_rows && buffers.out.stride_bytes == bytes ? buffers.out.data : nullptr;
  const order_of_keys order = bytes == 4 ? order_of<std::uint32_t>(buffers.in.data, key, problem.count, copies)
                                         : order_of<std::uint64_t>(buffers.in.data, key, problem.count, copies);
  if (order == order_of_keys::none) return false;
  const bool backwards = order == order_of_keys::descending;
  if (is_index) {
    write_numbers(problem, buffers, 0, problem.count,
                  [backwards, last = problem.count - 1](std::uint64_t i) { return backwards ? last - i : i; });
    return true;
  }
  if (problem.writes_rows && (backwards || copies == nullptr))
    copy_in_order(buffers.in, buffers.out, problem.count, backwards);
  for (std::uint32_t c = 0; c < problem.column_count; ++c) {
    copy_in_order(buffers.columns[c].in, buffers.columns[c].out, problem.count, backwards);
  }
  return true;
}

}  // namespace sheaf::cpu
