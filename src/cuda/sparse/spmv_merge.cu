#include <cub/block/block_scan.cuh>

#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/sums/row_products.cuh"

// The variant cuda.merge (Merrill and Garland 2016, merge-based CSR SpMV). The ends of rows and the entries, merged in
// their order, are one list of items, which is cut into tiles of equal size, so that no length of a row unbalances
// blocks or threads. A tile stages its products in shared memory, coalesced, and each thread walks over an equal share
// of its items. Rows that reach over a tile's edge leave partial sums, which a second kernel adds in the order of the
// tiles. Tiles have one size on every device, so the order of sums follows from the matrix alone.
namespace sheaf::cuda {
namespace {

constexpr unsigned items_each = 7;  ///< odd, so that walks over shared memory meet few bank conflicts
constexpr unsigned tile_items = block_threads * items_each;

/// What is known of the rows.
enum row_state : unsigned {
  rows_are_right = 0,
  rows_were_checked = 1,  ///< some are wrong, and all that are were reported
  rows_are_wrong = 2,     ///< other tiles have yet to look at theirs
};

/// The scratch.
template <class Sum>
struct merge_tiles {
  unsigned* fault;      ///< a row_state
  std::uint64_t* cuts;  ///< of each tile's begin, and of the end: rows that end before it
  Sum* heads;           ///< of each tile: sum of the first row that ends in it
  Sum* tails;           ///< of each tile: sum of the row that goes on behind it

  merge_tiles(std::uint64_t most_tiles, core::scratch_arrays& place)
      : fault(place.take<unsigned>(1)),
        cuts(place.take<std::uint64_t>(most_tiles + 1)),
        heads(place.take<Sum>(most_tiles)),
        tails(place.take<Sum>(most_tiles)) {}
};

std::uint64_t most_tiles_of(const spmv_problem& p) noexcept { return ceil_div(p.rows + p.entries, tile_items); }

plan::planned plan_merge(const spmv_problem& problem, const plan::scope& scope) {
  if (problem.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  if (problem.has_row_ends)
    return plan::rejected("cuts rows that lie one after the other, but rows may lie in any order");
  if (problem.is_part()) return plan::rejected(primitives::other_order_of_parts);
  core::scratch_arrays place(nullptr);
  with_product_types(problem,
                     [&]<class Types>(Types) { merge_tiles<typename Types::sum>(most_tiles_of(problem), place); });
  // Shared memory holds what cuda.rows keeps in registers, and three kernels begin one after another.
  constexpr double spread = 1.2;
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  price_rows(problem, scope.machine, false, spread, plan);
  plan.add("cuts", scope.machine.step_seconds);
  return plan;
}

/// The entries of all rows, which lie one behind the other.
__device__ __forceinline__ row_range all_entries(const row_offsets& rows) {
  const std::uint64_t begin = min(rows.begin(0), rows.limit);
  return {begin, max(begin, min(rows.end(rows.rows - 1), rows.limit))};
}

/// Finds each tile's cut. Row r ends at item end(r) - first + r. All searches halve the same ranges, so cuts ascend and
/// every row lies in a tile, whatever the offsets are. Before a product that reads y, rows are checked here, because
/// what was added to y cannot be undone.
static __global__ void __launch_bounds__(block_threads)
    cut_tiles(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows, bool checks_rows,
              std::uint64_t tiles, std::uint64_t* cuts, unsigned* fault) {
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (tile <= tiles) {
    const row_range all = all_entries(rows);
    const std::uint64_t item = min(tile * tile_items, rows.rows + all.length());
    cuts[tile] = partition_point(std::uint64_t{0}, rows.rows, [&](std::uint64_t row) {
      return max(min(rows.end(row), all.end), all.begin) - all.begin + row < item;
    });
  }
  if (!checks_rows) return;
  for (std::uint64_t r = tile; r < rows.rows; r += std::uint64_t{gridDim.x} * block_threads) {
    if (rows.is_row({rows.begin(r), rows.end(r)})) continue;
    report_row(guard, rows, r);
    *fault = rows_were_checked;
  }
}

/// Reports the first bad column of the places [begin, end) that are `step` apart.
template <class Column>
__device__ __noinline__ void report_column_of_tile(const csr_guard& guard, const row_offsets& rows,
                                                   const Column* columns, std::uint64_t limit, std::uint64_t begin,
                                                   std::uint64_t end, unsigned step) {
  while (begin < end && columns[begin] < limit) begin += step;
  const std::uint64_t row =
      partition_point(std::uint64_t{0}, rows.rows, [&](std::uint64_t of) { return rows.end(of) <= begin; });
  if (begin < end && row < rows.rows) report_column(guard, columns, limit, begin, begin + 1, row);
}

template <class Sum>
struct open_row {
  unsigned row;
  Sum sum;
};

struct add_open_rows {
  template <class Sum>
  __device__ open_row<Sum> operator()(const open_row<Sum>& a, const open_row<Sum>& b) const {
    return {b.row, a.row == b.row ? a.sum + b.sum : b.sum};
  }
};

/// Stages the products of the places [begin, end), those with a bad column as 0. All entries are read before x is.
template <class Sum, class Value, class Column>
__device__ __forceinline__ void stage_products(const product_arguments<Value, Column>& args, row_range places,
                                               Sum* products) {
  Column column[items_each];
  Value value[items_each];
  bool is_bad = false;
  const int left = static_cast<int>(places.length()) - static_cast<int>(threadIdx.x);
  const Column* const columns = args.columns + places.begin + threadIdx.x;
  const Value* const values = args.values + places.begin + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    column[k] = 0;
    value[k] = 0;
    if (static_cast<int>(k * block_threads) < left) {
      column[k] = __ldcs(columns + k * block_threads);
      value[k] = __ldcs(values + k * block_threads);
    }
  }
  __syncwarp();  // the compiler puts no read of an entry below the first use of another
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const bool is_place = static_cast<int>(k * block_threads) < left;
    const Column near = min(column[k], args.last_column);
    Value x = 0;
    if (is_place) x = __ldg(args.x + near);
    if (is_place && column[k] >= args.column_limit) {
      is_bad = true;
      value[k] = x = 0;
    }
    products[k * block_threads + threadIdx.x] = static_cast<Sum>(value[k]) * static_cast<Sum>(x);
  }
  if (is_bad) {
    report_column_of_tile(args.guard, args.rows, args.columns, args.column_limit, places.begin + threadIdx.x,
                          places.end, block_threads);
  }
}

/// The rows that end in a tile, and its places.
struct merge_tile {
  std::uint64_t first_row;
  std::uint64_t last_row;
  row_range places;
  bool is_fitting;  ///< false only where offsets that are wrong made the cuts
};

/// @param first_item, last_item  of the tile
__device__ __forceinline__ merge_tile tile_of(const std::uint64_t* cuts, row_range all, std::uint64_t first_item,
                                              std::uint64_t last_item) {
  merge_tile tile;
  tile.first_row = cuts[0];
  tile.last_row = cuts[1];
  tile.places = {all.begin + (first_item - tile.first_row), all.begin + (last_item - tile.last_row)};
  tile.is_fitting = tile.first_row <= first_item && tile.last_row <= last_item &&
                    tile.last_row - tile.first_row <= tile_items && tile.places.begin <= tile.places.end &&
                    tile.places.end <= all.end && tile.places.length() <= tile_items;
  return tile;
}

/// Checks the rows that end in a tile, and stages their ends, counted from the tile's first place.
__device__ __forceinline__ void stage_ends(const csr_guard& guard, const row_offsets& rows, const merge_tile& tile,
                                           unsigned* fault, unsigned* ends) {
  const row_range& places = tile.places;
  for (std::uint64_t row_index = tile.first_row + threadIdx.x; row_index < tile.last_row; row_index += block_threads) {
    const row_range row{rows.begin(row_index), rows.end(row_index)};
    if (!rows.is_row(row)) {
      report_row(guard, rows, row_index);
      *fault = rows_are_wrong;
    }
    if (tile.is_fitting) {
      ends[row_index - tile.first_row] =
          static_cast<unsigned>(min(max(row.end, places.begin), places.end) - places.begin);
    }
  }
}

/// What a thread makes of its items: rows that begin and end in them are written, and these are left.
template <class Sum>
struct thread_sums {
  open_row<Sum> open;   ///< the row that goes on behind the items
  bool has_end;         ///< a row ends in them
  unsigned row_of_end;  ///< the first that does
  Sum sum_to_end;       ///< its part; it may have begun in other threads
};

/// Walks over a thread's items: from the merged list of the tile's `rows` row ends and `count` products.
template <class Sum, class Value, class Column>
__device__ __forceinline__ thread_sums<Sum> sum_items(const product_arguments<Value, Column>& args,
                                                      std::uint64_t first_row, unsigned rows, unsigned count,
                                                      const unsigned* ends, const Sum* products) {
  const unsigned first = min(threadIdx.x * items_each, rows + count);
  unsigned row = partition_point(0U, rows, [&](unsigned of) { return ends[of] + of < first; });
  unsigned place = first - min(row, first);
  thread_sums<Sum> sums{{0, 0}, false, 0, 0};
  Sum sum = 0;
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    if (first + k >= rows + count) continue;
    if (place < count && (row >= rows || ends[row] > place)) {
      sum += products[place++];
      continue;
    }
    if (!sums.has_end) {
      sums.has_end = true;
      sums.row_of_end = row;
      sums.sum_to_end = sum;
    } else if (row < rows) {
      write_result(args, first_row + row, sum);
    }
    sum = 0;
    ++row;
  }
  sums.open = {row, sum};
  return sums;
}

/// Sums the rows of one tile a block.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_tiles(const __grid_constant__ product_arguments<Value, Column> args, merge_tiles<Sum> tiles) {
  using block_scan = cub::BlockScan<open_row<Sum>, block_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ Sum products[tile_items];
  __shared__ unsigned ends[tile_items];
  __shared__ typename block_scan::TempStorage storage;
  const std::uint64_t tile_index = blockIdx.x;
  const row_range all = all_entries(args.rows);
  const std::uint64_t items = args.rows.rows + all.length();
  const std::uint64_t first_item = tile_index * tile_items;
  const std::uint64_t last_item = min(first_item + tile_items, items);
  if (first_item >= items || *static_cast<volatile unsigned*>(tiles.fault) == rows_were_checked) return;
  const merge_tile tile = tile_of(tiles.cuts + tile_index, all, first_item, last_item);
  stage_ends(args.guard, args.rows, tile, tiles.fault, ends);
  if (!tile.is_fitting) {
    if (threadIdx.x == 0) *tiles.fault = rows_are_wrong;
    return;
  }
  stage_products(args, tile.places, products);
  __syncthreads();

  const auto rows = static_cast<unsigned>(tile.last_row - tile.first_row);
  const thread_sums<Sum> own =
      sum_items(args, tile.first_row, rows, static_cast<unsigned>(tile.places.length()), ends, products);
  open_row<Sum> before;
  block_scan(storage).ExclusiveScan(own.open, before, open_row<Sum>{0, Sum{0}}, add_open_rows());
  if (own.has_end && own.row_of_end < rows) {
    const Sum of_row = before.sum + own.sum_to_end;
    if (own.row_of_end == 0) {
      tiles.heads[tile_index] = of_row;
    } else {
      write_result(args, tile.first_row + own.row_of_end, of_row);
    }
  }
  if (threadIdx.x == block_threads - 1) tiles.tails[tile_index] = add_open_rows()(before, own.open).sum;
}

/// Sums all rows anew, one a warp, without those that are wrong.
template <class Sum, class Value, class Column>
__device__ __forceinline__ void sum_all_rows(const product_arguments<Value, Column>& args) {
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32; row < args.rows.rows;
       row += std::uint64_t{gridDim.x} * warps_of_a_block) {
    row_range r{args.rows.begin(row), args.rows.end(row)};
    if (!args.rows.is_row(r)) r = {0, 0};
    const Sum sum = sum_of_piece<false, Sum>(args, static_cast<const Value*>(nullptr), r, row);
    if (threadIdx.x % 32 == 0) write_result(args, row, sum);
  }
}

/// Adds the tails of the tiles [begin, tile) by a block, in which thread 0 has the sum.
template <class Sum>
__device__ __forceinline__ Sum sum_of_tails(const Sum* tails, std::uint64_t begin, std::uint64_t tile) {
  Sum sum = 0;
  for (std::uint64_t i = begin + threadIdx.x; i < tile; i += block_threads) sum += tails[i];
  return sum_of_warps<block_threads>(sum_of_lanes<32>(sum));
}

/// Adds up the rows that reach over edges of tiles: for each tile in which a row ends, what the tiles before it have of
/// the first such row. One tile a thread; a row of many tiles is left to the block. Where a row is wrong, all rows are
/// summed anew.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    add_tails(const __grid_constant__ product_arguments<Value, Column> args, merge_tiles<Sum> tiles) {
  constexpr std::uint64_t most_of_a_thread = 16;
  __shared__ unsigned wide[block_threads];
  __shared__ std::uint64_t wide_begin[block_threads];
  __shared__ unsigned wide_count;
  if (*tiles.fault != rows_are_right) return sum_all_rows<Sum>(args);
  const std::uint64_t items = args.rows.rows + all_entries(args.rows).length();
  const std::uint64_t tile_count = (items + tile_items - 1) / tile_items;
  const std::uint64_t base = std::uint64_t{blockIdx.x} * block_threads;
  const std::uint64_t tile_index = base + threadIdx.x;
  if (threadIdx.x == 0) wide_count = 0;
  __syncthreads();
  const std::uint64_t row = tile_index < tile_count ? tiles.cuts[tile_index] : 0;
  if (tile_index < tile_count && tiles.cuts[tile_index + 1] > row) {
    // The first tile behind which the row goes on.
    const std::uint64_t begin =
        partition_point(std::uint64_t{0}, tile_index, [&](std::uint64_t of) { return tiles.cuts[of + 1] < row; });
    if (tile_index - begin <= most_of_a_thread) {
      Sum sum = 0;
      for (std::uint64_t i = begin; i < tile_index; ++i) sum += tiles.tails[i];
      write_result(args, row, sum + tiles.heads[tile_index]);
    } else {
      const unsigned at = atomicAdd(&wide_count, 1U);
      wide[at] = threadIdx.x;
      wide_begin[at] = begin;
    }
  }
  __syncthreads();
  for (unsigned i = 0; i < wide_count; ++i) {
    const std::uint64_t tile = base + wide[i];
    const Sum sum = sum_of_tails(tiles.tails, wide_begin[i], tile);
    if (threadIdx.x == 0) write_result(args, tiles.cuts[tile], sum + tiles.heads[tile]);
    __syncthreads();
  }
}

void run_merge(const context& ctx, const spmv_problem& problem, const plan::planned&, const spmv_buffers& buffers,
               std::byte* scratch) {
  const device_scope scope(ctx.device());
  const csr_guard guard = guard_of(ctx, problem, problem.call);
  with_product_types(problem, [&]<class Types>(Types) {
    using value = typename Types::value;
    using sum = typename Types::sum;
    using column = typename Types::column;
    core::scratch_arrays place(scratch);
    const std::uint64_t count = most_tiles_of(problem);
    const merge_tiles<sum> tiles(count, place);
    const auto args = arguments_of<value, column>(problem, buffers, guard);
    require(cudaMemsetAsync(tiles.fault, 0, sizeof *tiles.fault, ctx.stream()), ctx);
    launch(ctx, cut_tiles, ceil_div(count + 1, block_threads), guard, args.rows, problem.reads_y, count, tiles.cuts,
           tiles.fault);
    launch(ctx, sum_tiles<sum, value, column>, count, args, tiles);
    launch(ctx, add_tails<sum, value, column>, ceil_div(count, block_threads), args, tiles);
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_merge{"cuda.merge", backend_kind::cuda, plan_merge, run_merge};

}  // namespace sheaf::cuda
