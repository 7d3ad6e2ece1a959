#include "apps/sheaf/checks/search.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

#include "apps/sheaf/files/progress.hpp"

namespace sheaf::jobs {
namespace {

std::uint64_t key_at(const_records keys, std::uint64_t i) {
  std::uint64_t key = 0;
  std::memcpy(&key, keys.data + i * keys.stride_bytes, keys.record_bytes);
  return key;
}

std::uint64_t number_at(index_span numbers, std::uint64_t i) {
  if (bytes(numbers.type) == 4) return static_cast<const std::uint32_t*>(numbers.data)[i];
  return static_cast<const std::uint64_t*>(numbers.data)[i];
}

std::uint64_t none_of(index_span ids) { return bytes(ids.type) == 4 ? 0xffffffffU : ~std::uint64_t{0}; }

std::string record_text(index_span ids, std::uint64_t record) {
  return record == none_of(ids) ? "none" : fmt::to_string(record);
}

}  // namespace

sorted_keys::sorted_keys(const_records table) {
  const io::progress_step step("verifying: sorting the table's keys");
  rows_.reserve(table.count);
  for (std::uint64_t i = 0; i < table.count; ++i) rows_.push_back({key_at(table, i), i});
  std::ranges::sort(rows_,
                    [](const row& a, const row& b) { return std::tie(a.key, a.record) < std::tie(b.key, b.record); });
}

std::span<const sorted_keys::row> sorted_keys::rows_of(const_records probes, std::uint64_t probe) const {
  const std::uint64_t key = key_at(probes, probe);
  const auto first = std::partition_point(rows_.begin(), rows_.end(), [key](const row& r) { return r.key < key; });
  const auto last = std::partition_point(first, rows_.end(), [key](const row& r) { return r.key == key; });
  return {first, last};
}

std::optional<std::string> sorted_keys::search_mistake(const_records probes, std::span<const std::uint64_t> offsets,
                                                       index_span ids) const {
  io::progress_step step("verifying keys", io::progress_unit::items, static_cast<double>(probes.count));
  if (offsets[0] != 0) return fmt::format("the matches of key 0 begin at {}, not at 0", offsets[0]);
  for (std::uint64_t i = 0; i < probes.count; ++i, step.add(1)) {
    const std::span<const row> expected = rows_of(probes, i);
    if (offsets[i + 1] - offsets[i] != expected.size() || offsets[i + 1] > ids.count) {
      return fmt::format("the matches of key {} are {} to {}, but a sorted array has {}", i, offsets[i], offsets[i + 1],
                         expected.size());
    }
    for (std::uint64_t m = 0; m < expected.size(); ++m) {
      const std::uint64_t found = number_at(ids, offsets[i] + m);
      if (found == expected[m].record) continue;
      return fmt::format("match {} of key {} is record {}, but a sorted array has {}", m, i, found, expected[m].record);
    }
  }
  if (offsets[probes.count] == ids.count) return std::nullopt;
  return fmt::format("there are {} record numbers, but all keys together have {}", ids.count, offsets[probes.count]);
}

std::optional<std::string> sorted_keys::count_mistake(const_records probes, index_span counts) const {
  io::progress_step step("verifying keys", io::progress_unit::items, static_cast<double>(probes.count));
  for (std::uint64_t i = 0; i < probes.count; ++i, step.add(1)) {
    const std::uint64_t expected = rows_of(probes, i).size();
    const std::uint64_t found = number_at(counts, i);
    if (found != expected) return fmt::format("key {} has {} records, but a sorted array has {}", i, found, expected);
  }
  return std::nullopt;
}

std::optional<std::string> sorted_keys::find_mistake(const_records probes, index_span ids) const {
  io::progress_step step("verifying keys", io::progress_unit::items, static_cast<double>(probes.count));
  for (std::uint64_t i = 0; i < probes.count; ++i, step.add(1)) {
    const std::span<const row> rows = rows_of(probes, i);
    const std::uint64_t expected = rows.empty() ? none_of(ids) : rows.front().record;
    const std::uint64_t found = number_at(ids, i);
    if (found == expected) continue;
    return fmt::format("the first record of key {} is {}, but a sorted array has {}", i, record_text(ids, found),
                       record_text(ids, expected));
  }
  return std::nullopt;
}

}  // namespace sheaf::jobs
