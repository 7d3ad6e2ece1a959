#pragma once

#include <sheaf/distributed/spmv.hpp>

#include "distributed/movement/routed_list.hpp"
#include "distributed/sparse/column_inspector.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::distributed {

/// This rank's rows of a matrix, with columns that count the values of x where they lie at a product: for interior
/// rows, which have columns of this rank alone, in this rank's part of x; for others in `gathered`, which holds the
/// values that these rows need, in the order of columns: those of lower ranks, of this one, of higher ones.
///
/// The matrix is inspected where its arrays lie, by a column_inspector.
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
  core::index_report fault_of(const group_state& state, const csr_view& a, primitives::csr_call by,
                              std::uint64_t call) const;
  void throw_fault(group_state& state, const csr_view& a, core::index_report report, primitives::csr_call by) const;
  buffer take_rows(const group_state& state, const csr_view& a);
  void note_sizes(group_state& state, std::uint64_t longest_row);
  void find_runs(const group_state& state, const std::vector<unsigned char>& has_remote);
  std::vector<unsigned char> boundary_blocks() const;
  void ask_for(group_state& state, const column_list& halo, std::uint64_t call);
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
  std::uint64_t halo_ = 0;        ///< columns of other ranks that rows have
  std::uint64_t halo_below_ = 0;  ///< those of lower ranks
  column_list own_;               ///< columns of this rank that rows of the boundary have, counted from its first
  index_span requested_;          ///< of x, by all other ranks
  std::optional<message_buffer> requested_memory_;  ///< all that stays of the inspected list
  std::vector<std::uint64_t> requested_begins_;
  std::vector<std::uint64_t> asked_begins_;
  buffer local_columns_;
  index_type local_type_ = index_type::u32;
};

}  // namespace sheaf::distributed
