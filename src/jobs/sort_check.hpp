#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sheaf/records.hpp>
#include <sheaf/sort.hpp>

#include "jobs/record_source.hpp"

// Whether records are in order, and whether an answer of a sort is right, found out without sorting and without the
// sort's own keys: fields are compared as they lie. Fields of keys are whole here, without first_bit and bit_count.
namespace sheaf::jobs {

struct order_report {
  std::uint64_t records = 0;
  std::uint64_t breaks = 0;                  ///< records that belong before the one in front of them
  std::optional<std::uint64_t> first_break;  ///< the first of them
  std::uint64_t duplicate_keys = 0;          ///< records with the key of the one in front of them
  std::uint64_t checksum = 0;                ///< sum of every record_hash, whatever the records' order
};

order_report look_at_order(const record_source& in, const sort_key& key);

/// What is wrong with `out` as the stable sort of `in`, in words: its order, its records (by the sum of their hashes),
/// or the order of records of equal keys (by the sum of hashes of records and their numbers among those of their key).
/// Memory for keys that occur more than once is at most `memory_bytes`; where it is short, `in` is read more than once.
std::optional<std::string> sort_mistake(const record_source& in, const sort_key& key, const record_source& out,
                                        std::uint64_t memory_bytes);

/// What is wrong with a gather index, read as records of its type's width: every record is named once, keys ascend, and
/// where they are equal so do the entries. Takes a bit for each record.
std::optional<std::string> sort_index_mistake(const_records in, const sort_key& key, const record_source& index,
                                              index_type type);

}  // namespace sheaf::jobs
