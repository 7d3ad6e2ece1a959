#pragma once

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "lab/spatter/file.hpp"

// A pattern's index list is never in memory as a whole: it is cut into chunks of steps, and a chunk is one library
// call.
namespace sheaf::bench {

constexpr std::uint64_t spatter_record_bytes = 8;

/// How a configuration is cut. Spatter's dense array has `wrap` rows that are used over and over. Here every step of a
/// chunk has a dense row of its own, since a call of the library may not write a place twice and does not promise an
/// order; row r of a chunk stands for row r % wrap. What a scatter reads therefore repeats with period wrap. Only
/// where wrap rows are more than a chunk is the dense array exactly Spatter's, and chunks end where it ends.
struct spatter_layout {
  std::uint64_t rows = 0;        ///< steps of a full chunk
  std::uint64_t dense_rows = 0;  ///< rows of the dense array
  std::uint64_t wrap = 1;        ///< rows of Spatter's dense array, at most count; 1 for GS, which has none
};

struct spatter_chunk {
  std::uint64_t first = 0;  ///< first step
  std::uint64_t rows = 0;
  std::uint64_t dense_row = 0;  ///< dense row of the first step
};

/// Chunks of at most `chunk_indices` entries, or of one step if that has more. Their length is a multiple of wrap and
/// of the period of the deltas where that fits, so that one index list serves them all.
spatter_layout lay_out(const spatter_config& config, std::uint64_t chunk_indices);
spatter_chunk chunk_at(const spatter_config& config, const spatter_layout& layout, std::uint64_t first);

/// Entries of the sparse array from the chunk's base, sequence.offset(first), to past its last place.
std::uint64_t chunk_extent(const spatter_sequence& sequence, const spatter_chunk& chunk);
/// The narrowest index that holds every entry of a full chunk's list.
index_type list_type(const spatter_sequence& sequence, const spatter_layout& layout);
/// list[r * places + j] = places[j] + the offset of step `phase + r` relative to step `phase`, in the context's memory.
void expand_list(const context& ctx, const spatter_sequence& sequence, std::uint64_t phase, index_span list);

}  // namespace sheaf::bench
