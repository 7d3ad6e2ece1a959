#include "apps/sheaf/checks/sort.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "apps/sheaf/checks/occurrences.hpp"
#include "apps/sheaf/files/progress.hpp"

namespace sheaf::jobs {
namespace {

/// One step of the hash: the exclusive or of both halves of a 128-bit product.
std::uint64_t hash_step(std::uint64_t state, std::uint64_t word) {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(state ^ word) * 0x9e3779b97f4a7c15;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A record's hash: hash_step over its little-endian 8-byte words, the last one padded with zero bytes, then over its
/// length, from a state of 0x243f6a8885a308d3. `--check` prints the sum of these hashes. The function must not change,
/// so that sums of different versions and machines can be compared.
std::uint64_t record_hash(const std::byte* record, std::uint64_t bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t state = 0x243f6a8885a308d3;
  std::uint64_t offset = 0;
  for (; offset + 8 <= bytes; offset += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, record + offset, 8);
    state = hash_step(state, word);
  }
  if (offset < bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, record + offset, bytes - offset);
    state = hash_step(state, word);
  }
  return hash_step(hash_step(state, bytes), 0);
}

int sign_of(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

/// A number in a row, whose byte 0 is its lowest, whatever the order that it lies in.
class number {
 public:
  number(const std::byte* at, std::uint32_t bytes, bool big_endian) : at_(at), bytes_(bytes), big_endian_(big_endian) {}
  std::uint32_t bytes() const { return bytes_; }
  std::byte byte(std::uint32_t i) const { return at_[big_endian_ ? bytes_ - 1 - i : i]; }
  bool is_negative() const { return (byte(bytes_ - 1) & std::byte{0x80}) != std::byte{0}; }
  std::uint64_t value() const {
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < bytes_; ++i) value |= std::to_integer<std::uint64_t>(byte(i)) << (8 * i);
    return value;
  }

 private:
  const std::byte* at_;
  std::uint32_t bytes_;
  bool big_endian_;
};

int compare_magnitudes(const number& a, const number& b) {
  for (std::uint32_t i = a.bytes(); i-- > 0;) {
    if (a.byte(i) != b.byte(i)) return sign_of(a.byte(i) < b.byte(i), true);
  }
  return 0;
}

// NaT, the lowest number, comes last.
int compare_times(const number& a, const number& b) {
  constexpr std::int64_t nat = std::numeric_limits<std::int64_t>::min();
  const auto x = static_cast<std::int64_t>(a.value());
  const auto y = static_cast<std::int64_t>(b.value());
  if (x == nat || y == nat) return sign_of(x != nat, y != nat);
  return sign_of(x<y, x> y);
}

int compare_texts(const std::byte* a, const std::byte* b, const order_column& c) {
  constexpr std::uint32_t character_bytes = 4;
  for (std::uint32_t at = 0; at < c.bytes; at += character_bytes) {
    const std::uint64_t x = number(a + at, character_bytes, c.big_endian).value();
    const std::uint64_t y = number(b + at, character_bytes, c.big_endian).value();
    if (x != y) return sign_of(x < y, true);
  }
  return 0;
}

int compare_columns(const std::byte* at_a, const std::byte* at_b, const order_column& c) {
  const number a(at_a, c.bytes, c.big_endian);
  const number b(at_b, c.bytes, c.big_endian);
  switch (c.type) {
    case column_type::bytes: return std::memcmp(at_a, at_b, c.bytes);
    case column_type::unsigned_integer: return compare_magnitudes(a, b);
    case column_type::signed_integer:
      if (a.is_negative() != b.is_negative()) return sign_of(a.is_negative(), b.is_negative());
      return compare_magnitudes(a, b);
    case column_type::floating:
      if (a.is_negative() != b.is_negative()) return sign_of(a.is_negative(), b.is_negative());
      return a.is_negative() ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
    case column_type::time: return compare_times(a, b);
    case column_type::text: return compare_texts(at_a, at_b, c);
  }
  return 0;
}

int compare_rows(const std::byte* a, const std::byte* b, const row_order& by) {
  for (const order_column& c : by.columns) {
    const int order = compare_columns(a + c.offset, b + c.offset, c);
    if (order != 0) return c.descending ? -order : order;
  }
  return 0;
}

// Calls `take` with each record and the comparison of the record before it with it; -1 for the first record.
template <class Take>
void for_each_compared(const record_source& from, const row_order& by, Take take) {
  io::progress_step step("checking the order: records", io::progress_unit::items, static_cast<double>(from.count));
  std::vector<std::byte> before(from.record_bytes);
  for_each_block(from, [&](std::uint64_t first, const_records block) {
    const std::byte* previous = before.data();
    for (std::uint64_t i = 0; i < block.count; ++i) {
      const std::byte* const record = block.data + i * block.record_bytes;
      take(first + i, record, first + i == 0 ? -1 : compare_rows(previous, record, by));
      previous = record;
    }
    std::copy_n(previous, block.record_bytes, before.data());
    step.add(block.count);
  });
}

key_digest digest_of(const std::byte* record, const row_order& by) {
  key_digest digest{1, 2};
  for (const order_column& c : by.columns) {
    const std::uint64_t hash = record_hash(record + c.offset, c.bytes);
    digest = {hash_step(digest.low, hash), hash_step(digest.high, hash_step(hash, 3))};
  }
  return digest;
}

struct sums {
  std::uint64_t of_records = 0;
  std::uint64_t of_ranked = 0;  ///< sum over records hashed together with their rank among the records of their key

  void add(std::uint64_t hash, std::uint64_t rank) {
    of_records += hash;
    of_ranked += hash_step(hash_step(hash, rank), 1);
  }
};

// Scans a result once, and stores the keys that occur more than once, as far as they fit. With several parts it stores
// only the keys of one part.
struct result_scan {
  sums found;
  std::uint64_t repeated = 0;  ///< keys that occur more than once
  bool kept_all = true;
  std::optional<std::uint64_t> first_break;

  result_scan(const record_source& out, const row_order& by, occurrences& kept, std::uint64_t part,
              std::uint64_t parts) {
    std::uint64_t rank = 0;
    for_each_compared(out, by, [&](std::uint64_t i, const std::byte* record, int order) {
      if (order > 0 && !first_break) first_break = i;
      rank = order == 0 ? rank + 1 : 0;
      found.add(record_hash(record, out.record_bytes), rank);
      if (rank != 1) return;
      ++repeated;
      const key_digest digest = digest_of(record, by);
      if (digest.low % parts == part) kept_all = kept.insert(digest) && kept_all;
    });
  }
};

void add_part(const record_source& in, const row_order& by, occurrences& kept, std::uint64_t part, std::uint64_t parts,
              sums& expected) {
  const bool needs_ranks = parts > 1 || !kept.empty();
  io::progress_step step("comparing with the input: records", io::progress_unit::items, static_cast<double>(in.count));
  for_each_block(in, [&](std::uint64_t, const_records block) {
    step.add(block.count);
    for (std::uint64_t i = 0; i < block.count; ++i) {
      const std::byte* const record = block.data + i * block.record_bytes;
      std::uint64_t rank = 0;
      if (needs_ranks) {
        const key_digest digest = digest_of(record, by);
        if (digest.low % parts != part) continue;
        rank = kept.next(digest);
      }
      expected.add(record_hash(record, in.record_bytes), rank);
    }
  });
}

std::uint64_t entry_of(const std::byte* entry, index_type type) {
  std::uint64_t number = 0;
  std::memcpy(&number, entry, bytes(type));
  return number;
}

}  // namespace

order_report look_at_order(const record_source& in, const row_order& by) {
  order_report report;
  report.records = in.count;
  for_each_compared(in, by, [&](std::uint64_t i, const std::byte* record, int order) {
    report.checksum += record_hash(record, in.record_bytes);
    report.duplicate_keys += order == 0 ? 1 : 0;
    if (order <= 0) return;
    ++report.breaks;
    if (!report.first_break) report.first_break = i;
  });
  return report;
}

std::optional<std::string> sort_mistake(const record_source& in, const row_order& by, const record_source& out,
                                        std::uint64_t memory_bytes) {
  if (in.count != out.count) return fmt::format("the result has {} records, but the input has {}", out.count, in.count);
  occurrences kept(memory_bytes);
  const result_scan scan(out, by, kept, 0, 1);
  if (scan.first_break) {
    return fmt::format("record {} of the result belongs before record {}", *scan.first_break, *scan.first_break - 1);
  }
  sums expected;
  if (scan.kept_all) {
    add_part(in, by, kept, 0, 1, expected);
  } else {
    std::uint64_t parts = scan.repeated * 3 / 2 / kept.capacity() + 1;  // half as much again, for parts of unequal size
    for (std::uint64_t part = 0; part < parts; ++part) {
      kept.clear();
      if (!result_scan(out, by, kept, part, parts).kept_all) {  // the part is too large: start again with smaller parts
        parts *= 2;
        part = ~std::uint64_t{0};
        expected = {};
        continue;
      }
      add_part(in, by, kept, part, parts, expected);
    }
  }
  if (scan.found.of_records != expected.of_records) {
    return fmt::format("the result's records are not the input's: their checksums are {:016x} and {:016x}",
                       scan.found.of_records, expected.of_records);
  }
  if (scan.found.of_ranked != expected.of_ranked) return "records of equal keys are not in the input's order";
  return std::nullopt;
}

std::optional<std::string> sort_index_mistake(const record_source& in, const row_order& by, const record_source& index,
                                              index_type type) {
  if (index.count != in.count) return fmt::format("the index has {} entries for {} records", index.count, in.count);
  std::vector<bool> named(in.count, false);
  std::vector<std::byte> rows[2] = {std::vector<std::byte>(in.record_bytes), std::vector<std::byte>(in.record_bytes)};
  std::vector<std::byte>* row = &rows[0];
  std::vector<std::byte>* row_before = &rows[1];
  std::uint64_t before = 0;
  std::optional<std::string> mistake;
  io::progress_step step("verifying entries", io::progress_unit::items, static_cast<double>(index.count));
  for_each_block(index, [&](std::uint64_t first, const_records block) {
    step.add(block.count);
    for (std::uint64_t i = 0; i < block.count && !mistake; ++i) {
      const std::uint64_t position = first + i;
      const std::uint64_t entry = entry_of(block.data + i * block.record_bytes, type);
      if (entry >= in.count || named[entry]) {
        mistake = fmt::format("index[{}] is {}, which is {}", position, entry,
                              entry < in.count ? "named before" : "not a record");
        return;
      }
      named[entry] = true;
      in.read(entry, 1, row->data());
      const int order = position == 0 ? -1 : compare_rows(row_before->data(), row->data(), by);
      if (order > 0 || (order == 0 && before > entry)) {
        mistake =
            fmt::format("index[{}] is {}, which belongs before {} at index[{}]", position, entry, before, position - 1);
      }
      before = entry;
      std::swap(row, row_before);
    }
  });
  return mistake;
}

}  // namespace sheaf::jobs
