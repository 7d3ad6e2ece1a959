#pragma once

#include <bit>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>

#include "core/host_device.hpp"
#include "primitives/index_reader.hpp"

// Which columns the rows of one rank need of other ranks, and these rows with columns that count where the values of x
// lie then: what a backend does with a rank's rows before there are products. Arrays lie where the context works, steps
// are queued on it, and nothing but their answers reaches the host.
namespace sheaf::primitives {

/// Rows that are looked at together: all of them need values of other ranks, or none counts as if it did.
constexpr std::uint64_t rank_row_block = 256;
constexpr std::uint64_t row_blocks_of(std::uint64_t rows) noexcept {
  return (rows + rank_row_block - 1) / rank_row_block;
}

/// Columns of a set in a word of 64, and how many columns of the set lie before that word: a column's number in the set
/// takes one read of 16 bytes, where a search in a list of a million columns takes twenty.
struct alignas(16) column_word {
  std::uint64_t bits;
  std::uint64_t before;
};
constexpr std::uint64_t columns_of_word = 64;

/// A set of columns below a bound.
struct column_words {
  column_word* words = nullptr;
  std::uint64_t count = 0;  ///< of words; the last one holds no column, but the number of all that are in the set

  static constexpr std::uint64_t words_for(std::uint64_t columns) noexcept { return columns / columns_of_word + 2; }

  /// Columns of the set below `column`, once they are counted.
  SHEAF_HOST_DEVICE std::uint64_t number(std::uint64_t column) const noexcept;
};

SHEAF_HOST_DEVICE inline std::uint64_t column_words::number(std::uint64_t column) const noexcept {
  const column_word word = words[column / columns_of_word];
  const std::uint64_t lower = word.bits & ((std::uint64_t{1} << column % columns_of_word) - 1);
#if defined(__CUDA_ARCH__)
  return word.before + static_cast<std::uint64_t>(__popcll(lower));
#else
  return word.before + static_cast<std::uint64_t>(std::popcount(lower));
#endif
}

/// A rank's rows, each of which ends where the next one begins. Rows and columns are checked by `look` alone.
struct rank_rows {
  csr_view a;
  std::uint64_t first_column = 0;  ///< of the rank's own
  std::uint64_t own_columns = 0;

  /// Offsets of a good matrix are not above this; negative ones are, by their bits without their sign extended.
  std::uint64_t most_offset() const noexcept {
    return std::min(a.column_indices.count, namable(a.row_begins.type, ~std::uint64_t{0}) - 1);
  }
  /// Columns of a good matrix are below this, likewise.
  std::uint64_t column_limit() const noexcept { return namable(a.column_indices.type, a.columns); }
};

/// What a look at a rank's rows finds.
struct rows_found {
  std::uint64_t faults = 0;  ///< not 0: a row or a column is bad, and nothing else that was found counts
  std::uint64_t longest_row = 0;
};

/// The columns that rows have, as they are written for products.
struct renumbered_columns {
  const unsigned char* is_boundary = nullptr;  ///< of each block of rows
  column_words remote;
  column_words own;             ///< counted from the rank's first
  std::uint64_t below = 0;      ///< remote ones of lower ranks, which come first
  std::uint64_t own_count = 0;  ///< which come next
  index_type type = index_type::u32;
  void* to = nullptr;  ///< a column for each place of a.column_indices; those of no row stay as they are
};

struct rank_column_steps {
  /// Checks rows and columns, and notes what they have of other ranks: `has_remote` for each block of rows, and the
  /// columns in `remote`. Of `found` and `remote` all bytes are 0 before.
  void (*look)(const context& ctx, const rank_rows& rows, rows_found* found, unsigned char* has_remote,
               const column_words& remote);
  /// Collects the rank's own columns that boundary blocks have, counted from its first. All bytes of `own` are 0
  /// before.
  void (*collect_own)(const context& ctx, const rank_rows& rows, const unsigned char* is_boundary,
                      const column_words& own);
  /// Writes how many columns lie before each word.
  void (*count)(const context& ctx, const column_words& columns);
  /// Writes the columns of a counted set in ascending order.
  void (*list)(const context& ctx, const column_words& columns, std::uint64_t* to);
  /// Columns of interior blocks are counted from the rank's first; those of boundary blocks are numbers in the list of
  /// the values that these need: remote ones of lower ranks, own ones, remote ones of higher ranks.
  void (*renumber)(const context& ctx, const rank_rows& rows, const renumbered_columns& columns);
};

/// src/composition defines it.
const rank_column_steps& rank_column_steps_of(backend_kind backend);

}  // namespace sheaf::primitives

// Defined by the backends.
namespace sheaf {
namespace cpu {
extern const primitives::rank_column_steps steps_of_rank_columns;
}
namespace cuda {
extern const primitives::rank_column_steps steps_of_rank_columns;
}
}  // namespace sheaf
