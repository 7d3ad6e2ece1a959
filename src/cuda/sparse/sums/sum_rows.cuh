#pragma once

#include "cuda/sparse/sums/short_rows.cuh"

// Sums row by row. A warp takes the places of several short rows at once, so that all lanes read neighbouring places
// and have many reads of x under way, and brings the products to the lanes of their rows through shared memory
// (CSR-stream; Greathouse and Daga 2014). Longer rows are a warp's, two at a time. Rows that are much longer than the
// others are left to a second kernel, where warps sum their pieces. Which lane adds what, and in which order, follows
// from the matrix alone.
namespace sheaf::cuda {

/// Rows of one warp each, `Rows` at a time with `Places` places of each lane. Two rows and two places read longer
/// stretches of the matrix at once; where columns lie at random, four rows that advance side by side find more of x in
/// L1. Each lane adds the same places in the same order either way.
template <unsigned Rows, unsigned Places, bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_rows_by_warps(const __grid_constant__ product_arguments<Value, Column> args, const Value* gathered,
                      const __grid_constant__ long_row_list list, bool leaves_long_rows) {
  if (is_skipped(args)) return;
  const unsigned lane = threadIdx.x % 32;
  row_range places[Rows];
  std::uint64_t row[Rows];
  bool is_own[Rows];
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    row[k] = (std::uint64_t{blockIdx.x} * Rows + k) * warps_of_a_block + threadIdx.x / 32;
    is_own[k] = row[k] < args.rows.rows;
    places[k] = is_own[k] ? row_range{args.rows.begin(row[k]), args.rows.end(row[k])} : row_range{0, 0};
  }
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    if (!args.rows.is_row(places[k])) {
      if (lane == 0) report_row(args.guard, args.rows, row[k]);
      places[k] = {0, 0};
    }
    int is_left = 0;
    if (leaves_long_rows && lane == 0 && is_own[k]) is_left = leave_row(list, row[k], places[k]) ? 1 : 0;
    if (leaves_long_rows && __shfl_sync(~0U, is_left, 0) != 0) {
      is_own[k] = false;
      places[k] = {0, 0};
    }
  }
  Sum sum[Rows];
  sum_by_warp<Rows, Places, Gathered>(args, gathered, places, row, sum);
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    if (lane == 0 && is_own[k]) write_result(args, row[k], sum[k]);
  }
}

template <bool Gathered, class Sum, class Value, class Column>
void queue_rows(const context& ctx, const rows_decision& decision, const product_arguments<Value, Column>& args,
                const Value* gathered, const long_row_list& list) {
  if (decision.rows_of_warp == 0) {
    const auto queue = [&]<unsigned Rows, unsigned Places>() {
      launch(ctx, sum_rows_by_warps<Rows, Places, Gathered, Sum, Value, Column>,
             ceil_div(args.rows.rows, std::uint64_t{warps_of_a_block} * Rows), args, gathered, list,
             decision.has_long_rows);
    };
    if (decision.has_random_columns) {
      queue.template operator()<4, 1>();
    } else {
      queue.template operator()<2, 2>();
    }
  } else {
    const auto log2_rows = static_cast<unsigned>(std::countr_zero(decision.rows_of_warp));
    if (decision.has_few_places) {
      launch(ctx, sum_few_places<Gathered, Sum, Value, Column>, ceil_div(args.rows.rows, warps_of_a_block), args,
             gathered, log2_rows);
      return;
    }
    const std::uint64_t blocks = ceil_div(args.rows.rows, std::uint64_t{warps_of_a_block} * decision.rows_of_warp);
    const auto queue = [&]<unsigned Blocks>() {
      launch(ctx, sum_short_rows<Blocks, Gathered, Sum, Value, Column>, blocks, args, gathered, list,
             decision.has_long_rows, log2_rows);
    };
    // Eight f64 of x are under way with all that a lane remembers in 64 registers. Rows of two or three entries have
    // their offsets to wait for, and longer ones their sums: these need more warps instead.
    if (sizeof(Value) == 8 && decision.rows_of_warp >= 16 && args.entries >= 4 * args.rows.rows) {
      queue.template operator()<4>();
    } else {
      queue.template operator()<5>();
    }
  }
  if (!decision.has_long_rows) return;
  constexpr std::uint64_t blocks_each = 6;
  const auto resident = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each;
  if (decision.has_list()) {
    const std::uint64_t blocks = std::min(resident, ceil_div(decision.most_pieces, warps_of_a_block));
    launch(ctx, sum_long_rows<Gathered, Sum, Value, Column>, blocks, args, gathered, list);
  } else {
    const std::uint64_t blocks = std::min(resident, ceil_div(args.rows.rows, block_threads));
    launch(ctx, find_long_rows<Gathered, Sum, Value, Column>, blocks, args, gathered, decision.long_entries);
  }
}

template <class Value, class Sum>
void rows_of_types<Value, Sum>::multiply(const context& ctx, const spmv_problem& problem, const rows_decision& decision,
                                         const spmv_buffers& buffers, const csr_guard& guard, const x_source& source,
                                         std::byte* scratch, const std::uint32_t* skips) {
  long_row_list list;
  list.long_entries = decision.long_entries;
  if (decision.has_list()) {
    list.count = reinterpret_cast<unsigned long long*>(scratch + decision.count_at);
    list.rows = reinterpret_cast<long_row*>(scratch + decision.list_at);
    list.sums = scratch + decision.sums_at;
    list.most_rows = decision.most_long_rows;
    list.most_pieces = decision.most_pieces;
    require(cudaMemsetAsync(list.count, 0, sizeof *list.count, ctx.stream()), ctx);
  }
  const auto* const from = static_cast<const Value*>(source.gathered);
  if (source.compressed != nullptr) {
    auto a = arguments_of<Value, std::uint16_t>(problem, buffers, guard);
    a.columns = source.compressed;
    a.bases = source.compressed_bases;
    a.skips = skips;
    return queue_rows<false, Sum>(ctx, decision, a, from, list);
  }
  const auto queue = [&]<class Column>(Column) {
    auto a = arguments_of<Value, Column>(problem, buffers, guard);
    a.skips = skips;
    if (from != nullptr) return queue_rows<true, Sum>(ctx, decision, a, from, list);
    return queue_rows<false, Sum>(ctx, decision, a, from, list);
  };
  with_column_type(problem, queue);
}

}  // namespace sheaf::cuda
