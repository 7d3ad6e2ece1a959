#include "cuda/reduce/block_sums.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/terms.cuh"
#include "cuda/sparse/sums/matrix.cuh"

// The variant cuda.atomic of transposed products, in any order. A warp takes adjacent rows, and its lanes read the
// entries of all of them side by side, as if they were one list; each entry, times alpha x of its row, is added to y by
// an atomic that returns nothing. Long rows are cut into pieces, which are dealt out to warps of the whole device.
// Atomics on one number wait for each other. So blocks add up in shared memory first where y is small, in copies of it,
// and where columns are hot, in sums of those that come often (privatization); a sample of the columns decides that on
// the device.
namespace sheaf::cuda {
namespace {

constexpr unsigned resident_blocks = 5;  ///< of a multiprocessor, at least
constexpr unsigned places_at_once = 4;   ///< of each lane, that are in flight
/// Rows from these entries on are added in pieces of as many (the first of up to twice as many), because a warp may
/// have 32 adjacent rows that are almost long, while all other warps are done. These numbers are from an H200
/// (docs/experiments/sparse.md, transposed products in any order).
constexpr std::uint64_t long_row_entries = 256;

/// Whether many entries have the same few columns.
enum class hot_columns : std::uint32_t { none, present, sampled };
constexpr const char* hot_columns_words[] = {"none", "present", "sampled"};

/// What a plan decides for run, by the sizes of the matrix and the pattern of its columns.
struct atomic_decision {
  std::uint32_t rows_of_warp = 0;       ///< up to 32
  std::uint32_t pieces_of_warp = 0;     ///< up to 32
  std::uint32_t copies_of_y = 0;        ///< in the shared memory of a block; 0: atomics add to y itself
  hot_columns hot = hot_columns::none;  ///< sampled: the device looks at the columns in every run

  void tell(plan::told& to) const {
    to.add("rows_of_warp", rows_of_warp)
        .add("pieces_of_warp", pieces_of_warp)
        .add("copies_of_y", copies_of_y)
        .add("hot_columns", hot_columns_words[static_cast<int>(hot)]);
  }
};

constexpr std::uint64_t most_private_bytes = 48 << 10;  ///< of all copies of y in a block

std::uint64_t mean_length(const spmv_problem& p) noexcept {
  return std::max<std::uint64_t>(1, ceil_div(p.entries, std::max<std::uint64_t>(1, p.rows)));
}

constexpr std::uint64_t least_warps = 4096;  ///< among which a small matrix is divided

/// Rows of a warp, so that it has 1024 entries, whose offsets are waited for once; fewer in small matrices, which would
/// leave warps idle. Where most rows are long, a warp only asks for several at once whether all pieces are found.
std::uint32_t rows_of_warp(const spmv_problem& p) noexcept {
  constexpr std::uint64_t long_rows = 8;
  if (mean_length(p) >= long_row_entries) return long_rows;
  const std::uint64_t entries = std::clamp<std::uint64_t>(p.entries / least_warps, 128, 1024);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(entries / mean_length(p), 1, 32));
}

/// Pieces of a warp, whose rows its lanes look for at the same time: few in small matrices, so that many warps share
/// adjacent pieces.
std::uint32_t pieces_of_warp(const spmv_problem& p) noexcept {
  const std::uint64_t pieces = p.entries / long_row_entries;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_ceil(ceil_div(pieces, least_warps)), 4, 32));
}

/// Copies of y in a block: one for each lane of a warp where they are small, so that lanes that add to one column do
/// not wait for each other. None where they do not fit, or where a device's blocks would add as many sums to y at their
/// end as there are entries.
std::uint32_t copies_of_small_y(const spmv_problem& p) noexcept {
  constexpr std::uint64_t least_entries_of_a_column = 512;
  constexpr std::uint64_t bytes_of_several = most_private_bytes / 2;  // more would leave room for fewer blocks
  const std::uint64_t y_bytes = p.columns * p.value_bytes();
  if (y_bytes > most_private_bytes || p.entries / least_entries_of_a_column < p.columns) return 0;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(bytes_of_several / std::max<std::uint64_t>(1, y_bytes), 1, 32)));
}

hot_columns hot_columns_of(const spmv_problem& p) noexcept {
  using kind = access_pattern::kind;
  constexpr std::uint64_t least_entries = 1 << 16;
  // Blocks with copies of y add to these, whatever columns are hot.
  if (copies_of_small_y(p) > 0) return hot_columns::none;
  if (p.entries < least_entries || p.columns >= block_sums<double>::free_entry) return hot_columns::none;
  switch (p.pattern.shape) {
    case kind::skewed:
    case kind::repeated: return hot_columns::present;
    case kind::unknown: return hot_columns::sampled;
    default: return hot_columns::none;
  }
}

struct spmv_atomic_tuning {
  /// A sum in shared memory takes as long as so many bytes of a copy (reduce/atomic.cu).
  double private_sum_bytes = 24;
  /// Of the time of atomics at random. Neighbouring lanes have neighbouring columns in bands and grids, and one atomic
  /// of a warp takes as long as the sectors that it names.
  double side_by_side_share = 0.25;
  double usual_share = 0.75;  ///< where nothing is said of the columns
};
constexpr spmv_atomic_tuning tuning_of_spmv_atomic;

double atomic_seconds(const spmv_problem& p, const machine& m) noexcept {
  using kind = access_pattern::kind;
  const std::uint64_t y_bytes = p.columns * p.value_bytes();
  const auto added_in = [&](std::uint64_t window) { return m.atomic_adds(p.entries, p.value_bytes(), window); };
  const std::uint64_t in_cache = std::min(y_bytes, m.cache_bytes / 4 + 1);
  switch (p.pattern.shape) {
    case kind::unknown: return tuning_of_spmv_atomic.usual_share * added_in(y_bytes);
    case kind::sequential:
    case kind::clustered: return tuning_of_spmv_atomic.side_by_side_share * added_in(in_cache);
    case kind::skewed:
    case kind::repeated: return added_in(in_cache);
    default: return added_in(y_bytes);
  }
}

// The matrix streams past, and every entry is an atomic. y is written, and then goes through the cache while it is
// added to.
plan::planned plan_atomic(const spmv_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (p.order == reduction_order::deterministic) return plan::rejected("adds in the order in which workers arrive");
  if (p.sum_bytes() != p.value_bytes()) return plan::rejected("results are narrower than their sums");
  const atomic_decision decided{rows_of_warp(p), pieces_of_warp(p), copies_of_small_y(p), hot_columns_of(p)};
  const std::uint64_t streamed =
      p.matrix_bytes() + p.rows * p.value_bytes() + p.y_bytes() + 2 * p.columns * p.value_bytes();
  const double sums = static_cast<double>(p.entries) * tuning_of_spmv_atomic.private_sum_bytes;
  const double added = decided.copies_of_y > 0 ? sums / m.copy_bytes_per_second : atomic_seconds(p, m);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 2 * m.step_seconds);
  plan.add_overlapped(2, {{"streamed", m.streamed(streamed, streamed)}, {"atomics", added}});
  plan.decided.set(decided);
  return plan;
}

/// How the blocks of a call share the rows: first those of long rows, then those of all others.
struct row_shares {
  std::uint64_t long_blocks = 0;     ///< 0 where no row can be long
  std::uint64_t blocks_of_tile = 1;  ///< that share the long rows of block_threads rows, where rows lie anywhere
  std::uint64_t row_blocks = 0;
  unsigned rows_of_warp = 0;
  unsigned pieces_of_warp = 0;

  __host__ __device__ std::uint64_t blocks() const { return long_blocks + row_blocks; }
};

/// The sums of y itself.
template <class Value>
struct sums_in_y {
  Value* y;

  __device__ __forceinline__ void add(std::uint64_t column, Value term) const { add_to(y + column, term); }
};

/// Adds to a number in shared memory, and returns nothing. The address space is said, because functions of their own
/// do not know it.
__device__ __forceinline__ void add_to_shared(float* sum, float term) {
  asm volatile("red.relaxed.cta.shared.add.f32 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(sum))),
               "f"(term)
               : "memory");
}
__device__ __forceinline__ void add_to_shared(double* sum, double term) {
  asm volatile("red.relaxed.cta.shared.add.f64 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(sum))),
               "d"(term)
               : "memory");
}

/// The sums of hot columns in shared memory, and those of all others in y.
constexpr std::uint32_t log2_hot_sums = 10;
template <class Value>
struct sums_of_hot_columns {
  block_sums<Value, log2_hot_sums>* hot;
  Value* y;

  __device__ __forceinline__ void add(std::uint64_t column, Value term) const {
    if (!hot->add(static_cast<std::uint32_t>(column), term)) add_to(y + column, term);
  }
};

/// A block's sums in shared memory, in copies side by side, of which a lane has one.
template <class Value>
struct private_sums {
  Value* sums;
  unsigned log2_copies;

  __device__ __forceinline__ void add(std::uint64_t column, Value term) const {
    const unsigned copy = threadIdx.x & ((1U << log2_copies) - 1);
    add_to_shared(sums + ((static_cast<unsigned>(column) << log2_copies) + copy), term);
  }
};

// ---- parts of rows, of which each lane has one

/// Adjacent places of a row; none, if there is nothing to add.
template <class Value>
struct row_part {
  std::uint64_t begin = 0;
  unsigned length = 0;
  Value factor = 0;  ///< alpha times x of the row
};

template <class Value, class Column>
__device__ __forceinline__ row_part<Value> part_of_row(const product_arguments<Value, Column>& args, row_range places,
                                                       std::uint64_t row) {
  return {places.begin, static_cast<unsigned>(places.length()), static_cast<Value>(args.alpha) * __ldg(args.x + row)};
}

/// The position of the i-th set bit of a mask, counted from 0; any, if it has fewer.
__device__ __forceinline__ unsigned position_of_bit(unsigned mask, unsigned i) {
  unsigned position = 0;
#pragma unroll
  for (unsigned half = 16; half != 0; half /= 2) {
    const unsigned below = __popc(mask & ((1U << half) - 1));
    if (i < below) continue;
    i -= below;
    mask >>= half;
    position += half;
  }
  return position;
}

/// Adds the entries of the parts that the lanes of a warp have, as if they were one list: lanes read adjacent entries
/// of it, whatever the lengths of parts (load balancing). Of 32 adjacent entries a word of bits says which begin a
/// part, so that a lane counts bits to find the part of its own. Returns whether the lane met a bad column, in any
/// part.
template <class Value, class Column, class Sums>
__device__ __forceinline__ bool add_parts(const product_arguments<Value, Column>& args, row_part<Value> own,
                                          const Sums& sums) {
  const unsigned lane = threadIdx.x % 32;
  unsigned end = own.length;  // in the list
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned before = __shfl_up_sync(~0U, end, distance);
    if (lane >= distance) end += before;
  }
  const unsigned count = __shfl_sync(~0U, end, 31);
  // The first lanes get the parts that have entries, so that no two begin at one entry of the list.
  const unsigned filled = __ballot_sync(~0U, own.length != 0 ? 1 : 0);
  const unsigned from = position_of_bit(filled, lane);
  const unsigned own_begin = end - own.length;
  const unsigned begin_read = __shfl_sync(~0U, own_begin, from);
  const unsigned begin = lane < __popc(filled) ? begin_read : ~0U;
  const std::uint64_t to_place = __shfl_sync(~0U, own.begin - own_begin, from);
  const Value factor = __shfl_sync(~0U, own.factor, from);
  bool has_bad_columns = false;
  unsigned begun = 0;  // parts that begin before the entries at hand
  for (unsigned first = 0; first < count; first += places_at_once * 32) {
    unsigned part[places_at_once];
    Column column[places_at_once];
    Value value[places_at_once];
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      const unsigned at = begin - (first + k * 32);
      const unsigned begins = __reduce_or_sync(~0U, at < 32 ? 1U << at : 0);
      part[k] = begun + __popc(begins & ~0U >> (31 - lane)) - 1;
      begun += __popc(begins);
      // Read without a condition before it, so that all are under way together: past the last entry, that one again.
      const std::uint64_t place = __shfl_sync(~0U, to_place, part[k]) + min(first + k * 32 + lane, count - 1);
      column[k] = __ldcs(args.columns + place);
      value[k] = __ldcs(args.values + place);
    }
    __syncwarp();  // the compiler puts no read of an entry below the first use of another
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) value[k] *= __shfl_sync(~0U, factor, part[k]);
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      const bool is_there = first + k * 32 + lane < count;
      const bool is_good = column[k] < args.column_limit;
      if (is_there && is_good) sums.add(column[k], value[k]);
      has_bad_columns |= is_there && !is_good;
    }
  }
  return has_bad_columns;
}

/// Adds parts, and reports the first bad column of each.
template <class Value, class Column, class Sums>
__device__ __forceinline__ void add_checked_parts(const product_arguments<Value, Column>& args, row_part<Value> own,
                                                  std::uint64_t row, const Sums& sums) {
  if (__any_sync(~0U, add_parts(args, own, sums) ? 1 : 0) != 0) {
    report_column(args.guard, args.columns, args.column_limit, own.begin, own.begin + own.length, row);
  }
  __syncwarp();
}

// ---- long rows of which one begins where the one before it ends

/// The last row that begins at `place` or before it, by halves, as last_begun finds it: whatever the offsets are, rows
/// ascend with places. What either outcome asks for next is read at the same time, so that a lane waits half as often.
__device__ __forceinline__ std::uint64_t row_of_place(const row_offsets& rows, std::uint64_t place) {
  std::uint64_t low = 0;
  std::uint64_t high = rows.rows;
  while (high - low > 3) {
    const std::uint64_t middle = (low + high) / 2;
    const std::uint64_t before = (low + middle) / 2;
    const std::uint64_t behind = (middle + high) / 2;
    const std::uint64_t of_middle = rows.begin(middle);
    const std::uint64_t of_before = rows.begin(before);
    const std::uint64_t of_behind = rows.begin(behind);
    if (of_middle <= place) {
      low = of_behind <= place ? behind : middle;
      if (of_behind > place) high = behind;
    } else {
      high = of_before <= place ? middle : before;
      if (of_before <= place) low = before;
    }
  }
  return last_begun(low, high, [&](std::uint64_t row) { return rows.begin(row) <= place; });
}

/// The piece of a long row that has the place `cut`, a multiple of long_row_entries: to the next such place, and from
/// the row's begin if this is its first.
__device__ __forceinline__ row_range piece_at(row_range row, std::uint64_t cut) {
  return {cut - row.begin < long_row_entries ? row.begin : cut, min(row.end, cut + long_row_entries)};
}

/// Adds the pieces of long rows. A long row has at least as many entries as a piece, so it has a place whose number is
/// a multiple of these: for each such place of the arrays, a lane looks for its row, and the warp adds what pieces its
/// lanes have found.
template <class Value, class Column, class Sums>
__device__ __noinline__ void add_pieces(const product_arguments<Value, Column>& args, const row_shares& shares,
                                        std::uint64_t block, Sums sums) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t warp = block * warps_of_a_block + threadIdx.x / 32;
  const std::uint64_t cut = (warp * shares.pieces_of_warp + lane) * long_row_entries;
  std::uint64_t row = 0;
  row_part<Value> own;
  if (lane < shares.pieces_of_warp && cut < args.rows.limit) {
    row = row_of_place(args.rows, cut);
    const row_range r{args.rows.begin(row), args.rows.end(row)};
    if (args.rows.is_row(r) && r.begin <= cut && cut < r.end && r.length() >= long_row_entries) {
      own = part_of_row(args, piece_at(r, cut), row);
    }
  }
  add_checked_parts(args, own, row, sums);
}

/// Whether add_pieces does not find all pieces of a long row: never, unless offsets descend somewhere. The rows of its
/// places ascend, so that all are the row if those of its first and last piece are.
__device__ __forceinline__ bool has_missed_pieces(const row_offsets& rows, row_range r, std::uint64_t row) {
  return row_of_place(rows, (r.begin + long_row_entries - 1) / long_row_entries * long_row_entries) != row ||
         row_of_place(rows, (r.end - 1) / long_row_entries * long_row_entries) != row;
}

/// Adds those pieces of a long row that add_pieces does not find.
template <class Value, class Column, class Sums>
__device__ __forceinline__ void add_missed_pieces(const product_arguments<Value, Column>& args, row_range r,
                                                  std::uint64_t row, const Sums& sums) {
  const std::uint64_t begin = (r.begin + long_row_entries - 1) / long_row_entries * long_row_entries;
  for (std::uint64_t first = begin; first < r.end; first += 32 * long_row_entries) {
    const std::uint64_t cut = first + threadIdx.x % 32 * long_row_entries;
    row_part<Value> own;
    if (cut < r.end && row_of_place(args.rows, cut) != row) own = part_of_row(args, piece_at(r, cut), row);
    add_checked_parts(args, own, row, sums);
  }
}

// ---- long rows that may overlap, and of which nothing bounds the number

/// Adds a block's share of the long rows of a tile: each thread looks at a row, and the warps of all blocks of the tile
/// take the pieces of those that are long in turn.
template <class Value, class Column, class Sums>
__device__ __noinline__ void add_long_rows_of_tile(const product_arguments<Value, Column>& args,
                                                   const row_shares& shares, std::uint64_t block, Sums sums) {
  __shared__ std::uint64_t found[block_threads];
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const std::uint64_t own_row = block / shares.blocks_of_tile * block_threads + threadIdx.x;
  if (own_row < args.rows.rows) {
    const row_range r{args.rows.begin(own_row), args.rows.end(own_row)};
    if (args.rows.is_row(r) && r.length() >= long_row_entries) found[atomicAdd(&count, 1U)] = own_row;
  }
  __syncthreads();
  const std::uint64_t warps = shares.blocks_of_tile * warps_of_a_block;
  const std::uint64_t warp = block % shares.blocks_of_tile * warps_of_a_block + threadIdx.x / 32;
  for (unsigned i = 0; i < count; ++i) {
    const row_range r{args.rows.begin(found[i]), args.rows.end(found[i])};
    // Each row has another warp begin, so that all have some of rows of few pieces. Blocks find rows in any order.
    const std::uint64_t first = (warp + found[i]) % warps * long_row_entries;
    const std::uint64_t step = warps * long_row_entries;
    for (std::uint64_t at = r.begin + first; at < r.end; at += 32 * step) {
      const std::uint64_t begin = at + threadIdx.x % 32 * step;
      row_part<Value> own;
      if (begin < r.end) own = part_of_row(args, {begin, min(r.end, begin + long_row_entries)}, found[i]);
      add_checked_parts(args, own, found[i], sums);
    }
  }
  __syncthreads();
}

// ---- other rows

/// Reports what is wrong with a warp's rows, and adds pieces of long ones that searches miss. In a function of its own,
/// which reads offsets again, so that add_rows_of_warp need not remember them.
template <class Value, class Column, class Sums>
__device__ __noinline__ void look_again_at_rows(const product_arguments<Value, Column>& args, const row_shares& shares,
                                                std::uint64_t first_row, std::uint64_t end_row, bool has_bad_columns,
                                                Sums sums) {
  const std::uint64_t own_row = first_row + threadIdx.x % 32;
  bool is_missed = false;
  if (own_row < end_row) {
    const row_range range = checked_row(args.guard, args.rows, own_row);
    const bool is_long = range.length() >= long_row_entries;
    if (has_bad_columns && !is_long) {
      report_column(args.guard, args.columns, args.column_limit, range.begin, range.end, own_row);
    }
    is_missed = is_long && !args.rows.lie_anywhere && has_missed_pieces(args.rows, range, own_row);
  }
  unsigned missed = __ballot_sync(~0U, is_missed ? 1 : 0);
  for (; missed != 0; missed &= missed - 1) {
    const std::uint64_t row = first_row + static_cast<unsigned>(__ffs(static_cast<int>(missed)) - 1);
    add_missed_pieces(args, {args.rows.begin(row), args.rows.end(row)}, row, sums);
  }
}

/// The row that a lane looks at, as it was read.
template <class Value>
struct lane_row {
  row_range range{};
  Value x = 0;
};

__device__ __forceinline__ std::uint64_t first_row_of_warp(const row_shares& shares, std::uint64_t block) {
  return ((block - shares.long_blocks) * warps_of_a_block + threadIdx.x / 32) * shares.rows_of_warp;
}

/// Reads the lane's row of a block that has rows of warps; past the last row, that one. In a block that has pieces, it
/// reads any row, so that there is no branch before the reads.
template <class Value, class Column>
__device__ __forceinline__ lane_row<Value> read_row(const product_arguments<Value, Column>& args,
                                                    const row_shares& shares, std::uint64_t block) {
  const std::uint64_t row = min(first_row_of_warp(shares, block) + threadIdx.x % 32, args.rows.rows - 1);
  return {{args.rows.begin(row), args.rows.end(row)}, __ldg(args.x + row)};
}

/// Adds the entries of the rows [first_row, end_row), of which each lane has read one.
template <class Value, class Column, class Sums>
__device__ __forceinline__ void add_rows_of_warp(const product_arguments<Value, Column>& args, const row_shares& shares,
                                                 std::uint64_t first_row, std::uint64_t end_row,
                                                 const lane_row<Value>& read, const Sums& sums) {
  const bool is_there = first_row + threadIdx.x % 32 < end_row;
  const bool is_row = args.rows.is_row(read.range);
  const bool is_long = read.range.length() >= long_row_entries;
  row_part<Value> own{read.range.begin, static_cast<unsigned>(read.range.length()),
                      static_cast<Value>(args.alpha) * read.x};
  if (!is_there || !is_row || is_long) own.length = 0;
  const bool may_miss_pieces = is_long && !args.rows.lie_anywhere;
  const bool is_left = __any_sync(~0U, is_there && (!is_row || may_miss_pieces) ? 1 : 0) != 0;
  const bool has_bad_columns = __any_sync(~0U, add_parts(args, own, sums) ? 1 : 0) != 0;
  if (is_left || has_bad_columns) look_again_at_rows(args, shares, first_row, end_row, has_bad_columns, sums);
}

/// Adds a block's share of the products; `read` is what read_row gave. All threads of the block call this.
template <class Value, class Column, class Sums>
__device__ __forceinline__ void add_share(const product_arguments<Value, Column>& args, const row_shares& shares,
                                          std::uint64_t block, const lane_row<Value>& read, const Sums& sums) {
  if (block < shares.long_blocks) {
    if (args.rows.lie_anywhere) {
      add_long_rows_of_tile(args, shares, block, sums);
    } else {
      add_pieces(args, shares, block, sums);
    }
    return;
  }
  const std::uint64_t first_row = first_row_of_warp(shares, block);
  if (first_row >= args.rows.rows) return;
  add_rows_of_warp(args, shares, first_row, min(args.rows.rows, first_row + shares.rows_of_warp), read, sums);
}

/// Whether columns are hot: as the host knows, or as begin_sums has found.
struct hot_verdict {
  bool is_known = true;
  bool is_hot = false;
  order_verdict sampled;

  /// Twice the call's number, plus one if they are hot.
  __device__ unsigned long long word(bool has_hot) const { return sampled.call_number << 1 | (has_hot ? 1 : 0); }
  __device__ unsigned long long read() const {
    if (is_known) return word(is_hot);
    const unsigned copy = blockIdx.x % order_verdict::copies * order_verdict::copy_words;
    return *static_cast<const volatile unsigned long long*>(sampled.slot + copy);
  }
};

/// Multiplies y by beta, or fills it with zeros; and block 0 samples the columns, and says whether they are hot.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    begin_sums(const __grid_constant__ product_arguments<Value, Column> args,
               const __grid_constant__ hot_verdict verdict, std::uint64_t count) {
  let_next_kernel_start();
  if (blockIdx.x == 0) {
    const bool has_hot = sample_has_hot_slots(
        args.entries, [&](std::uint64_t place) { return static_cast<std::uint64_t>(__ldg(args.columns + place)); });
    if (threadIdx.x < order_verdict::copies) {
      verdict.sampled.slot[threadIdx.x * order_verdict::copy_words] = verdict.word(has_hot);
    }
  }
  const auto beta = static_cast<Value>(args.beta);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * block_threads) {
    args.y[i] = args.reads_y ? beta * args.y[i] : Value{0};
  }
}

/// Adds to y. The device starts blocks in order, so that all of them work on one stretch of the matrix.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    add_products(const __grid_constant__ product_arguments<Value, Column> args,
                 const __grid_constant__ row_shares shares, const __grid_constant__ hot_verdict verdict) {
  __shared__ block_sums<Value, log2_hot_sums> hot;
  wait_for_kernel_before();
  const unsigned long long found = verdict.read();
  const lane_row<Value> read = read_row(args, shares, blockIdx.x);
  __syncwarp();  // the compiler puts no read of a row below the first use of the verdict
  if (found != verdict.word(true)) return add_share(args, shares, blockIdx.x, read, sums_in_y<Value>{args.y});
  hot.clear();
  __syncthreads();
  add_share(args, shares, blockIdx.x, read, sums_of_hot_columns<Value>{&hot, args.y});
  __syncthreads();
  hot.flush([&](std::uint32_t column, Value sum) { add_to(args.y + column, sum); });
}

/// Adds to copies of y in shared memory, and these to y at the end of the block.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    add_products_privately(const __grid_constant__ product_arguments<Value, Column> args,
                           const __grid_constant__ row_shares shares, unsigned columns, unsigned log2_copies) {
  extern __shared__ __align__(16) std::byte shared_sums[];
  auto* const sums = reinterpret_cast<Value*>(shared_sums);
  for (unsigned i = threadIdx.x; i < columns << log2_copies; i += block_threads) sums[i] = 0;
  __syncthreads();
  for (std::uint64_t block = blockIdx.x; block < shares.blocks(); block += gridDim.x) {
    add_share(args, shares, block, read_row(args, shares, block), private_sums<Value>{sums, log2_copies});
  }
  __syncthreads();
  for (unsigned column = threadIdx.x; column < columns; column += block_threads) {
    Value sum = 0;
    for (unsigned copy = 0; copy < 1U << log2_copies; ++copy) sum += sums[(column << log2_copies) + copy];
    if (sum != 0) add_to(args.y + column, sum);
  }
}

row_shares shares_of(const context& ctx, const spmv_problem& p, const atomic_decision& decided) {
  constexpr std::uint64_t blocks_each = 8;
  row_shares shares;
  shares.rows_of_warp = decided.rows_of_warp;
  shares.row_blocks = ceil_div(p.rows, std::uint64_t{warps_of_a_block} * decided.rows_of_warp);
  shares.pieces_of_warp = decided.pieces_of_warp;
  if (p.entries < long_row_entries) return shares;
  const std::uint64_t entries_of_block = std::uint64_t{warps_of_a_block} * long_row_entries;
  shares.long_blocks = ceil_div(p.entries, entries_of_block * decided.pieces_of_warp);
  if (!p.has_row_ends) return shares;
  const std::uint64_t tiles = ceil_div(p.rows, block_threads);
  const std::uint64_t resident = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each;
  const std::uint64_t most_useful = ceil_div(p.entries, entries_of_block);
  shares.blocks_of_tile = std::clamp<std::uint64_t>(resident / tiles, 1, most_useful);
  shares.long_blocks = tiles * shares.blocks_of_tile;
  return shares;
}

/// Blocks that keep copies of y: about what the multiprocessors hold, but not so many that they add more sums to y than
/// a quarter of the entries, unless one on each multiprocessor does.
std::uint64_t blocks_with_copies(const context& ctx, const spmv_problem& p, std::uint64_t shared_bytes) {
  const auto multiprocessors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  const std::uint64_t resident = multiprocessors * (shared_bytes > most_private_bytes / 2 ? 4 : 6);
  const std::uint64_t worthwhile = p.entries / (4 * std::max<std::uint64_t>(1, p.columns));
  return std::clamp(worthwhile, multiprocessors, resident);
}

template <class Value, class Column>
void queue_private_products(const context& ctx, const spmv_problem& p, const atomic_decision& decided,
                            const product_arguments<Value, Column>& args) {
  const row_shares shares = shares_of(ctx, p, decided);
  const std::uint64_t shared_bytes = p.columns * decided.copies_of_y * sizeof(Value);
  scale_rows(ctx, {args.y, p.columns, 1, p.value}, args.reads_y ? args.beta : 0);
  launch_shared(ctx, add_products_privately<Value, Column>,
                std::min(shares.blocks(), blocks_with_copies(ctx, p, shared_bytes)), block_threads, shared_bytes, args,
                shares, static_cast<unsigned>(p.columns), static_cast<unsigned>(std::countr_zero(decided.copies_of_y)));
}

template <class Value, class Column>
void queue_products(const context& ctx, const spmv_problem& p, const atomic_decision& decided,
                    const product_arguments<Value, Column>& args) {
  const row_shares shares = shares_of(ctx, p, decided);
  hot_verdict verdict;
  verdict.is_hot = decided.hot == hot_columns::present;
  if (decided.hot == hot_columns::sampled) verdict.sampled = state_of(ctx).new_order_verdict();
  verdict.is_known = verdict.sampled.slot == nullptr;
  if (verdict.is_known) {
    scale_rows(ctx, {args.y, p.columns, 1, p.value}, args.reads_y ? args.beta : 0);
    return launch(ctx, add_products<Value, Column>, shares.blocks(), args, shares, verdict);
  }
  constexpr std::uint64_t blocks_each = 16;
  const std::uint64_t most = blocks_each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  const std::uint64_t scaled = args.reads_y && args.beta == 1 ? 0 : p.columns;
  launch(ctx, begin_sums<Value, Column>, std::clamp<std::uint64_t>(ceil_div(scaled, block_threads), 1, most), args,
         verdict, scaled);
  launch_overlapped(ctx, add_products<Value, Column>, shares.blocks(), block_threads, 0, args, shares, verdict);
}

void run_atomic(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
                std::byte*) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<atomic_decision>();
  if (p.rows == 0) return scale_rows(ctx, {b.y, p.columns, 1, p.value}, p.reads_y ? b.beta : 0);
  const csr_guard guard = guard_of(ctx, p, p.call);
  with_column_type(p, [&]<class Column>(Column) {
    const auto queue = [&](const auto& args) {
      decided.copies_of_y > 0 ? queue_private_products(ctx, p, decided, args) : queue_products(ctx, p, decided, args);
    };
    if (p.value == value_type::f64) {
      queue(arguments_of<double, Column>(p, b, guard));
    } else {
      queue(arguments_of<float, Column>(p, b, guard));
    }
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_atomic{"cuda.atomic", backend_kind::cuda, plan_atomic, run_atomic};

}  // namespace sheaf::cuda
