#pragma once

#include <sheaf/spmm.hpp>
#include <sheaf/spmv.hpp>

#include "core/host_device.hpp"
#include "lab/description/hash/problem.hpp"

// What an spmv's problem says, what its sizes mean, and where the rows of its generated matrix begin.
namespace sheaf::primitives {

/// A sparse matrix of problem_spec::count entries whose columns have the type `index`. problem_spec::table says how
/// many rows there are; without it there is a row for every so many entries.
struct sparse_part {
  nonzero_pattern nonzeros = nonzero_pattern::banded;
  std::uint64_t entries_of_a_row = 1;         ///< or power_law_repeats
  std::optional<std::uint64_t> columns = {};  ///< as many as rows unless given
  index_type offset = index_type::u32;        ///< type of the row offsets
  bool is_transposed = false;
  bool is_unordered = false;  ///< terms of a transposed product are added in any order
  spmv_sums sums = spmv_sums::as_values;
  bool has_row_ends = false;     ///< rows have ends of their own
  std::uint64_t iterations = 1;  ///< of conjugate_gradient by such a matrix
  bool has_jacobi = false;       ///< which scales residuals by the inverse of the diagonal
};

/// Rows and columns: as given, else a row for every so many entries, and a column for each row.
std::uint64_t rows_of_matrix(const problem_spec& problem);
std::uint64_t columns_of_matrix(const problem_spec& problem);
/// @throws error(bad_argument) for entries without a row
void require_rows(const problem_spec& problem);
/// Points along an edge of the grid whose points are the rows: a square's for 5 and 9 entries, a cube's for 7 and 27.
std::uint64_t side_of_grid(const problem_spec& problem);
bool is_flat_grid(std::uint64_t entries_of_a_point) noexcept;

/// How many entries each row has, by arithmetic. Every row has `least`, and the first `longer` rows one more; the last
/// row has what is left. Where they are uneven, row r has as many as the lowest set bit of r + 1 says: half of the rows
/// have one, a quarter two, and so on, as by a power law of exponent 1 in steps of two.
struct row_lengths {
  std::uint64_t entries = 0;
  std::uint64_t rows = 0;
  std::uint64_t least = 0;
  std::uint64_t longer = 0;
  bool is_uneven = false;

  /// Entries of the first 2^k uneven rows, which 64 bits hold up to this k.
  static constexpr std::uint64_t most_log2_rows = 59;
  SHEAF_HOST_DEVICE static constexpr std::uint64_t uneven_entries(std::uint64_t k) noexcept {
    return k == 0 ? 1 : (k + 2) << (k - 1);
  }

  /// The entry with which a row begins; for row `rows` their number. Lowest bits repeat after 2^k rows but for the last
  /// of them, so that rows up to r are runs of 2^k rows, one for each bit of r.
  SHEAF_HOST_DEVICE constexpr std::uint64_t begin_of_row(std::uint64_t row) const noexcept {
    std::uint64_t begin = row * least + (row < longer ? row : longer);
    if (is_uneven) {
      begin = 0;
      while (row != 0) {
        const std::uint64_t k = floor_log2(row);
        begin += uneven_entries(k);
        row -= std::uint64_t{1} << k;
      }
    }
    return begin < entries ? begin : entries;
  }

  SHEAF_HOST_DEVICE constexpr std::uint64_t row_of_entry(std::uint64_t entry) const noexcept {
    if (is_uneven) {
      std::uint64_t row = 0;
      std::uint64_t k = floor_log2(entry + 1);
      if (k > most_log2_rows) k = most_log2_rows;
      for (std::uint64_t bit = std::uint64_t{1} << k; bit != 0; bit >>= 1, --k) {
        if (entry < uneven_entries(k)) continue;
        entry -= uneven_entries(k);
        row += bit;
      }
      return row;
    }
    const std::uint64_t of_longer = longer * (least + 1);
    return entry < of_longer ? entry / (least + 1) : longer + (entry - of_longer) / least;
  }

  /// Entries of the longest row, or more.
  SHEAF_HOST_DEVICE constexpr std::uint64_t longest_row() const noexcept {
    if (rows == 0) return 0;
    return is_uneven ? std::uint64_t{1} << floor_log2(rows) : least + (longer > 0 ? 1 : 0);
  }
};

row_lengths row_lengths_of(const problem_spec& problem);

}  // namespace sheaf::primitives

namespace sheaf::jobs {

/// The arrays of an spmv's problem, as its call takes them.
struct product_views {
  csr_view a;
  const_values x;
  values y;
};

product_views views_of_product(const problem_spec& problem, const array_set& arrays);

/// The views of a product with a dense matrix.
struct dense_views {
  csr_view a;
  const_value_rows x;
  value_rows y;
};

dense_views views_of_dense(const problem_spec& problem, const array_set& arrays);

}  // namespace sheaf::jobs
