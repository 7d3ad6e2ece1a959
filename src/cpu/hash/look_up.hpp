#pragma once

#include "cpu/hash/bucket_index.hpp"

// Steps 1 and 2 of the hash search of He et al. 2007: the bucket of each probe, and its matches there.
namespace sheaf::cpu {

/// What a look-up finds: `count` records, from place `begin` of the rows on. In an index without rows, `begin` is the
/// record. Of no records: count is 0, and begin all ones.
template <class Id>
struct found_rows {
  Id begin;
  Id count;
};

/// The place of a hash among the keys of its bucket's line: of the first that is not below it. Counted without a
/// branch.
template <class Key, class Id>
std::uint64_t slot_of(const bucket_line<Key, Id>& line, Key hash) noexcept {
  std::uint64_t slot = 0;
  for (std::uint64_t s = 0; s < line.slots; ++s) slot += line.hash[s] < hash ? 1 : 0;
  return slot;
}

/// The place of a hash in the overflow array, in which the keys of its bucket begin at `first`: of the first that is
/// not below it. Most buckets have one or two keys there. Steps double and are then halved, so that keys that share a
/// bucket on purpose cost little.
template <class Key, class Id>
std::uint64_t overflow_place_of(const index_view<Key, Id>& index, std::uint64_t first, Key hash) noexcept {
  std::uint64_t step = 1;
  std::uint64_t end = first;
  while (end < index.overflow_count && index.overflow_hash(end) < hash) {
    first = end + 1;
    end += step;
    step *= 2;
  }
  end = std::min(end, index.overflow_count);
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (index.overflow_hash(middle) < hash) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

/// The records of a key whose value is `begin`. The value behind it, which end() gives, is where its rows end. A slot
/// without a key has all ones as its record, or its rows between two ends that are the same.
template <class Key, class Id, class End>
found_rows<Id> rows_from(const index_view<Key, Id>& t, Id begin, End end) noexcept {
  if (t.rows == nullptr) return {begin, static_cast<Id>(begin == t.none ? 0 : 1)};
  const Id count = static_cast<Id>(end() - begin);
  return {count == 0 ? t.none : begin, count};
}

/// Looks up one hash, wherever in the index its key lies.
template <class Key, class Id>
found_rows<Id> look_up_one(const index_view<Key, Id>& index, Key hash) noexcept {
  constexpr found_rows<Id> nothing{index_view<Key, Id>::none, 0};
  const std::uint64_t bucket = index.bucket_of(hash);
  const bucket_line<Key, Id>& line = index.lines[bucket];
  const std::uint64_t slot = slot_of(line, hash);
  if (slot < line.slots) {
    if (line.hash[slot] != hash) return nothing;
    return rows_from(index, line.value[slot], [&] {
      if (slot + 1 < line.slots) return line.value[slot + 1];
      return line.overflow != index.none ? index.overflow_value(line.overflow) : index.lines[bucket + 1].value[0];
    });
  }
  if (line.overflow == index.none) return nothing;
  const std::uint64_t place = overflow_place_of(index, line.overflow, hash);
  if (place == index.overflow_count || index.overflow_hash(place) != hash) return nothing;
  return rows_from(index, index.overflow_value(place), [&] {
    const bool is_last = place + 1 == index.overflow_count || index.bucket_of(index.overflow_hash(place + 1)) != bucket;
    return is_last ? index.lines[bucket + 1].value[0] : index.overflow_value(place + 1);
  });
}

/// Probes that a thread has in flight, twice: while it looks at the lines of as many, those of the next are fetched.
/// The folder's README has the figures that decided.
constexpr std::uint64_t probes_in_flight = 64;

/// Group prefetching (Chen et al. 2004): the look-ups of a group go through each step together.
template <class Key, class Id, class HashOf, class Put>
class look_up_loop {
 public:
  look_up_loop(const index_view<Key, Id>& t, std::uint64_t end, bool wants_ids, HashOf hash_of, Put put) noexcept
      : index_(t),
        end_(end),
        has_rows_(t.rows != nullptr),
        reads_rows_(wants_ids && has_rows_),
        hash_of_(hash_of),
        put_(put) {}

  void run(std::uint64_t first) {
    if (first >= end_) return;
    fetch(first, hashes_[0]);
    for (std::uint64_t begin = first, group = 0; begin < end_; begin += probes_in_flight, ++group) {
      if (end_ - begin > probes_in_flight) fetch(begin + probes_in_flight, hashes_[(group + 1) % 2]);
      answer(begin, hashes_[group % 2]);
    }
  }

 private:
  using line = bucket_line<Key, Id>;

  std::uint64_t size_of(std::uint64_t begin) const noexcept { return std::min(probes_in_flight, end_ - begin); }

  void fetch(std::uint64_t begin, Key* hashes) const {
    const std::uint64_t size = size_of(begin);
    for (std::uint64_t i = 0; i < size; ++i) {
      hashes[i] = hash_of_(begin + i);
      __builtin_prefetch(index_.lines + index_.bucket_of(hashes[i]));
    }
  }

  void answer(std::uint64_t begin, const Key* hashes) {
    const std::uint64_t size = size_of(begin);
    std::uint64_t elsewhere = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      elsewhere_[elsewhere] = static_cast<std::uint32_t>(i);
      elsewhere += look_into_line(hashes[i], found_[i]) ? 0 : 1;
    }
    for (std::uint64_t e = 0; e < elsewhere; ++e) {
      const std::uint64_t i = elsewhere_[e];
      found_[i] = look_up_one(index_, hashes[i]);
      fetch_row(found_[i]);
    }
    for (std::uint64_t i = 0; i < size; ++i) {
      found_rows<Id> rows = found_[i];
      if (reads_rows_ && rows.count > 0) rows.begin = index_.rows[rows.begin];
      put_(begin + i, rows);
    }
  }

  void fetch_row(const found_rows<Id>& rows) const noexcept {
    if (reads_rows_ && rows.count > 0) __builtin_prefetch(index_.rows + rows.begin);
  }

  /// False if the line does not tell; then what will is being fetched.
  bool look_into_line(Key hash, found_rows<Id>& found) const noexcept {
    const line& bucket = index_.lines[index_.bucket_of(hash)];
    const std::uint64_t slot = slot_of(bucket, hash);
    const bool is_past = slot == line::slots;
    const std::uint64_t last = std::min(slot, line::slots - 1);
    const bool is_same = !is_past && bucket.hash[last] == hash;
    const Id begin = bucket.value[last];
    if (!has_rows_) {
      const bool is_found = is_same && begin != index_.none;
      found = {is_found ? begin : index_.none, static_cast<Id>(is_found ? 1 : 0)};
      const bool overflows = is_past && bucket.overflow != index_.none;
      if (overflows) __builtin_prefetch(index_.overflow(bucket.overflow));
      return !overflows;
    }
    if (is_past || last + 1 == line::slots) {
      const bool ends_here = is_past ? bucket.overflow == index_.none : !is_same;
      found = {index_.none, 0};
      if (ends_here) return true;
      if (bucket.overflow != index_.none) __builtin_prefetch(index_.overflow(bucket.overflow));
      __builtin_prefetch(&bucket + 1);
      return false;
    }
    const Id count = static_cast<Id>(bucket.value[last + 1] - begin);
    const bool is_found = is_same && count > 0;
    found = {is_found ? begin : index_.none, is_found ? count : Id{0}};
    fetch_row(found);
    return true;
  }

  const index_view<Key, Id> index_;
  const std::uint64_t end_;
  const bool has_rows_;
  const bool reads_rows_;
  const HashOf hash_of_;
  const Put put_;
  Key hashes_[2][probes_in_flight];
  found_rows<Id> found_[probes_in_flight];
  std::uint32_t elsewhere_[probes_in_flight + 1];
};

/// Looks up probes [first, end): calls put(i, found_rows) for each, in order. hash_of(i) is called once for each probe,
/// before its put. With `wants_ids`, `begin` is the first record also where there are rows.
template <class Key, class Id, class HashOf, class Put>
void look_up(const index_view<Key, Id>& t, std::uint64_t first, std::uint64_t end, bool wants_ids, HashOf hash_of,
             Put put) {
  look_up_loop<Key, Id, HashOf, Put>(t, end, wants_ids, hash_of, put).run(first);
}

}  // namespace sheaf::cpu
