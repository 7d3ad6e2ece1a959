#pragma once

#include <cstdint>

#include "core/host_device.hpp"

// Which records of a generated table share a key, by arithmetic, so that matches are known without a search. Keys are
// numbered from 0; what bits a key has is lab/description's.
namespace sheaf::primitives {

/// The number of records that share a key where it differs from key to key: half of the keys have one, a quarter have
/// two, and so on, as by a power law of exponent 1 in steps of two.
constexpr std::uint64_t power_law_repeats = 0;

SHEAF_HOST_DEVICE constexpr std::uint64_t floor_log2(std::uint64_t number) noexcept {
#if defined(__CUDA_ARCH__)
  return 63 - static_cast<std::uint64_t>(__clzll(static_cast<long long>(number)));
#else
  return 63 - static_cast<std::uint64_t>(__builtin_clzll(number));
#endif
}

/// Records of one key lie as far apart as the table allows. By a power law there are `levels` levels of keys, and each
/// level has as many records: level l has 2^l keys. Records that are left over have a key each.
struct keyed_table {
  std::uint64_t records = 0;
  std::uint64_t distinct = 0;  ///< keys
  std::uint64_t levels = 0;    ///< 0 where every key has the same number of records, but for one

  SHEAF_HOST_DEVICE std::uint64_t level_records() const noexcept { return std::uint64_t{1} << (levels - 1); }
  SHEAF_HOST_DEVICE std::uint64_t levelled_keys() const noexcept { return 2 * level_records() - 1; }
  SHEAF_HOST_DEVICE std::uint64_t levelled_records() const noexcept { return levels * level_records(); }

  SHEAF_HOST_DEVICE std::uint64_t longest_chain() const noexcept {
    if (records == 0) return 0;
    return levels > 0 ? level_records() : (records - 1) / distinct + 1;
  }

  SHEAF_HOST_DEVICE std::uint64_t key_of_record(std::uint64_t record) const noexcept {
    if (levels == 0) return record % distinct;
    if (record >= levelled_records()) return levelled_keys() + (record - levelled_records());
    const std::uint64_t first_of_level = (std::uint64_t{1} << record % levels) - 1;
    return first_of_level + (record / levels & first_of_level);
  }

  SHEAF_HOST_DEVICE std::uint64_t records_of_key(std::uint64_t key) const noexcept {
    if (levels == 0) return (records - key - 1) / distinct + 1;
    return key >= levelled_keys() ? 1 : level_records() >> floor_log2(key + 1);
  }

  /// The record of a key that comes after `before` others of it, in ascending order.
  SHEAF_HOST_DEVICE std::uint64_t record_of_key(std::uint64_t key, std::uint64_t before) const noexcept {
    if (levels == 0) return key + before * distinct;
    if (key >= levelled_keys()) return levelled_records() + (key - levelled_keys());
    const std::uint64_t level = floor_log2(key + 1);
    const std::uint64_t in_level = key + 1 - (std::uint64_t{1} << level);
    return (in_level + (before << level)) * levels + level;
  }
};

/// The table of so many records, each of whose keys has `repeats` of them, or power_law_repeats.
constexpr keyed_table keyed_table_of(std::uint64_t records, std::uint64_t repeats) noexcept {
  keyed_table t{records, records, 0};
  if (records == 0) return t;
  if (repeats != power_law_repeats) {
    t.distinct = (records - 1) / repeats + 1;
    return t;
  }
  t.levels = 1;
  while (t.levels < 58 && (t.levels + 1) << t.levels <= records) ++t.levels;
  t.distinct = t.levelled_keys() + (records - t.levelled_records());
  return t;
}

}  // namespace sheaf::primitives
