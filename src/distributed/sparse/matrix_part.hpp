#pragma once

#include <sheaf/distributed/spmv.hpp>

#include "distributed/movement/routed_list.hpp"
#include "distributed/sparse/column_set.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::distributed {

/// This rank's rows of a matrix, with columns that count the values of x where they lie at a product: for interior
/// rows, which have columns of this rank alone, in this rank's part of x; for others in `gathered`, which holds the
/// values that these rows need, in the order of columns: those of lower ranks, of this one, of higher ones.
///
/// The host inspects the matrix. On a device it has copies of offsets and columns for that, which a preparation makes
/// and gives back; values never leave the device.
class matrix_part {
 public:
  /// Collective, amid a call. Throws a fault of the matrix on all ranks.
  matrix_part(group_state& state, const csr_view& a, const layout& rows, const layout& columns, spmv_sums sums,
              primitives::csr_call by, std::uint64_t call);

  /// For many products: has the backend prepare long runs of rows where that leaves the order of sums as it is. Only by
  /// the way of devices.
  void prepare_runs(const group_state& state);

  /// y = alpha A x + beta y, of checked vectors; collective. On a device the rows that need values of others are queued
  /// last.
  void multiply(group_state& state, const void* x, void* y, double alpha, double beta) const;

  std::uint64_t prepared_by() const noexcept { return prepared_by_; }
  const layout& rows() const noexcept { return rows_; }
  const layout& columns() const noexcept { return columns_; }
  value_type value() const noexcept { return a_.values.type; }
  /// The product by this rank's rows.
  const primitives::spmv_problem& problem() const noexcept { return problem_; }
  /// Entries of all ranks' rows.
  std::uint64_t entries() const noexcept { return problem_.whole.entries; }
  spmv_preparation report() const noexcept;

 private:
  /// Rows one behind the other, all interior or none.
  struct run_of_rows {
    std::uint64_t first;
    std::uint64_t last;
    bool is_interior;
    std::uint64_t places = 0;  ///< from the first row's first to the end of the arrays
    std::shared_ptr<primitives::prepared_product> prepared = nullptr;
  };
  /// A list where the context works.
  struct index_list {
    buffer memory;
    index_span entries;
  };

  /// The matrix as the host reads it. Values are not there on a device.
  struct seen_matrix {
    csr_view a;
    buffer begins, ends, columns;
  };

  static seen_matrix see(const group_state& state, const csr_view& a);
  void require_no_fault(group_state& state, const csr_view& a, primitives::csr_call by, std::uint64_t call);
  void take_rows(group_state& state, const csr_view& a, seen_matrix& seen);
  void take_values(const group_state& state, const csr_view& a, const csr_view& seen, const csr_view& without_gaps);
  void note_sizes(group_state& state, const csr_view& a);
  void find_runs(const std::vector<bool>& has_remote_column);
  void find_halo(group_state& state, const csr_view& a, std::uint64_t call);
  void write_columns(const group_state& state, const csr_view& a);
  void multiply_runs(const context& ctx, bool interior, const void* x, void* y, double alpha, double beta) const;
  primitives::spmv_problem problem_of(const csr_view& a) const noexcept;
  primitives::spmv_problem problem_of(const run_of_rows& run) const noexcept;
  csr_view rows_of(const run_of_rows& run) const noexcept;

  int rank_;
  std::uint64_t prepared_by_;  ///< number of the call
  layout rows_;
  layout columns_;
  spmv_sums sums_;
  csr_view a_;  ///< the caller's rows, or a copy without gaps; columns are local_columns_
  primitives::spmv_problem problem_;
  buffer offsets_copy_;
  buffer values_copy_;
  std::vector<run_of_rows> runs_;
  column_set halo_{0, 0};         ///< columns of other ranks
  column_set own_{0, 0};          ///< columns of this rank that rows of the boundary need, counted from its first
  std::uint64_t halo_below_ = 0;  ///< those of lower ranks
  std::unique_ptr<routing> way_;
  index_list requested_;  ///< of x, by all other ranks
  index_list own_list_;
  buffer local_columns_;
  index_type local_type_ = index_type::u32;
};

}  // namespace sheaf::distributed
