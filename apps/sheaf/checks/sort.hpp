#pragma once

#include "apps/sheaf/sort/record_source.hpp"
#include "apps/sheaf/sort/row_order.hpp"

// Checks whether records are sorted, and whether the answer of a sort is right. The check does not sort and does not
// encode keys as the sorts do: it compares the columns of an order as they lie in the records. Fields of keys must be
// whole here, without first_bit and bit_count.
namespace sheaf::jobs {

struct order_report {
  std::uint64_t records = 0;
  std::uint64_t breaks = 0;                  ///< records that compare lower than the record before them
  std::optional<std::uint64_t> first_break;  ///< position of the first break
  std::uint64_t duplicate_keys = 0;          ///< records whose key equals that of the record before them
  std::uint64_t checksum = 0;                ///< sum of all record_hash values, which does not depend on the order
};

order_report look_at_order(const record_source& in, const row_order& by);

/// Says what is wrong with `out` as the stable sort of `in`, if anything: its order, its records (by the sum of their
/// hashes), or the order of records with equal keys (by the sum of hashes of each record with its rank among the
/// records of its key). Keys that occur more than once take at most `memory_bytes`; if they need more, `in` is read
/// repeatedly.
std::optional<std::string> sort_mistake(const record_source& in, const row_order& by, const record_source& out,
                                        std::uint64_t memory_bytes);

/// Says what is wrong with a gather index of `in`, if anything: it must name every record once, in ascending order of
/// keys and, among equal keys, of entries. `index` reads it as records of its type's width, and `in` is read a record
/// at a time. Takes one bit of memory a record.
std::optional<std::string> sort_index_mistake(const record_source& in, const row_order& by, const record_source& index,
                                              index_type type);

}  // namespace sheaf::jobs
