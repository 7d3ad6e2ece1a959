#pragma once

#include <cstdint>

#include "cpu/threads/write_combining.hpp"
#include "plan/variant.hpp"
#include "primitives/split.hpp"

namespace sheaf::cpu {

/// What run gets from plan, in planned::parameters.
enum split_parameter : std::size_t { split_passes, split_digit_bits, split_parts, split_streams };

/// What goes from pass to pass, where there are several.
enum class split_carries : std::uint8_t {
  records,              ///< the records themselves, whose keys are in them
  category_and_record,  ///< pairs of a category and a record
  category_and_index,   ///< pairs of a category and a record's number
};

/// Whether records leave through write-combining buckets: they divide a line, and lie as whole words side by side.
bool combines_lines(const primitives::split_problem& p) noexcept;
split_carries carried_by(const primitives::split_problem& p) noexcept;
/// Bytes of what goes from pass to pass, for each record.
std::uint64_t carried_bytes(const primitives::split_problem& p) noexcept;

/// Where the parts of a split's scratch begin, in bytes.
struct split_room {
  std::uint64_t buckets;  ///< of a pass
  std::uint64_t starts;   ///< a bucket_table
  std::uint64_t next;     ///< the same size
  std::uint64_t lines;    ///< each part's write-combining buckets
  std::uint64_t bad;      ///< first bad position of each part; afterwards its share of the offsets
  std::uint64_t carried[2];
  std::uint64_t bytes;

  split_room(const primitives::split_problem& p, const plan::planned& plan) noexcept;
};

plan::planned plan_split(const primitives::split_problem& p, const machine& m);

}  // namespace sheaf::cpu
