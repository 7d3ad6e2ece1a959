#pragma once

#include "cpu/threads/write_combining.hpp"
#include "primitives/split/contract.hpp"

namespace sheaf::cpu {

/// What several passes move from one to the next, one entry a record.
enum class pass_entry : std::uint8_t {
  record,               ///< the record, which holds its key
  category_and_record,  ///< a pair of category and record
  category_and_index,   ///< a pair of category and record number; the last pass fetches the records
};

/// Whether records are written through write-combining buffers: their width divides a cache line, and the output has
/// them without gaps and aligned.
bool combines_writes(const primitives::split_problem& problem) noexcept;
pass_entry pass_entry_of(const primitives::split_problem& problem) noexcept;
/// Bytes of one entry.
std::uint64_t pass_entry_bytes(const primitives::split_problem& problem) noexcept;

/// Scratch layout of a split; every member but `buckets` is in bytes.
struct split_scratch {
  std::uint64_t buckets;        ///< number of buckets of a pass
  std::uint64_t starts;         ///< offset of the bucket_table
  std::uint64_t cursors;        ///< offset of the parts' cursors, as large as the bucket_table
  std::uint64_t buffers;        ///< offset of the parts' write-combining buffers
  std::uint64_t bad_positions;  ///< offset of the first bad position of each part, later of its sum of offsets
  std::uint64_t entries[2];     ///< offsets of the two arrays between which several passes move entries
  std::uint64_t bytes;          ///< size of all scratch
};

/// What plan decides for run.
struct split_decision {
  std::uint64_t passes;      ///< number of LSD radix passes
  std::uint32_t digit_bits;  ///< bits of a pass' digit
  bool streams;              ///< whether full write-combining buffers leave by streaming stores
  std::uint64_t parts;       ///< parts of the input that are counted and moved in parallel
  split_scratch layout;      ///< where things lie in the scratch

  void tell(plan::told& to) const {
    to.add("passes", passes).add("digit_bits", digit_bits).add("parts", parts).add("streams", streams);
  }
};

plan::planned plan_split(const primitives::split_problem& problem, const plan::scope& scope);

}  // namespace sheaf::cpu
