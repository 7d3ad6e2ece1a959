#pragma once

#include <cstdint>
#include <memory>

#include <sheaf/csr.hpp>
#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/layout.hpp>
#include <sheaf/export.hpp>
#include <sheaf/spmv.hpp>

namespace sheaf::distributed {

class matrix_part;

/// What a preparation found on this rank.
struct spmv_preparation {
  std::uint64_t halo = 0;           ///< values of x that other ranks send for a product
  std::uint64_t sent = 0;           ///< values of x that other ranks ask of this one
  std::uint64_t interior_rows = 0;  ///< rows that are multiplied while these travel
};

/// A product by a matrix whose rows lie on all ranks. A handle: copies share what was prepared. The matrix's arrays
/// must exist and stay as they are until the last copy is destroyed.
class SHEAF_API prepared_spmv {
 public:
  /// y = alpha A x + beta y. Collective.
  /// @param x  this rank's values, as many as the layout of columns says, of the type of A's values
  /// @param y  this rank's values, as many as the layout of rows says, likewise; overlaps neither x nor A
  /// @throws error(bad_argument) as sheaf::spmv does, or if ranks disagree; and what every call on a group may throw.
  /// A row is summed by one rank, in an order that follows from the row and the sizes of the whole matrix alone: y has
  /// the same bits for any number of ranks and any layout of rows. On the CPU they are those of sheaf::spmv of the
  /// whole matrix, and the work is done when the call returns. On CUDA they are those of the variant cuda.rows; the
  /// call waits until values of x have come from other ranks, and returns with the rows that need these queued on the
  /// group's context.
  void run(const_values x, values y, double alpha = 1, double beta = 0) const;
  const spmv_preparation& report() const noexcept { return report_; }

  prepared_spmv(const group& ranks, std::shared_ptr<const matrix_part> matrix, const spmv_preparation& report)
      : ranks_(ranks), matrix_(std::move(matrix)), report_(report) {}

 private:
  group ranks_;
  std::shared_ptr<const matrix_part> matrix_;
  spmv_preparation report_;
};

/// Finds what values of x the rows of each rank need of other ranks. Collective.
/// @param a             this rank's rows, with the columns of the whole matrix. Places of entries are counted through
///                      the ranks; offsets are those of this rank's arrays.
/// @param rows, columns which rank has which rows of the matrix and of y, and which values of x; the same on all ranks
/// @throws error(bad_index) for a fault of the matrix, on every rank: the first row that begins or ends past the
/// entries of its rank or ends before it begins, or if there is none the entry of the lowest place whose column there
/// is not; error(bad_argument) as sheaf::spmv does, if the layouts do not fit, or if ranks disagree; and what every
/// call on a group may throw. Takes a column number of 4 bytes for each entry, or of 8 on ranks that need 2^32 columns
/// or more. The matrix is inspected where it lies, by all threads or on the device, which takes a quarter of a byte for
/// each column of the matrix for as long as the call. One thread of the host does it, with copies of offsets and
/// columns from a device, where rows have ends of their own, or where the matrix has more than 32 columns for each
/// entry of this rank. Values stay where they are, unless rows have ends of their own: then they are copied. Where rows
/// beside each other have columns near each other, the device also keeps 2 bytes for each entry, and its products read
/// these.
SHEAF_API prepared_spmv prepare_spmv(const group& ranks, const csr_view& a, const layout& rows, const layout& columns,
                                     spmv_sums sums = spmv_sums::as_values);

/// One product: a preparation and its run. @throws what these throw, a fault of the matrix too
SHEAF_API void spmv(const group& ranks, const csr_view& a, const layout& rows, const layout& columns, const_values x,
                    values y, const spmv_options& options = {});

}  // namespace sheaf::distributed
