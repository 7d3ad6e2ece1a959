#pragma once

#include <memory>

#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "cpu/sparse/row_sums.hpp"
#include "primitives/sparse/host_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// The product by rows, which several variants share.
namespace sheaf::cpu {

/// The variant cpu.rows, for runs of what was prepared.
extern const primitives::spmv_variant spmv_rows;
/// A run of what `variant` has prepared, by cpu.rows. @throws error(out_of_memory)
void run_rows(const context& ctx, primitives::spmv_problem problem, std::string_view variant,
              const primitives::spmv_buffers& buffers);
/// What `variant`, whose name outlives it, prepares of a matrix that shows nothing to gain: each run is cpu.rows.
std::shared_ptr<primitives::prepared_product> keep_rows(const primitives::spmv_problem& problem, const csr_view& a,
                                                        std::string_view variant);

struct rows_decision {
  std::uint64_t threads = 1;
  std::uint64_t parts = 1;         ///< of the rows, taken by threads that are idle
  std::uint64_t long_entries = 0;  ///< a row from these entries on is shared among threads
  std::uint64_t most_long_rows = 0;
  std::uint64_t most_pieces = 0;
  std::uint64_t long_rows_at = 0;  ///< in scratch
  std::uint64_t sums_at = 0;
  bool may_prefetch = false;  ///< x is so large that prefetching it pays where columns are scattered

  void tell(plan::told& to) const {
    to.add("threads", threads)
        .add("parts", parts)
        .add("long_row_entries", long_entries)
        .add("may_prefetch", may_prefetch);
  }
};

/// Whether x is so large that prefetching it pays where columns are scattered.
bool may_prefetch_x(const primitives::spmv_problem& problem, const machine& machine) noexcept;
/// How the loops get x, by a sample of the columns if it may be prefetched.
x_access access_of(const primitives::spmv_problem& problem, const csr_view& a, bool may_prefetch);

/// Threads and parts for a product that is not transposed, and their scratch.
rows_decision decide_rows(const primitives::spmv_problem& problem, const machine& machine,
                          core::scratch_offsets& place) noexcept;

/// Writes y of all rows. `gathered`, if it is not null, has the value of x for each place.
row_faults multiply_rows(const primitives::spmv_problem& problem, const rows_decision& decision,
                         const primitives::spmv_buffers& buffers, const void* gathered, std::byte* scratch);

/// The run of a product: multiply() -> row_faults, which are reported.
template <class Multiply>
void run_checked(const context& ctx, const primitives::spmv_problem& p, const csr_view& a, Multiply multiply) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  if (multiply().found()) state.keep_first(primitives::find_fault(p, a, p.call, call));
}

/// Adds what the arithmetic of all entries and rows costs, beside what is streamed.
double step_seconds(const primitives::spmv_problem& problem, const machine& machine, std::uint64_t threads) noexcept;

}  // namespace sheaf::cpu
