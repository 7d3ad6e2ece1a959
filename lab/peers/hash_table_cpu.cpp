#include <limits>
#include <unordered_map>

#include "core/startable.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/peers/contenders.hpp"
#include "primitives/hash/function.hpp"

namespace sheaf::bench::peers {
namespace {

namespace places = jobs::places;

// A map makes a node of some 50 bytes in 100 ns for each record, and a row has several copies.
constexpr std::uint64_t most_nodes = std::uint64_t{1} << 24;
// A probe of one thread takes some 100 ns, and a row has several runs.
constexpr std::uint64_t most_serial_probes = std::uint64_t{1} << 24;

/// The arrays of one copy, as their types.
template <class Key, class Id>
struct typed_arrays {
  const Key* table;
  std::uint64_t records;
  std::uint64_t distinct;  ///< keys of them
  const Key* probes;
  std::uint64_t count;
  void* answers;       ///< ids or counts, one for each probe, or the ids of all matches
  std::uint64_t room;  ///< entries of answers; ids of more matches are not written
  std::uint64_t* offsets;

  typed_arrays(const problem& problem, const jobs::array_set& arrays)
      : table(reinterpret_cast<const Key*>(arrays[places::source].data)),
        records(primitives::table_records(problem)),
        distinct(primitives::table_of(problem).distinct),
        probes(reinterpret_cast<const Key*>(arrays[places::index].data)),
        count(problem.count),
        answers(arrays[places::target].data),
        room(arrays[places::target].count),
        offsets(reinterpret_cast<std::uint64_t*>(arrays[places::offsets].data)) {}

  Id* ids() const { return static_cast<Id*>(answers); }
};

/// What a structure is asked for. Counts go without peers of one record for each key.
enum class wanted : std::uint8_t { all, count, contains, first };

wanted wanted_of(const problem& p) {
  if (p.primitive == "hash_search") return wanted::all;
  if (p.primitive == "hash_count") return wanted::count;
  return p.primitive == "hash_contains" ? wanted::contains : wanted::first;
}

/// A contender that makes a structure of each copy's table before it is timed: Structure(arrays), then
/// run(structure, arrays).
template <class Structure, class Arrays, class Run>
contender prepared(const char* who, const problem& problem, const workspace& arrays, std::uint64_t kept_bytes,
                   Run run) {
  struct one_copy {
    Arrays arrays;
    Structure structure;
  };
  const auto make = [problem, &arrays](std::uint64_t copy) {
    const Arrays typed(problem, arrays.all(copy));
    return std::make_unique<one_copy>(one_copy{typed, Structure(typed)});
  };
  return with_made({.who = who, .kept_bytes_of_copy = kept_bytes, .wait = [] {}}, make,
                   [run](const std::unique_ptr<one_copy>& of) { run(of->structure, of->arrays); });
}

/// Calls body with a key and a record number of the problem's widths.
template <class Body>
std::vector<contender> with_types(const problem& p, Body body) {
  if (bytes(p.index) != 4) return {};
  return p.key_bytes == 4 ? body(std::uint32_t{}, std::uint32_t{}) : body(std::uint64_t{}, std::uint32_t{});
}

template <class Key, class Id>
void store_count(const typed_arrays<Key, Id>& a, const problem& p, std::uint64_t i, std::uint64_t count) {
  if (p.record_bytes == 4) {
    static_cast<std::uint32_t*>(a.answers)[i] = static_cast<std::uint32_t>(count);
  } else {
    static_cast<std::uint64_t*>(a.answers)[i] = count;
  }
}

template <class Key>
struct hash_of_key {
  std::size_t operator()(Key key) const noexcept { return primitives::hash_of(key); }
};

/// The first record of each key: of several only the first is taken.
template <class Key, class Id>
struct first_map {
  std::unordered_map<Key, Id, hash_of_key<Key>> map;
  explicit first_map(const typed_arrays<Key, Id>& a) {
    map.reserve(a.records);
    for (std::uint64_t i = 0; i < a.records; ++i) map.try_emplace(a.table[i], static_cast<Id>(i));
  }
};

template <class Key, class Id>
struct all_map {
  std::unordered_multimap<Key, Id, hash_of_key<Key>> map;
  explicit all_map(const typed_arrays<Key, Id>& a) {
    map.reserve(a.records);
    // From the last on: libstdc++ puts a record in front of those with its key.
    for (std::uint64_t i = a.records; i > 0; --i) map.emplace(a.table[i - 1], static_cast<Id>(i - 1));
  }
};

template <class Key, class Id>
contender by_first_map(const problem& p, const workspace& arrays) {
  constexpr std::uint64_t node_bytes = 56;
  const bool contains = wanted_of(p) == wanted::contains;
  return prepared<first_map<Key, Id>, typed_arrays<Key, Id>>(
      "std.unordered_map", p, arrays, primitives::table_records(p) * node_bytes,
      [contains](const first_map<Key, Id>& m, const typed_arrays<Key, Id>& arrays) {
        for (std::uint64_t i = 0; i < arrays.count; ++i) {
          const auto found = m.map.find(arrays.probes[i]);
          const bool is_found = found != m.map.end();
          if (contains) {
            static_cast<unsigned char*>(arrays.answers)[i] = is_found ? 1 : 0;
          } else {
            arrays.ids()[i] = is_found ? found->second : std::numeric_limits<Id>::max();
          }
        }
      });
}

/// The next ids of a probe, in ascending order, from `place` on.
template <class Key, class Id, class Next>
void write_sorted(const typed_arrays<Key, Id>& arrays, std::uint64_t place, std::uint64_t matches, Next next) {
  const auto write = [&](Id* begin) {
    Id* const end = begin + matches;
    std::generate(begin, end, next);
    if (!std::is_sorted(begin, end)) std::sort(begin, end);
  };
  if (place + matches <= arrays.room) return write(arrays.ids() + place);
  std::vector<Id> all(matches);
  write(all.data());
  if (place < arrays.room) std::copy_n(all.begin(), arrays.room - place, arrays.ids() + place);
}

template <class Key, class Id>
contender by_all_map(const problem& problem, const workspace& arrays) {
  constexpr std::uint64_t node_bytes = 56;
  return prepared<all_map<Key, Id>, typed_arrays<Key, Id>>(
      "std.unordered_multimap", problem, arrays, primitives::table_records(problem) * node_bytes,
      [problem](const all_map<Key, Id>& map, const typed_arrays<Key, Id>& arrays) {
        const bool counts = wanted_of(problem) == wanted::count;
        std::uint64_t place = 0;
        if (!counts) arrays.offsets[0] = 0;
        for (std::uint64_t i = 0; i < arrays.count; ++i) {
          if (counts) {
            store_count(arrays, problem, i, map.map.count(arrays.probes[i]));
            continue;
          }
          const auto [first, last] = map.map.equal_range(arrays.probes[i]);
          const auto matches = static_cast<std::uint64_t>(std::distance(first, last));
          write_sorted(arrays, place, matches, [row = first]() mutable { return (row++)->second; });
          arrays.offsets[i + 1] = place += matches;
        }
      });
}

template <class Key, class Id>
struct sorted_table {
  struct row {
    Key key;
    Id id;
  };
  std::vector<row> rows;

  explicit sorted_table(const typed_arrays<Key, Id>& a) : rows(a.records) {
    for (std::uint64_t i = 0; i < a.records; ++i) rows[i] = {a.table[i], static_cast<Id>(i)};
    std::sort(rows.begin(), rows.end(),
              [](const row& x, const row& y) { return x.key != y.key ? x.key < y.key : x.id < y.id; });
  }
  auto begin_of(Key key) const {
    return std::lower_bound(rows.begin(), rows.end(), key, [](const row& r, Key wanted) { return r.key < wanted; });
  }
  std::pair<std::uint64_t, std::uint64_t> range_of(Key key) const {
    const auto first = begin_of(key);
    const auto last = std::upper_bound(first, rows.end(), key, [](Key wanted, const row& r) { return wanted < r.key; });
    return {first - rows.begin(), last - rows.begin()};
  }
};

/// A prefix sum of numbers of matches.
template <class Key, class Id>
void sum_offsets(const typed_arrays<Key, Id>& a) {
  a.offsets[0] = 0;
  for (std::uint64_t i = 0; i < a.count; ++i) a.offsets[i + 1] += a.offsets[i];
}

template <class Key, class Id>
void find_all(const sorted_table<Key, Id>& table, const typed_arrays<Key, Id>& arrays, int threads) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    const auto range = table.range_of(arrays.probes[i]);
    arrays.offsets[i + 1] = range.second - range.first;
  }
  sum_offsets(arrays);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    if (arrays.offsets[i] == arrays.offsets[i + 1]) continue;
    auto row = table.begin_of(arrays.probes[i]);
    const std::uint64_t end = std::min(arrays.offsets[i + 1], arrays.room);
    for (std::uint64_t place = arrays.offsets[i]; place < end; ++place) arrays.ids()[place] = (row++)->id;
  }
}

template <class Key, class Id>
void find_one(const sorted_table<Key, Id>& table, const typed_arrays<Key, Id>& arrays, const problem& problem,
              int threads) {
  const wanted kind = wanted_of(problem);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    if (kind == wanted::count) {
      const auto range = table.range_of(arrays.probes[i]);
      store_count(arrays, problem, i, range.second - range.first);
      continue;
    }
    const auto row = table.begin_of(arrays.probes[i]);
    const bool is_found = row != table.rows.end() && row->key == arrays.probes[i];
    if (kind == wanted::contains) {
      static_cast<unsigned char*>(arrays.answers)[i] = is_found ? 1 : 0;
    } else {
      arrays.ids()[i] = is_found ? row->id : std::numeric_limits<Id>::max();
    }
  }
}

/// Keys and record numbers side by side, half of the places empty or more. An empty place has a record number of all
/// ones.
template <class Key, class Id>
struct open_table {
  struct slot {
    Key key;
    Id id;
  };
  static constexpr Id empty = std::numeric_limits<Id>::max();
  std::vector<slot> slots;
  std::uint64_t mask;

  explicit open_table(const typed_arrays<Key, Id>& a)
      : slots(std::bit_ceil(std::max<std::uint64_t>(2 * a.distinct, 2)), slot{0, empty}), mask(slots.size() - 1) {
    for (std::uint64_t i = 0; i < a.records; ++i) {
      slot& place = slots[place_of(a.table[i])];
      if (place.id == empty) place = {a.table[i], static_cast<Id>(i)};
    }
  }
  /// The place of a key, or the empty one where it would go.
  std::uint64_t place_of(Key key) const {
    std::uint64_t place = primitives::hash_of(key) & mask;
    while (slots[place].id != empty && slots[place].key != key) place = (place + 1) & mask;
    return place;
  }
};

template <class Key, class Id>
void find_in(const open_table<Key, Id>& table, const typed_arrays<Key, Id>& arrays, wanted kind, int threads) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    const Id id = table.slots[table.place_of(arrays.probes[i])].id;
    if (kind == wanted::contains) {
      static_cast<unsigned char*>(arrays.answers)[i] = id != table.empty ? 1 : 0;
    } else {
      arrays.ids()[i] = id;
    }
  }
}

template <class Key, class Id>
void find_all(const open_table<Key, Id>& table, const typed_arrays<Key, Id>& arrays, int threads) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    arrays.offsets[i + 1] = table.slots[table.place_of(arrays.probes[i])].id == table.empty ? 0 : 1;
  }
  sum_offsets(arrays);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    if (arrays.offsets[i] != arrays.offsets[i + 1])
      arrays.ids()[arrays.offsets[i]] = table.slots[table.place_of(arrays.probes[i])].id;
  }
}

}  // namespace

namespace host {

std::vector<contender> unordered_maps(const context&, const problem& problem, const workspace& arrays) {
  if (primitives::table_records(problem) > most_nodes || problem.count > most_serial_probes) return {};
  return with_types(problem, [&](auto key, auto id) -> std::vector<contender> {
    using Key = decltype(key);
    using Id = decltype(id);
    const wanted kind = wanted_of(problem);
    if (kind == wanted::all || kind == wanted::count) return {by_all_map<Key, Id>(problem, arrays)};
    return {by_first_map<Key, Id>(problem, arrays)};
  });
}

std::vector<contender> binary_searches(const context& ctx, const problem& problem, const workspace& arrays) {
  return with_types(problem, [&](auto key, auto id) -> std::vector<contender> {
    using Key = decltype(key);
    using Id = decltype(id);
    using table = sorted_table<Key, Id>;
    const std::uint64_t kept = primitives::table_records(problem) * sizeof(typename table::row);
    return {prepared<table, typed_arrays<Key, Id>>(
        "binary_search", problem, arrays, kept,
        [problem, threads = ctx.threads()](const table& t, const typed_arrays<Key, Id>& a) {
          wanted_of(problem) == wanted::all ? find_all(t, a, threads) : find_one(t, a, problem, threads);
        })};
  });
}

std::vector<contender> open_addressing(const context& ctx, const problem& problem, const workspace& arrays) {
  const wanted kind = wanted_of(problem);
  if (kind == wanted::count || (kind == wanted::all && problem.part<primitives::hash_part>().repeats != 1)) return {};
  return with_types(problem, [&](auto key, auto id) -> std::vector<contender> {
    using Key = decltype(key);
    using Id = decltype(id);
    using table = open_table<Key, Id>;
    const std::uint64_t kept = 4 * primitives::table_of(problem).distinct * sizeof(typename table::slot);
    return {prepared<table, typed_arrays<Key, Id>>(
        "open_addressing", problem, arrays, kept,
        [kind, threads = ctx.threads()](const table& t, const typed_arrays<Key, Id>& a) {
          kind == wanted::all ? find_all(t, a, threads) : find_in(t, a, kind, threads);
        })};
  });
}

std::vector<contender> sorted_arrays(const context& ctx, const problem& p, const workspace& arrays) {
  return plain_loop("std.sort", ctx, p, arrays);
}

}  // namespace host
}  // namespace sheaf::bench::peers
