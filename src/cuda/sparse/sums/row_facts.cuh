#pragma once

#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/sparse/sums/sum_rows.hpp"

namespace sheaf::cuda {

/// What the host may know of a matrix's rows once they were looked at.
struct row_facts {
  std::uint64_t first;       ///< place where the first row begins
  std::uint64_t entries;     ///< of all rows, if none is wrong
  std::uint64_t longest;     ///< entries of the longest row
  std::uint64_t empty;       ///< rows without entries
  std::uint64_t in_long;     ///< entries of rows that cuda.rows would give a whole warp, while its other rows wait
  std::uint64_t has_faults;  ///< not 0 if a row was wrong, which was reported
};

static __global__ void __launch_bounds__(block_threads)
    find_row_facts(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                   std::uint64_t long_entries, row_facts* facts) {
  const std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  unsigned long long length = 0;
  if (row < rows.rows) {
    const row_range range{rows.begin(row), rows.end(row)};
    if (rows.is_row(range)) {
      length = range.length();
    } else {
      report_row(guard, rows, row);
      facts->has_faults = 1;
    }
    if (row == 0) facts->first = range.begin;
    if (row + 1 == rows.rows) facts->entries = range.end;
  }
  const unsigned empty = __ballot_sync(~0U, row < rows.rows && length == 0 ? 1 : 0);
  unsigned long long in_long = length >= long_entries ? length : 0;
  for (int other = 16; other > 0; other /= 2) {
    length = max(length, __shfl_xor_sync(~0U, length, other));
    in_long += __shfl_xor_sync(~0U, in_long, other);
  }
  if (threadIdx.x % 32 != 0) return;
  if (in_long != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&facts->in_long), in_long);
  atomicMax(reinterpret_cast<unsigned long long*>(&facts->longest), length);
  if (empty == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&facts->empty), static_cast<unsigned long long>(__popc(empty)));
}

/// Looks at all rows. Waits for the device.
/// @param on_device  memory for the kernel's answer
inline row_facts inspect_rows(const context& ctx, const spmv_problem& p, const csr_view& a, const csr_guard& guard,
                              row_facts* on_device) {
  require(cudaMemsetAsync(on_device, 0, sizeof(row_facts), ctx.stream()), ctx);
  launch(ctx, find_row_facts, ceil_div(p.rows, block_threads), guard, offsets_of(p, a), whole_warp_entries(p),
         on_device);
  row_facts facts{};
  ctx.state().copy(&facts, on_device, sizeof facts);
  if (facts.has_faults == 0) facts.entries -= facts.first;  // the last row's end until here
  return facts;
}

/// Zeroes compressed columns of places that belong to no row: a warp reads them along with those of the rows beside.
inline void clear_places_of_no_row(const context& ctx, std::uint16_t* columns, const row_facts& facts,
                                   std::uint64_t places) {
  const std::uint64_t end = facts.first + facts.entries;
  const auto clear = [&](std::uint64_t from, std::uint64_t to) {
    if (from == to) return;
    require(cudaMemsetAsync(columns + from, 0, (to - from) * sizeof *columns, ctx.stream()), ctx);
  };
  clear(0, facts.first);
  clear(end, places);
}

}  // namespace sheaf::cuda
