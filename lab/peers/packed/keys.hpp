#pragma once

#include "lab/peers/sort_host.hpp"

// Sorts of numbers by libraries that sort plain numbers fast, on one thread, and know no values. What has values beside
// its keys is packed: the key as an unsigned number of the same order, with the row's number below it. All such numbers
// differ, so that any sort of them is stable; the values are collected afterwards. A Sorter has
//   name,
//   sort(first, last) of numbers of 4 and 8 bytes, and of wide_word,
//   sorts_floats, whether floating numbers are among them (others are sorted as unsigned ones of their order), and
//   wide_word, a number of 16 bytes with members lo and hi, if it sorts such numbers.
namespace sheaf::bench::peers::host {

/// An unsigned number of the order of the keys, and back.
template <class Key>
struct ordered_key {
  using word = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;
  static constexpr word sign = word{1} << (8 * sizeof(Key) - 1);

  static word of(Key key) {
    const word bits = std::bit_cast<word>(key);
    if constexpr (std::is_floating_point_v<Key>) return (bits & sign) != 0 ? ~bits : bits | sign;
    return std::is_signed_v<Key> ? bits ^ sign : bits;
  }
  static Key back(word order) {
    if constexpr (std::is_floating_point_v<Key>) return std::bit_cast<Key>((order & sign) != 0 ? order ^ sign : ~order);
    return std::bit_cast<Key>(std::is_signed_v<Key> ? order ^ sign : order);
  }
};

/// How a key of a width is packed with a number: in a word of 8 bytes, or in the sorter's own type of 16.
template <class Sorter, class Key>
struct packing {
  using packed = std::uint64_t;
  static packed of(Key key, std::uint64_t number) { return std::uint64_t{ordered_key<Key>::of(key)} << 32 | number; }
  static Key key(packed p) { return ordered_key<Key>::back(static_cast<std::uint32_t>(p >> 32)); }
  static std::uint64_t number(packed p) { return p & 0xffffffffU; }
};
template <class Sorter, class Key>
requires(sizeof(Key) == 8) struct packing<Sorter, Key> {
  using packed = typename Sorter::wide_word;
  static packed of(Key key, std::uint64_t number) { return {number, ordered_key<Key>::of(key)}; }
  static Key key(packed p) { return ordered_key<Key>::back(p.hi); }
  static std::uint64_t number(packed p) { return p.lo; }
};

/// Writes what a row wants of the packed keys in their order.
template <class Packing, class Key>
void unpack(const problem& problem, const workspace& arrays, std::uint64_t copy,
            std::span<const typename Packing::packed> sorted) {
  if (problem.primitive == "sort_gather_index") {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(arrays.target(copy).data);
    for (std::uint64_t i = 0; i < problem.count; ++i)
      numbers[i] = static_cast<std::uint32_t>(Packing::number(sorted[i]));
    return;
  }
  auto* const keys_out = reinterpret_cast<Key*>(arrays.sorted_keys(copy).data);
  const auto collect = [&]<class Value>(std::type_identity<Value>) {
    const auto* const values = reinterpret_cast<const Value*>(arrays.source(copy).data);
    auto* const values_out = reinterpret_cast<Value*>(arrays.target(copy).data);
    for (std::uint64_t i = 0; i < problem.count; ++i) {
      keys_out[i] = Packing::key(sorted[i]);
      values_out[i] = values[Packing::number(sorted[i])];
    }
  };
  problem.record_bytes == 4 ? collect(std::type_identity<std::uint32_t>{})
                            : collect(std::type_identity<std::uint64_t>{});
}

template <class Sorter, class Key>
contender packed_sort(const problem& problem, const workspace& arrays) {
  using packed_as = packing<Sorter, Key>;
  using packed = typename packed_as::packed;
  const std::uint64_t scratch_bytes = problem.count * sizeof(packed);
  return peer(Sorter::name, scratch_bytes, [problem, &arrays, scratch_bytes](std::uint64_t copy) {
    const auto* const keys = reinterpret_cast<const Key*>(arrays.keys(copy).data);
    const auto all = elements<packed>(arrays.scratch(scratch_bytes), problem.count);
    for (std::uint64_t i = 0; i < problem.count; ++i) all[i] = packed_as::of(keys[i], i);
    Sorter::sort(all.data(), all.data() + all.size());
    unpack<packed_as, Key>(problem, arrays, copy, all);
  });
}

template <class Sorter, class Key>
contender plain_sort(const problem& problem, const workspace& arrays) {
  return peer(Sorter::name, 0, [problem, &arrays](std::uint64_t copy) {
    const auto* const keys = reinterpret_cast<const Key*>(arrays.source(copy).data);
    if constexpr (std::is_floating_point_v<Key> && !Sorter::sorts_floats) {
      using order = ordered_key<Key>;
      auto* const words = reinterpret_cast<typename order::word*>(arrays.target(copy).data);
      std::transform(keys, keys + problem.count, words, order::of);
      Sorter::sort(words, words + problem.count);
      auto* const out = reinterpret_cast<Key*>(words);
      for (std::uint64_t i = 0; i < problem.count; ++i) out[i] = order::back(words[i]);
    } else {
      auto* const out = reinterpret_cast<Key*>(arrays.target(copy).data);
      std::copy(keys, keys + problem.count, out);
      Sorter::sort(out, out + problem.count);
    }
  });
}

/// The sorter's contender for keys of 4 and 8 bytes, alone, with values of 4 or 8 bytes, or for their index; of keys of
/// 8 bytes with something beside them only where the sorter has a wide_word.
template <class Sorter>
std::vector<contender> sorts_of_numbers(const problem& problem, const workspace& arrays) {
  const bool is_index = problem.primitive == "sort_gather_index" && problem.record_bytes == 4;
  const bool is_pair = problem.primitive == "sort_pairs" && (problem.record_bytes == 4 || problem.record_bytes == 8);
  const bool is_alone = problem.primitive == "sort_keys";
  if (!whole_key_decides(problem) || problem.count > 0xffffffffU || !(is_index || is_pair || is_alone)) return {};
  return with_key_type(problem, [&]<class Key>(std::type_identity<Key>) -> std::vector<contender> {
    if constexpr (std::is_arithmetic_v<Key> && sizeof(Key) <= 8) {
      if (is_alone) return {plain_sort<Sorter, Key>(problem, arrays)};
      constexpr bool is_packed = sizeof(Key) == 4 || requires { typename Sorter::wide_word; };
      if constexpr (is_packed) return {packed_sort<Sorter, Key>(problem, arrays)};
    }
    return {};
  });
}

}  // namespace sheaf::bench::peers::host
