#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/operators/reduce_value.hpp"

// What the kernels of reductions of rows read and write, whatever call they serve.
namespace sheaf::cuda {

/// Rows to read, named by the entries of a list.
struct listed_rows {
  const std::byte* data = nullptr;
  std::uint64_t stride = 0;
  std::uint64_t limit = ~std::uint64_t{0};  ///< entries from here on name no row, and are left out
  const void* index = nullptr;              ///< null: entry j names row j
  bool has_wide_index = false;              ///< entries of 8 bytes, else 4
  const void* weights = nullptr;            ///< a factor for each entry; null: none
  value_type weight = value_type::f32;
};

/// Rows to write, and what they are made of.
struct reduced_rows {
  std::byte* data = nullptr;
  std::uint64_t stride = 0;
  value_type type = value_type::f32;
  std::uint64_t count = 0;
  std::uint32_t values = 1;      ///< of a row
  std::uint32_t lanes_log2 = 0;  ///< so many lanes share a row, or a chunk of it
  std::uint32_t chunks = 1;      ///< of a row, each of all lanes; 1 unless it has 32
  reduction op = reduction::add;
  bool reads_out = false;   ///< rows of out are combined with what they hold
  bool is_product = false;  ///< out = alpha * sum + beta * out, also where no row comes; beta unless reads_out is false
  double alpha = 1;
  double beta = 0;
  /// Of products: null, or a word on the device. Where it is not 0, all rows are made slice by slice, a slice being the
  /// values of slice_lanes lanes, so that the part of X that a slice reads stays in the cache.
  const std::uint32_t* in_turn = nullptr;
  void* counts = nullptr;  ///< receives the number of rows that came to each; null: not wanted
  bool has_wide_counts = false;
};

/// Segments of the list: entries [begins[s], ends[s]) belong to row s of out.
struct listed_segments {
  const void* begins = nullptr;
  const void* ends = nullptr;
  bool are_wide = false;            ///< offsets of 8 bytes, else 4
  std::uint64_t limit = 0;          ///< no segment ends past this entry; a wrong one counts as empty
  std::uint32_t* faults = nullptr;  ///< is set to 1 where a segment or an entry is wrong; null: none is
};

/// A segment, or bucket of slots, that is combined in pieces.
struct long_list {
  std::uint64_t first_piece;
  std::uint64_t segment;
};

/// Long segments, in the order in which blocks met them, and their pieces' results. Pieces are numbered in the order
/// of the list, so that a search finds the segment of a piece.
struct long_lists {
  /// [0]: number of lists in the upper 28 bits, of pieces in the lower 36. [1]: the complement of what [0] was when a
  /// list found no room; segments that overlap may have more pieces than there is room for. [2]: room for a word of
  /// faults. All begin with 0, which what queues the kernels sees to.
  unsigned long long* totals = nullptr;
  long_list* lists = nullptr;
  std::byte* results = nullptr;     ///< a row of sums of each piece and bin
  std::uint64_t result_stride = 0;  ///< bytes of such a row
  std::uint32_t* rows = nullptr;    ///< how many rows each of them has
  std::uint32_t bins = 1;           ///< rows of out that a list has results for
  std::uint64_t most_lists = 0;     ///< for which there is room
  std::uint64_t most_pieces = 0;
};

constexpr std::uint32_t entries_of_piece = 1024;  ///< of a long segment; the last piece may have fewer
constexpr std::uint32_t longest_uncut = 128;      ///< segment that one group of lanes combines
constexpr std::uint32_t row_block_threads = 256;

constexpr std::uint32_t slice_lanes_log2 = 3;  ///< of a slice of rows of X: 128 bytes, a line of the cache
constexpr std::uint32_t slice_lanes = 1U << slice_lanes_log2;

constexpr int pieces_bits = 36;
constexpr unsigned long long pieces_mask = (1ULL << pieces_bits) - 1;

// ---- tiles: stretches of a list that was sorted by the upper bits of slots

constexpr std::uint32_t most_bin_bits = 8;
constexpr std::uint32_t tile_pairs = 2048;          ///< of a sorted list
constexpr std::uint32_t short_list_entries = 4096;  ///< most entries of a list that every block reads
constexpr std::uint32_t longest_of_a_group = 64;    ///< rows of a slot in a tile that one group of lanes combines

/// Buckets of slots in a list that was sorted by their upper bits.
struct sorted_buckets {
  const std::uint32_t* slots = nullptr;      ///< sorted; the pairs from the first bad slot on are left out
  const std::uint32_t* positions = nullptr;  ///< beside them; null: pair i has position i
  std::uint64_t* begins = nullptr;           ///< of each bucket's pairs, and their end
  std::uint64_t buckets = 0;
  std::uint64_t pairs = 0;
  std::uint32_t bin_bits = 0;
  std::uint32_t slot_limit = 0;     ///< slots from here on are bad
  std::uint32_t last_bucket = 0;    ///< where bad slots lie
  std::uint32_t* faults = nullptr;  ///< is set to 1 where there is a bad slot
};

}  // namespace sheaf::cuda
