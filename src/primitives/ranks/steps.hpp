#pragma once

#include <span>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "primitives/sort/key.hpp"

// What calls between ranks need beside primitives, where arrays lie in memory that only a backend reaches. Each backend
// defines these steps; src/distributed makes its calls of them, of primitives and of messages. Arrays lie in the
// context's memory, and steps are queued on it.
namespace sheaf {
namespace primitives {

/// Rows that lie on many ranks, one rank's behind those of the rank before.
struct rows_of_ranks {
  const std::uint64_t* begins = nullptr;  ///< one more than there are ranks, ascending from 0
  std::uint32_t ranks = 0;
  std::uint64_t limit = 0;  ///< entries of a list from here on are bad; at most as many as there are rows
};

/// Bytes of a number of a rank, or of one more than there are.
constexpr std::uint64_t owner_bytes(std::uint32_t ranks) noexcept { return ranks < 255 ? 1 : 2; }

/// What `route` writes of each entry.
struct routed_entries {
  std::byte* owner = nullptr;  ///< the rank that has its row, or for a bad entry the number of ranks: owner_bytes()
  /// Two numbers, of 4 bytes each or 8: its row's place among the owner's rows, which is 0 for a bad entry, and its own
  /// position in the list.
  std::byte* row_and_position = nullptr;
  bool is_wide = false;                ///< numbers have 8 bytes
  std::uint64_t* first_bad = nullptr;  ///< the least position of a bad entry, or all ones
};

/// Where one rank's records lie; null where it has none.
struct record_part {
  const std::byte* data = nullptr;
  std::uint64_t stride_bytes = 0;
};

/// A gather of records that lie on many ranks, whose memory this one reads.
struct gather_from_parts {
  rows_of_ranks rows;
  const record_part* parts = nullptr;  ///< of each rank
  index_span list;
  records out;
  std::uint32_t word_bytes = 1;  ///< widest power of two up to 16 that divides addresses, strides and record_bytes
  std::uint64_t* first_bad = nullptr;  ///< the least position of a bad entry, or all ones
};

/// A place among rows that lie in the order of their keys: before the first row of the range whose key is not below
/// `key`, or behind all rows whose key is not above it.
struct key_bound {
  key_number key;
  bool is_behind_equal = false;
  std::uint64_t begin = 0;  ///< of the range of rows
  std::uint64_t end = 0;
};

/// By halves.
SHEAF_HOST_DEVICE inline std::uint64_t position_of(const const_records& rows, const key_layout& key,
                                                   const key_bound& bound) {
  std::uint64_t low = bound.begin;
  std::uint64_t high = bound.end;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const key_number here = key_of(rows.data + middle * rows.stride_bytes, key);
    const bool lies_before = bound.is_behind_equal ? !(bound.key < here) : here < bound.key;
    (lies_before ? low : high) = lies_before ? middle + 1 : middle;
  }
  return low;
}

struct routing_steps {
  /// Finds the owner of each entry.
  void (*route)(const context& ctx, index_span list, const rows_of_ranks& rows, const routed_entries& out);
  /// Separates pairs of numbers, of 4 bytes or 8: the first ones go to `rows`, the second ones to `positions`.
  void (*unzip)(const context& ctx, const std::byte* pairs, std::uint64_t count, bool is_wide, std::byte* rows,
                std::byte* positions);
  /// Whether the context's device reads the memory where these parts lie.
  bool (*reads)(const context& ctx, std::span<const record_part> parts);
  /// out[i] = the record of the row that list[i] names; zeros for a bad entry.
  void (*gather)(const context& ctx, const gather_from_parts& problem);
  /// The position of each bound among rows.
  void (*find_bounds)(const context& ctx, const_records rows, const key_layout& key, const key_bound* bounds,
                      std::uint64_t count, std::uint64_t* positions);
  /// Memory that a call could take now.
  std::uint64_t (*free_bytes)(const context& ctx);
};

/// The steps of a backend that has them: the CPU, or CUDA where this build has it. src/composition defines it.
const routing_steps& routing_steps_of(backend_kind backend) noexcept;

}  // namespace primitives

// Defined by the backends.
namespace cpu {
extern const primitives::routing_steps steps_of_routing;
}
namespace cuda {
extern const primitives::routing_steps steps_of_routing;
}

}  // namespace sheaf
