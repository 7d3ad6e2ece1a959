#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"

namespace sheaf::io {

/// What a file says of its matrix before the entries.
struct matrix_market_shape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  bool is_symmetric = false;  ///< it gives one of two places that are mirror images, which stands for both
  std::uint64_t entries = 0;  ///< that the matrix has, at most
};

/// Rows [first, end) of a matrix, or of its transpose.
struct matrix_market_rows {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  bool is_transposed = false;
};

struct matrix_market_options {
  int threads = 0;                    ///< 0: all of the host
  std::uint64_t most_text_bytes = 0;  ///< what a .gz file may inflate to; 0: half of the memory that is available
  std::uint64_t part_bytes = 0;       ///< text that a thread reads at once; 0: what suits the size
  /// Rows that every file may announce; larger matrices have an entry for every 256 rows at least. So a few bytes of
  /// text do not take gigabytes of row offsets.
  std::uint64_t most_rows_of_few_entries = std::uint64_t{1} << 24;
  /// What the caller is to take beside the matrix for each row and each column that the file announces, as for vectors.
  /// A few bytes of text can announce 2^63 columns, so this is compared with memory before the entries are read.
  std::uint64_t bytes_of_a_row = 0;
  std::uint64_t bytes_of_a_column = 0;
  /// Says which rows are kept; all of them unless given. Row r of the result is row first + r then, and has its columns
  /// in all of the matrix. All of the text is read and checked, but for sums and pairs in rows that are not kept.
  std::function<matrix_market_rows(const matrix_market_shape&)> kept = {};
};

/// Reads a matrix from a MatrixMarket file (Boisvert, Pozo and Remington 1996), plain or gzip, which its first bytes
/// tell. Value is float or double: numbers are read as that type, to nearest.
/// - coordinate and array; real, double, integer, unsigned-integer and pattern (every value is 1); general, symmetric,
///   skew-symmetric, and hermitian, which real matrices are if they are symmetric. complex is refused.
/// - Symmetric matrices become whole. Their entries may lie on either side of the diagonal; a pair that is given
///   on both is an error, and so is a value other than 0 on the diagonal of a skew-symmetric matrix.
/// - Entries of one place are added up in the file's order; where they are finite and Value does not hold their sum,
///   that is an error. Explicit zeros of coordinate files stay entries; those of arrays are dropped.
/// - The banner behind blanks, with one percent sign or two, its words in any case, and words behind them, which are
///   not read. Comments and blank lines anywhere, comments and blanks at ends of lines, CRLF. Numbers as C and Fortran
///   write them (io/text/number.hpp); integers with a point or an exponent, if they are whole.
/// The result does not depend on the number of threads, and neither does the error where a file has several.
/// @throws error(bad_input) naming file, line and value; error(out_of_memory) naming file and line if less is available
/// than the matrix takes, or the matrix with what the caller is to take beside it
template <class Value>
csr_matrix<Value> read_matrix_market(const std::string& path, const matrix_market_options& options = {});

/// What the file says before the entries, which are not read; of a .gz file all of the text is inflated.
/// @throws as read_matrix_market does
matrix_market_shape read_matrix_market_shape(const std::string& path, const matrix_market_options& options = {});

/// Reads a matrix as read_matrix_market does, from the bytes of a file.
template <class Value>
csr_matrix<Value> parse_matrix_market(std::span<const std::byte> file, const std::string& origin,
                                      const matrix_market_options& options = {});

/// Reads a vector: a matrix of one column, or of one row, whose places that no entry names are 0.
/// @param check_count  called with the number of rows (of one row: columns) before any memory is taken for them; throws
///                     if the caller wants another
/// @throws what read_matrix_market throws; error(bad_input) if there are more rows and columns
template <class Value>
std::vector<Value> read_matrix_market_vector(const std::string& path,
                                             const std::function<void(std::uint64_t)>& check_count,
                                             const matrix_market_options& options = {});

/// Reads a vector as read_matrix_market_vector does, from the bytes of a file.
template <class Value>
std::vector<Value> parse_matrix_market_vector(std::span<const std::byte> file, const std::string& origin,
                                              const std::function<void(std::uint64_t)>& check_count,
                                              const matrix_market_options& options = {});

enum class matrix_market_field : std::uint8_t {
  real,     ///< the shortest decimal numbers that are read back as these values, bit by bit but for NaNs
  integer,  ///< whole numbers of 64 bits
  pattern,  ///< places alone, without values
};

/// Writes a matrix as a coordinate file, row by row; general, whatever its symmetry. It appears whole or not at all.
/// @throws error(bad_argument) if the arrays are not a matrix, or field is integer and a value is not;
/// error(io_failure)
template <class Value>
void write_matrix_market(const std::string& path, const csr_matrix<Value>& matrix,
                         matrix_market_field field = matrix_market_field::real);

/// Gives the text of such a file to `take`, piece by piece. @throws error(bad_argument), before the first piece
template <class Value>
void format_matrix_market(const csr_matrix<Value>& matrix, matrix_market_field field,
                          const std::function<void(std::string_view)>& take);

}  // namespace sheaf::io
