#pragma once

#include "lab/description/sort/source.hpp"
#include "lab/peers/contenders.hpp"

// Peers from a CPU library's sort, with the code around it that a user would write. A Sorter has
//   sort(first, last, less), which need not be stable,
//   stable_sort(first, last, less) if is_stable, and
//   over_ranges(count, body), which calls body(begin, end) for ranges that make up 0 to count.
namespace sheaf::bench::peers::host {

using jobs::key_word128;
using jobs::low_ones;

/// An unsigned number of 96 bits, as the struct that a user would write.
struct key96 {
  std::array<std::uint32_t, 3> word;  // lowest first
  friend bool operator<(const key96& a, const key96& b) {
    if (a.word[2] != b.word[2]) return a.word[2] < b.word[2];
    if (a.word[1] != b.word[1]) return a.word[1] < b.word[1];
    return a.word[0] < b.word[0];
  }
};

/// Calls body(std::type_identity<Key>) with the type of the row's keys; no contender for a type that no peer is built
/// for.
template <class Body>
std::vector<contender> with_key_type(const problem& problem, Body body) {
  switch (problem.part<key_part>().number) {
    case key_type::unsigned_integer:
      switch (problem.key_bytes) {
        case 4: return body(std::type_identity<std::uint32_t>{});
        case 8: return body(std::type_identity<std::uint64_t>{});
        case 12: return body(std::type_identity<key96>{});
        case 16: return body(std::type_identity<key_word128>{});
        default: return {};
      }
    case key_type::signed_integer:
      if (problem.key_bytes == 4) return body(std::type_identity<std::int32_t>{});
      return problem.key_bytes == 8 ? body(std::type_identity<std::int64_t>{}) : std::vector<contender>{};
    case key_type::floating:
      return problem.key_bytes == 4 ? body(std::type_identity<float>{}) : body(std::type_identity<double>{});
    case key_type::bytes: return {};
  }
  return {};
}

inline bool whole_key_decides(const problem& p) { return p.part<key_part>().bits == 8 * p.key_bytes; }

/// The bits of a key that decide.
template <class Key>
Key mask_of(const problem& p) {
  const key_part& key = p.part<key_part>();
  return static_cast<Key>(static_cast<Key>(low_ones(key.bits)) << key.first_bit);
}

template <class Element>
std::span<Element> elements(std::byte* first, std::uint64_t count) {
  return {reinterpret_cast<Element*>(first), count};
}

template <class Sorter, class Element>
void copy_elements(const Sorter& sorter, std::span<const Element> from, Element* to) {
  sorter.over_ranges(from.size(), [&](std::uint64_t begin, std::uint64_t end) {
    std::copy(from.begin() + begin, from.begin() + end, to + begin);
  });
}

/// A stable sort: the sorter's own, or else one that compares record numbers where keys are equal.
template <class Sorter, class Element, class Less, class Number>
void sort_in_order(const Sorter& sorter, std::span<Element> all, Less less, Number number) {
  Element* const first = all.data();
  Element* const last = first + all.size();
  if constexpr (Sorter::is_stable) {
    sorter.stable_sort(first, last, less);
  } else {
    sorter.sort(first, last, [=](const Element& a, const Element& b) {
      if (less(a, b)) return true;
      return !less(b, a) && number(a) < number(b);
    });
  }
}

template <class Sorter, class Key>
contender key_sort(const Sorter& sorter, const problem& p, const workspace& arrays) {
  return peer(Sorter::name_of_sort, p.count * sizeof(Key), [sorter, p, &arrays](std::uint64_t copy) {
    const auto out = elements<Key>(arrays.target(copy).data, p.count);
    copy_elements<Sorter, Key>(sorter, elements<Key>(arrays.source(copy).data, p.count), out.data());
    sorter.sort(out.data(), out.data() + out.size(), std::less<Key>{});
  });
}

/// A sort of keys by some of their bits. Keys have no record numbers beside them, so it takes a stable sorter.
template <class Sorter, class Key>
contender bits_sort(const Sorter& sorter, const problem& p, const workspace& arrays) {
  const Key mask = mask_of<Key>(p);
  return peer(Sorter::name_of_stable_sort, p.count * sizeof(Key), [sorter, p, mask, &arrays](std::uint64_t copy) {
    const auto out = elements<Key>(arrays.target(copy).data, p.count);
    copy_elements<Sorter, Key>(sorter, elements<Key>(arrays.source(copy).data, p.count), out.data());
    sorter.stable_sort(out.data(), out.data() + out.size(), [mask](Key a, Key b) { return (a & mask) < (b & mask); });
  });
}

/// Interleaves keys and values, sorts the pairs, and separates them again. Values begin with their record number.
template <class Sorter, class Key, class Value>
contender pair_sort(const Sorter& sorter, const problem& problem, const workspace& arrays) {
  struct pair {
    Key key;
    Value value;
  };
  const std::uint64_t scratch_bytes = problem.count * sizeof(pair);
  return peer(Sorter::name_of_stable_sort, 2 * scratch_bytes,
              [sorter, problem, &arrays, scratch_bytes](std::uint64_t copy) {
                const auto* const keys = reinterpret_cast<const Key*>(arrays.keys(copy).data);
                const auto* const values = reinterpret_cast<const Value*>(arrays.source(copy).data);
                auto* const keys_out = reinterpret_cast<Key*>(arrays.sorted_keys(copy).data);
                auto* const values_out = reinterpret_cast<Value*>(arrays.target(copy).data);
                const auto all = elements<pair>(arrays.scratch(scratch_bytes), problem.count);
                sorter.over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
                  for (std::uint64_t i = begin; i < end; ++i) all[i] = {keys[i], values[i]};
                });
                const auto sort = [&](auto less) {
                  sort_in_order(sorter, all, less, [](const pair& a) {
                    std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t> number;
                    std::memcpy(&number, &a.value, sizeof number);
                    return number;
                  });
                };
                if (whole_key_decides(problem)) {
                  sort([](const pair& a, const pair& b) { return a.key < b.key; });
                } else if constexpr (std::is_unsigned_v<Key>) {
                  const Key mask = mask_of<Key>(problem);
                  sort([mask](const pair& a, const pair& b) { return (a.key & mask) < (b.key & mask); });
                }
                sorter.over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
                  for (std::uint64_t i = begin; i < end; ++i) {
                    keys_out[i] = all[i].key;
                    values_out[i] = all[i].value;
                  }
                });
              });
}

/// Sorts keys with their numbers, and writes the numbers.
template <class Sorter, class Key>
contender number_sort(const Sorter& sorter, const problem& problem, const workspace& arrays) {
  struct numbered_key {
    Key key;
    std::uint32_t number;
  };
  const std::uint64_t scratch_bytes = problem.count * sizeof(numbered_key);
  return peer(Sorter::name_of_stable_sort, 2 * scratch_bytes,
              [sorter, problem, &arrays, scratch_bytes](std::uint64_t copy) {
                const auto* const keys = reinterpret_cast<const Key*>(arrays.keys(copy).data);
                auto* const numbers = reinterpret_cast<std::uint32_t*>(arrays.target(copy).data);
                const auto all = elements<numbered_key>(arrays.scratch(scratch_bytes), problem.count);
                sorter.over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
                  for (std::uint64_t i = begin; i < end; ++i) all[i] = {keys[i], static_cast<std::uint32_t>(i)};
                });
                sort_in_order(
                    sorter, all, [](const numbered_key& a, const numbered_key& b) { return a.key < b.key; },
                    [](const numbered_key& a) { return a.number; });
                sorter.over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
                  for (std::uint64_t i = begin; i < end; ++i) numbers[i] = all[i].number;
                });
              });
}

/// A row that is sorted as a whole: a key of 8 bytes, then the row number.
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
contender row_sort(const Sorter& sorter, const problem& p, const workspace& arrays) {
  return peer(Sorter::name_of_stable_sort, p.count * sizeof(Row), [sorter, p, &arrays](std::uint64_t copy) {
    const auto out = elements<Row>(arrays.target(copy).data, p.count);
    copy_elements<Sorter, Row>(sorter, elements<Row>(arrays.source(copy).data, p.count), out.data());
    sort_in_order(
        sorter, out, [](const Row& a, const Row& b) { return a.key < b.key; }, [](const Row& a) { return a.number; });
  });
}

/// Key and number of a row, which are sorted in the row's place.
struct row_key {
  std::uint64_t high;
  std::uint32_t number;
  std::uint16_t low;
};

/// Takes integer keys of up to 8 bytes, and byte strings of up to 10, which compare from the first byte on.
inline row_key row_key_of(const std::byte* key, std::uint64_t key_bytes, key_type type, std::uint64_t i) {
  row_key result{0, static_cast<std::uint32_t>(i), 0};
  std::memcpy(&result.high, key, std::min<std::uint64_t>(8, key_bytes));
  if (type != key_type::bytes) return result;
  result.high = __builtin_bswap64(result.high);
  if (key_bytes > 8) std::memcpy(&result.low, key + 8, std::min<std::uint64_t>(2, key_bytes - 8));
  result.low = __builtin_bswap16(result.low);
  return result;
}

/// Sorts keys of any type that row_key_of takes with row numbers, and then gathers the rows, or writes the numbers.
template <class Sorter>
contender index_sort(const Sorter& sorter, const problem& problem, const workspace& arrays) {
  const std::uint64_t scratch_bytes = problem.count * sizeof(row_key);
  return peer(
      Sorter::name_of_stable_sort, 2 * scratch_bytes, [sorter, problem, &arrays, scratch_bytes](std::uint64_t copy) {
        const const_records keys = problem.primitive == "sort_gather_index" ? arrays.keys(copy) : arrays.source(copy);
        std::byte* const out = arrays.target(copy).data;
        const auto all = elements<row_key>(arrays.scratch(scratch_bytes), problem.count);
        const key_type type = problem.part<key_part>().number;
        sorter.over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
          for (std::uint64_t i = begin; i < end; ++i) {
            all[i] = row_key_of(keys.data + i * keys.stride_bytes, problem.key_bytes, type, i);
          }
        });
        sort_in_order(
            sorter, all,
            [](const row_key& a, const row_key& b) { return a.high != b.high ? a.high < b.high : a.low < b.low; },
            [](const row_key& a) { return a.number; });
        sorter.over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
          for (std::uint64_t i = begin; i < end; ++i) {
            if (problem.primitive == "sort_gather_index") {
              reinterpret_cast<std::uint32_t*>(out)[i] = all[i].number;
            } else {
              std::memcpy(out + i * problem.record_bytes, keys.data + all[i].number * problem.record_bytes,
                          problem.record_bytes);
            }
          }
        });
      });
}

/// Pairs of whole keys, or of unsigned words by some of their bits, with values of 4 or 8 bytes; 16 with keys of u64.
template <class Sorter>
std::vector<contender> pair_sorts(const Sorter& sorter, const problem& problem, const workspace& arrays) {
  if (!whole_key_decides(problem) && problem.part<key_part>().number != key_type::unsigned_integer) return {};
  return with_key_type(problem, [&]<class Key>(std::type_identity<Key>) -> std::vector<contender> {
    if constexpr (sizeof(Key) <= 8) {
      if (problem.record_bytes == 4) return {pair_sort<Sorter, Key, std::uint32_t>(sorter, problem, arrays)};
      if (problem.record_bytes == 8) return {pair_sort<Sorter, Key, std::uint64_t>(sorter, problem, arrays)};
    }
    if constexpr (std::is_same_v<Key, std::uint64_t>) {
      if (problem.record_bytes == 16) return {pair_sort<Sorter, Key, short_row<16>>(sorter, problem, arrays)};
    }
    return {};
  });
}

/// The sorter's contender for a row; none where it is not built for the row's keys and widths.
template <class Sorter>
std::vector<contender> sorts_with(const Sorter& sorter, const problem& problem, const workspace& arrays) {
  const key_part& key = problem.part<key_part>();
  const bool is_word = key.number == key_type::unsigned_integer && (problem.key_bytes == 4 || problem.key_bytes == 8);
  if (problem.primitive == "sort_keys") {
    if (whole_key_decides(problem)) {
      return with_key_type(problem, [&]<class Key>(std::type_identity<Key>) -> std::vector<contender> {
        return {key_sort<Sorter, Key>(sorter, problem, arrays)};
      });
    }
    if constexpr (Sorter::is_stable) {
      if (!is_word) return {};
      if (problem.key_bytes == 4) return {bits_sort<Sorter, std::uint32_t>(sorter, problem, arrays)};
      return {bits_sort<Sorter, std::uint64_t>(sorter, problem, arrays)};
    }
    return {};
  }
  if (problem.primitive == "sort_pairs") return pair_sorts(sorter, problem, arrays);
  if (problem.count > 0xffffffffU || (problem.primitive == "sort_gather_index" && problem.record_bytes != 4)) return {};
  const bool is_number = key.number != key_type::bytes && (problem.key_bytes == 4 || problem.key_bytes == 8);
  if (problem.primitive == "sort_gather_index" && is_number && whole_key_decides(problem)) {
    return with_key_type(problem, [&]<class Key>(std::type_identity<Key>) -> std::vector<contender> {
      if constexpr (sizeof(Key) <= 8) return {number_sort<Sorter, Key>(sorter, problem, arrays)};
      return {};
    });
  }
  if (problem.primitive == "sort_records" && is_word && problem.key_bytes == 4 && problem.record_bytes == 8) {
    return {row_sort<Sorter, shortest_row>(sorter, problem, arrays)};
  }
  if (problem.primitive == "sort_records" && is_word && problem.key_bytes == 8) {
    if (problem.record_bytes == 16) return {row_sort<Sorter, short_row<16>>(sorter, problem, arrays)};
    if (problem.record_bytes == 32) return {row_sort<Sorter, short_row<32>>(sorter, problem, arrays)};
  }
  const bool is_bytes = key.number == key_type::bytes && problem.key_bytes <= 10;
  if (!is_bytes && (key.number != key_type::unsigned_integer || problem.key_bytes > 8)) return {};
  return {index_sort(sorter, problem, arrays)};
}

}  // namespace sheaf::bench::peers::host
