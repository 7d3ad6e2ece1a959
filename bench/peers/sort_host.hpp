#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "bench/peers/sort.hpp"
#include "bench/primitives/sort_source.hpp"

// The sorts of a library for the CPU, with everything around it that its users would write. A Sorter has
//   sort(first, last, less), which need not be stable, stable_sort(first, last, less) where is_stable, and
//   over_ranges(count, body), which calls body(begin, end) for parts that make up 0 to count.
namespace sheaf::bench::peers::host {

/// An unsigned number of 96 bits, as a user's struct has it.
struct key96 {
  std::array<std::uint32_t, 3> word;  // lowest first
  friend bool operator<(const key96& a, const key96& b) {
    if (a.word[2] != b.word[2]) return a.word[2] < b.word[2];
    if (a.word[1] != b.word[1]) return a.word[1] < b.word[1];
    return a.word[0] < b.word[0];
  }
};

/// Calls body(std::type_identity<Key>) with the type of the row's keys; nothing for one that no peer is built for.
template <class Body>
std::vector<contender> with_key_type(const problem& p, Body body) {
  switch (p.number) {
    case key_type::unsigned_integer:
      switch (p.key_bytes) {
        case 4: return body(std::type_identity<std::uint32_t>{});
        case 8: return body(std::type_identity<std::uint64_t>{});
        case 12: return body(std::type_identity<key96>{});
        case 16: return body(std::type_identity<key_word128>{});
        default: return {};
      }
    case key_type::signed_integer:
      if (p.key_bytes == 4) return body(std::type_identity<std::int32_t>{});
      return p.key_bytes == 8 ? body(std::type_identity<std::int64_t>{}) : std::vector<contender>{};
    case key_type::floating:
      return p.key_bytes == 4 ? body(std::type_identity<float>{}) : body(std::type_identity<double>{});
    case key_type::bytes: return {};
  }
  return {};
}

inline contender peer(const char* who, std::uint64_t scratch_bytes, std::function<void(std::uint64_t)> queue) {
  return {.who = who, .scratch_bytes = scratch_bytes, .queue = std::move(queue), .wait = [] {}};
}

template <class Element>
std::span<Element> elements(std::byte* first, std::uint64_t count) {
  return {reinterpret_cast<Element*>(first), count};
}

template <class Sorter, class Element>
void copy(const Sorter& with, std::span<const Element> from, Element* to) {
  with.over_ranges(from.size(), [&](std::uint64_t begin, std::uint64_t end) {
    std::copy(from.begin() + begin, from.begin() + end, to + begin);
  });
}

/// Elements of equal keys in the order of the input: as the sorter does it, or by their number.
template <class Sorter, class Element, class Less, class Number>
void sort_in_order(const Sorter& with, std::span<Element> all, Less less, Number number) {
  Element* const first = all.data();
  Element* const last = first + all.size();
  if constexpr (Sorter::is_stable) {
    with.stable_sort(first, last, less);
  } else {
    with.sort(first, last, [=](const Element& a, const Element& b) {
      if (less(a, b)) return true;
      return !less(b, a) && number(a) < number(b);
    });
  }
}

template <class Sorter, class Key>
contender key_sort(const Sorter& with, const problem& p, const workspace& arrays) {
  return peer(Sorter::name_of_sort, p.count * sizeof(Key), [with, p, &arrays](std::uint64_t at) {
    const auto out = elements<Key>(arrays.target(at).data, p.count);
    copy<Sorter, Key>(with, elements<Key>(arrays.source(at).data, p.count), out.data());
    with.sort(out.data(), out.data() + out.size(), std::less<Key>{});
  });
}

/// By some bits: without numbers beside the keys only a stable sort keeps the order of equal ones.
template <class Sorter, class Key>
contender bits_sort(const Sorter& with, const problem& p, const workspace& arrays) {
  return peer(Sorter::name_of_stable_sort, p.count * sizeof(Key), [with, p, &arrays](std::uint64_t at) {
    const auto mask = static_cast<Key>(static_cast<Key>(low_ones(p.bits)) << p.first_bit);
    const auto out = elements<Key>(arrays.target(at).data, p.count);
    copy<Sorter, Key>(with, elements<Key>(arrays.source(at).data, p.count), out.data());
    with.stable_sort(out.data(), out.data() + out.size(), [mask](Key a, Key b) { return (a & mask) < (b & mask); });
  });
}

/// Keys and values put side by side, sorted, and taken apart again. Values hold their number in their first bytes.
template <class Sorter, class Key, class Value>
contender pair_sort(const Sorter& with, const problem& p, const workspace& arrays) {
  struct pair {
    Key key;
    Value value;
  };
  const std::uint64_t scratch_bytes = p.count * sizeof(pair);
  return peer(Sorter::name_of_stable_sort, 2 * scratch_bytes, [with, p, &arrays, scratch_bytes](std::uint64_t at) {
    const auto* const keys = reinterpret_cast<const Key*>(arrays.keys(at).data);
    const auto* const values = reinterpret_cast<const Value*>(arrays.source(at).data);
    auto* const keys_out = reinterpret_cast<Key*>(arrays.sorted_keys(at).data);
    auto* const values_out = reinterpret_cast<Value*>(arrays.target(at).data);
    const auto all = elements<pair>(arrays.scratch(scratch_bytes), p.count);
    with.over_ranges(p.count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) all[i] = {keys[i], values[i]};
    });
    const Key mask = static_cast<Key>(static_cast<Key>(low_ones(p.bits)) << p.first_bit);
    sort_in_order(
        with, all, [mask](const pair& a, const pair& b) { return (a.key & mask) < (b.key & mask); },
        [](const pair& a) {
          std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t> number;
          std::memcpy(&number, &a.value, sizeof number);
          return number;
        });
    with.over_ranges(p.count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        keys_out[i] = all[i].key;
        values_out[i] = all[i].value;
      }
    });
  });
}

/// Rows that are sorted as they are: 8 bytes of key, then their number.
template <std::size_t Bytes>
struct alignas(8) short_row {
  std::uint64_t key;
  std::uint64_t number;
  std::array<std::byte, Bytes - 16> rest;
};
template <>
struct short_row<16> {
  std::uint64_t key;
  std::uint64_t number;
};

struct shortest_row {
  std::uint32_t key;
  std::uint32_t number;
};

template <class Sorter, class Row>
contender row_sort(const Sorter& with, const problem& p, const workspace& arrays) {
  return peer(Sorter::name_of_stable_sort, p.count * sizeof(Row), [with, p, &arrays](std::uint64_t at) {
    const auto out = elements<Row>(arrays.target(at).data, p.count);
    copy<Sorter, Row>(with, elements<Row>(arrays.source(at).data, p.count), out.data());
    sort_in_order(
        with, out, [](const Row& a, const Row& b) { return a.key < b.key; }, [](const Row& a) { return a.number; });
  });
}

/// The key of a row that stays where it is, and the row's number.
struct row_key {
  std::uint64_t high;
  std::uint32_t number;
  std::uint16_t low;
};

/// Numbers of up to 8 bytes, and up to 10 bytes that compare from the first to the last.
inline row_key row_key_of(const std::byte* key, const problem& p, std::uint64_t i) {
  row_key k{0, static_cast<std::uint32_t>(i), 0};
  std::memcpy(&k.high, key, std::min<std::uint64_t>(8, p.key_bytes));
  if (p.number != key_type::bytes) return k;
  k.high = __builtin_bswap64(k.high);
  if (p.key_bytes > 8) std::memcpy(&k.low, key + 8, std::min<std::uint64_t>(2, p.key_bytes - 8));
  k.low = __builtin_bswap16(k.low);
  return k;
}

/// Sorts the keys with their rows' numbers; then collects the rows, or the numbers alone.
template <class Sorter>
contender index_sort(const Sorter& with, const problem& p, const workspace& arrays) {
  const std::uint64_t scratch_bytes = p.count * sizeof(row_key);
  return peer(Sorter::name_of_stable_sort, 2 * scratch_bytes, [with, p, &arrays, scratch_bytes](std::uint64_t at) {
    const const_records keys = p.primitive == primitive::sort_gather_index ? arrays.keys(at) : arrays.source(at);
    std::byte* const out = arrays.target(at).data;
    const auto all = elements<row_key>(arrays.scratch(scratch_bytes), p.count);
    with.over_ranges(p.count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) all[i] = row_key_of(keys.data + i * keys.stride_bytes, p, i);
    });
    sort_in_order(
        with, all,
        [](const row_key& a, const row_key& b) { return a.high != b.high ? a.high < b.high : a.low < b.low; },
        [](const row_key& a) { return a.number; });
    with.over_ranges(p.count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (p.primitive == primitive::sort_gather_index) {
          reinterpret_cast<std::uint32_t*>(out)[i] = all[i].number;
        } else {
          std::memcpy(out + i * p.record_bytes, keys.data + all[i].number * p.record_bytes, p.record_bytes);
        }
      }
    });
  });
}

/// Peers for the keys and widths that the sorts are built for.
template <class Sorter>
std::vector<contender> sorts_with(const Sorter& with, const problem& p, const workspace& arrays) {
  const bool is_word = p.number == key_type::unsigned_integer && (p.key_bytes == 4 || p.key_bytes == 8);
  switch (p.primitive) {
    case primitive::sort_keys:
      if (p.bits == 8 * p.key_bytes) {
        return with_key_type(p, [&]<class Key>(std::type_identity<Key>) -> std::vector<contender> {
          return {key_sort<Sorter, Key>(with, p, arrays)};
        });
      }
      if constexpr (Sorter::is_stable) {
        if (!is_word) return {};
        if (p.key_bytes == 4) return {bits_sort<Sorter, std::uint32_t>(with, p, arrays)};
        return {bits_sort<Sorter, std::uint64_t>(with, p, arrays)};
      }
      return {};
    case primitive::sort_pairs:
      if (!is_word) return {};
      if (p.key_bytes == 4 && p.record_bytes == 4) {
        return {pair_sort<Sorter, std::uint32_t, std::uint32_t>(with, p, arrays)};
      }
      if (p.key_bytes == 4) return {};
      if (p.record_bytes == 4) return {pair_sort<Sorter, std::uint64_t, std::uint32_t>(with, p, arrays)};
      if (p.record_bytes == 8) return {pair_sort<Sorter, std::uint64_t, std::uint64_t>(with, p, arrays)};
      if (p.record_bytes == 16) return {pair_sort<Sorter, std::uint64_t, short_row<16>>(with, p, arrays)};
      return {};
    default: break;
  }
  if (p.count > 0xffffffffU || (p.primitive == primitive::sort_gather_index && p.record_bytes != 4)) return {};
  if (p.primitive == primitive::sort_records && is_word && p.key_bytes == 4 && p.record_bytes == 8) {
    return {row_sort<Sorter, shortest_row>(with, p, arrays)};
  }
  if (p.primitive == primitive::sort_records && is_word && p.key_bytes == 8) {
    if (p.record_bytes == 16) return {row_sort<Sorter, short_row<16>>(with, p, arrays)};
    if (p.record_bytes == 32) return {row_sort<Sorter, short_row<32>>(with, p, arrays)};
  }
  const bool is_bytes = p.number == key_type::bytes && p.key_bytes <= 10;
  if (!is_bytes && (p.number != key_type::unsigned_integer || p.key_bytes > 8)) return {};
  return {index_sort(with, p, arrays)};
}

}  // namespace sheaf::bench::peers::host
