#include "lab/description/plain_loops.hpp"

#include "lab/description/hash/problem.hpp"

// What users write in place of a hash search: rows of a key and a record number, sorted once, and a binary search for
// each probe.
namespace sheaf::jobs {
namespace {

template <class Key, class Id>
struct keyed_row {
  Key key;
  Id id;
  bool operator<(const keyed_row& other) const { return key != other.key ? key < other.key : id < other.id; }
};

template <class Key, class Id>
using sorted_rows = std::vector<keyed_row<Key, Id>>;

template <class Key, class Id>
sorted_rows<Key, Id> sort_rows(std::uint64_t count, const Key* keys) {
  sorted_rows<Key, Id> rows(count);
  for (std::uint64_t i = 0; i < count; ++i) rows[i] = {keys[i], static_cast<Id>(i)};
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// The first row that has a key or a larger one.
template <class Row, class Key>
const Row* lower_bound(const std::vector<Row>& rows, Key key) {
  return std::lower_bound(rows.data(), rows.data() + rows.size(), key,
                          [](const Row& row, Key wanted) { return row.key < wanted; });
}

template <class Row, class Key>
const Row* end_of(const std::vector<Row>& rows, const Row* first, Key key) {
  const Row* last = first;
  while (last != rows.data() + rows.size() && last->key == key) ++last;
  return last;
}

// Calls body with values of the types of keys and record numbers.
template <class Body>
plain_call with_key_and_id(const problem_spec& p, Body body) {
  const bool is_short = p.key_bytes == 4;
  if (bytes(p.index) == 4) {
    return is_short ? body(std::uint32_t{}, std::uint32_t{}) : body(std::uint64_t{}, std::uint32_t{});
  }
  return is_short ? body(std::uint32_t{}, std::uint64_t{}) : body(std::uint64_t{}, std::uint64_t{});
}

// A loop over the probes, answer(rows, i, first, key) for probe i, whose key is that of the row `first`, or no row's.
// Rows are sorted in front of the loop that is timed.
template <class Answer>
plain_call over_probes(const problem_spec& problem, const array_set& arrays, Answer answer) {
  return with_key_and_id(problem, [&](auto key, auto id) -> plain_call {
    using Key = decltype(key);
    using Id = decltype(id);
    const std::uint64_t records = primitives::table_records(problem);
    const Key* const keys = items_of<const Key>(arrays[places::source]);
    if (records > 0 && keys == nullptr) return [] {};  // asked for without arrays, only whether there is a loop
    const auto rows = std::make_shared<const sorted_rows<Key, Id>>(sort_rows<Key, Id>(records, keys));
    return [rows, answer, count = problem.count, probes = items_of<const Key>(arrays[places::index])] {
      for (std::uint64_t i = 0; i < count; ++i) answer(*rows, i, lower_bound(*rows, probes[i]), probes[i]);
    };
  });
}

template <class Row, class Key>
bool is_found(const std::vector<Row>& rows, const Row* first, Key key) {
  return first != rows.data() + rows.size() && first->key == key;
}

}  // namespace

plain_call plain_build_hash_index(const context&, const problem_spec& p, const array_set& arrays) {
  return with_key_and_id(p, [&](auto key, auto id) -> plain_call {
    using Key = decltype(key);
    using Id = decltype(id);
    return [count = p.count, keys = items_of<const Key>(arrays[places::source]),
            facts = items_of<std::uint64_t>(arrays[places::target])] {
      const sorted_rows<Key, Id> rows = sort_rows<Key, Id>(count, keys);
      std::uint64_t distinct = 0;
      std::uint64_t longest = 0;
      std::uint64_t first = 0;  // row of the key
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i == 0 || rows[i].key != rows[i - 1].key) {
          ++distinct;
          first = i;
        }
        longest = std::max(longest, i - first + 1);
      }
      facts[0] = count;
      facts[1] = distinct;
      facts[2] = longest;
    };
  });
}

plain_call plain_hash_search(const context&, const problem_spec& p, const array_set& arrays) {
  if (p.count == 0) return [offsets = items_of<std::uint64_t>(arrays[places::offsets])] { offsets[0] = 0; };
  return over_probes(p, arrays,
                     [offsets = items_of<std::uint64_t>(arrays[places::offsets]), target = arrays[places::target]](
                         const auto& rows, std::uint64_t i, const auto* first, auto wanted) {
                       using Id = std::remove_cvref_t<decltype(first->id)>;
                       if (i == 0) offsets[0] = 0;
                       std::uint64_t place = offsets[i];
                       const auto* const last = end_of(rows, first, wanted);
                       for (const auto* row = first; row != last; ++row, ++place) {
                         if (place < target.count) items_of<Id>(target)[place] = row->id;
                       }
                       offsets[i + 1] = place;
                     });
}

plain_call plain_hash_count(const context&, const problem_spec& problem, const array_set& arrays) {
  const auto count_with = [&](auto entry) {
    using Count = decltype(entry);
    return over_probes(problem, arrays,
                       [counts = items_of<Count>(arrays[places::target])](const auto& rows, std::uint64_t i,
                                                                          const auto* first, auto wanted) {
                         counts[i] = static_cast<Count>(end_of(rows, first, wanted) - first);
                       });
  };
  return problem.record_bytes == 4 ? count_with(std::uint32_t{}) : count_with(std::uint64_t{});
}

plain_call plain_hash_contains(const context&, const problem_spec& p, const array_set& arrays) {
  return over_probes(p, arrays,
                     [found = items_of<unsigned char>(arrays[places::target])](const auto& rows, std::uint64_t i,
                                                                               const auto* first, auto wanted) {
                       found[i] = is_found(rows, first, wanted) ? 1 : 0;
                     });
}

plain_call plain_hash_find(const context&, const problem_spec& p, const array_set& arrays) {
  return over_probes(
      p, arrays, [target = arrays[places::target]](const auto& rows, std::uint64_t i, const auto* first, auto wanted) {
        using Id = std::remove_cvref_t<decltype(first->id)>;
        items_of<Id>(target)[i] = is_found(rows, first, wanted) ? first->id : static_cast<Id>(~Id{0});
      });
}

}  // namespace sheaf::jobs
