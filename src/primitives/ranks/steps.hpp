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

// ---- parts of rows by their keys, which are whole ranges of keys that ascend from part to part

/// Most parts that one pass over rows tells apart.
constexpr std::uint32_t most_row_parts = 512;

/// Rows, and the numbers at which parts of them begin.
struct rows_by_number {
  const_records rows;
  key_layout key;
  std::uint32_t dropped_bits =
      0;  ///< a row's number is its key without so many of the lowest bits; at most 64 are left
  const std::uint64_t* edges = nullptr;  ///< ascending, in the context's memory: a row's part is how many are not above
  std::uint32_t edge_count = 0;          ///< one less than there are parts
};

/// Parts of rows, and where their rows go. Rows lie in tiles of routing_steps::tile_rows, tiles in chunks; the last of
/// either may have fewer.
struct tiled_parts {
  std::uint64_t rows = 0;
  std::uint64_t tiles = 0;
  std::uint64_t chunk_tiles = 1;
  std::uint64_t chunks = 0;  ///< the last ones may be empty
  std::uint32_t parts = 0;
  std::uint16_t* part = nullptr;  ///< of each row
  /// Of each tile and part: how many rows of the part the tiles before it have, in its chunk.
  std::uint32_t* before = nullptr;
  std::uint64_t* counts = nullptr;  ///< rows of each chunk and part
};

/// An array whose rows are moved to their parts.
struct rows_to_parts {
  const_records rows;
  /// Where the first row of each part goes that the chunk has, in the context's memory; memory of any device that the
  /// context's may write.
  std::byte* const* to = nullptr;
  /// Widest power of two up to 16 that divides the addresses of rows, there and here, their stride and their length.
  std::uint32_t word_bytes = 1;
};

/// A part of rows that lie in runs, and the least and the greatest number that its rows may have.
struct row_part {
  std::uint64_t first_number = 0;
  std::uint64_t last_number = 0;
  std::uint32_t first_run = 0;  ///< how many runs the parts before it have
  std::uint32_t begin = 0;      ///< how many rows the parts before it have
};

/// Rows of one part that lie side by side.
struct row_run {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;  ///< 1 or more
  std::uint32_t part = 0;
  std::uint32_t before = 0;  ///< how many rows the runs before it have
};

/// Arrays to be sorted by the whole of their keys, whose rows lie in parts. Tables lie in the context's memory.
struct rows_in_parts {
  std::span<const const_records> in;  ///< keys, and values; rows lie side by side
  std::span<const records> out;       ///< without data where an array is not wanted
  sort_key key;
  const row_part* parts = nullptr;  ///< with one more, which ends the last one
  std::uint32_t part_count = 0;
  const row_run* runs = nullptr;  ///< in the order of parts, and within a part in that of its rows
  std::uint32_t run_count = 0;
  bool have_one_key = false;  ///< in each part: rows only have to be copied, run by run
};

/// Whether rows are words of 4 or 8 bytes side by side.
inline bool are_words(const const_records& rows) noexcept {
  const std::uint64_t width = rows.record_bytes;
  return (width == 4 || width == 8) && rows.stride_bytes == width &&
         reinterpret_cast<std::uintptr_t>(rows.data) % width == 0;
}

/// The words in which rows are moved to their parts. @param to  of rows_to_parts, in host memory
inline std::uint32_t word_bytes_of(const const_records& rows, std::span<std::byte* const> to) noexcept {
  constexpr std::uint64_t widest = 16;
  std::uint64_t bits = reinterpret_cast<std::uintptr_t>(rows.data) | rows.record_bytes | rows.stride_bytes | widest;
  for (const std::byte* const part : to) bits |= reinterpret_cast<std::uintptr_t>(part);
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// A key's number: its highest bits.
SHEAF_HOST_DEVICE inline std::uint64_t number_of_row(const std::byte* row, const key_layout& key,
                                                     std::uint32_t dropped_bits) {
  if (is_narrow(key)) return narrow_key_of(row, key) >> dropped_bits;
  return shifted_right(key_of(row, key), dropped_bits).word[0];
}

/// The place of one of `samples` samples of a list: in stretches of equal length, at random in each, because rows may
/// repeat after a number of them.
SHEAF_HOST_DEVICE inline std::uint64_t sampled_row(std::uint64_t sample, std::uint64_t samples, std::uint64_t rows) {
  const std::uint64_t begin = sample * rows / samples;
  const std::uint64_t end = (sample + 1) * rows / samples;
  return begin + (sample * 0x9e3779b97f4a7c15U >> 33) % (end - begin);
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
  /// Numbers of the rows at sampled_row(), of which there are at most as many as rows; edges are not read.
  void (*sample_numbers)(const context& ctx, const rows_by_number& rows, std::uint64_t samples, std::uint64_t* numbers);
  /// Finds the part of each row, and counts rows. Fewer than 2^32 rows a chunk.
  void (*find_parts)(const context& ctx, const rows_by_number& rows, const tiled_parts& out);
  /// Moves the rows of a chunk, array by array, so that those of a part lie side by side.
  /// @param keeps_order  of the rows of a part; without, those of one array need not keep it
  void (*move_rows)(const context& ctx, const tiled_parts& of, std::uint64_t chunk,
                    std::span<const rows_to_parts> arrays, bool keeps_order);
  std::uint32_t tile_rows;
  /// Sorts rows in parts, stably, or returns false: then rows, keys or values are not such as it takes.
  bool (*sort_parts)(const context& ctx, const rows_in_parts& rows);
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
