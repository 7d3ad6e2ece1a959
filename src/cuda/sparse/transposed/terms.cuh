#pragma once

#include "cuda/reduce/block_sums.cuh"
#include "cuda/sparse/sums/matrix.cuh"

// The terms of a transposed product: every entry of the matrix, times x of its row, is a term of the sum of its column.
// A warp takes adjacent rows, and its lanes read the entries of all of them side by side, as if they were one list.
// Long rows are cut into pieces, which are dealt out to warps of the whole device. What becomes of a term is left to
// `Sums`, a type with
//   term                        the type of terms;
//   factor(x)                   what the entries of a row are multiplied by;
//   add(column, term, counted)  takes places_at_once terms of a lane; those count that have a bit in `counted`.
namespace sheaf::cuda {

constexpr unsigned places_at_once = 4;  ///< of each lane, that are in flight
/// Rows from these entries on are added in pieces of as many (the first of up to twice as many), because a warp may
/// have 32 adjacent rows that are almost long, while all other warps are done. These numbers are from an H200
/// (docs/experiments/sparse.md, transposed products in any order).
constexpr std::uint64_t long_row_entries = 256;

/// Whether many entries have the same few columns.
enum class hot_columns : std::uint32_t { none, present, sampled };
constexpr const char* hot_columns_words[] = {"none", "present", "sampled"};

inline std::uint64_t mean_length(const spmv_problem& p) noexcept {
  return std::max<std::uint64_t>(1, ceil_div(p.entries, std::max<std::uint64_t>(1, p.rows)));
}

constexpr std::uint64_t least_warps = 4096;  ///< among which a small matrix is divided

/// Rows of a warp, so that it has 1024 entries, whose offsets are waited for once; fewer in small matrices, which would
/// leave warps idle. Where most rows are long, a warp only asks for several at once whether all pieces are found.
inline std::uint32_t rows_of_warp(const spmv_problem& p) noexcept {
  constexpr std::uint64_t long_rows = 8;
  if (mean_length(p) >= long_row_entries) return long_rows;
  const std::uint64_t entries = std::clamp<std::uint64_t>(p.entries / least_warps, 128, 1024);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(entries / mean_length(p), 1, 32));
}

/// Pieces of a warp, whose rows its lanes look for at the same time: few in small matrices, so that many warps share
/// adjacent pieces.
inline std::uint32_t pieces_of_warp(const spmv_problem& p) noexcept {
  const std::uint64_t pieces = p.entries / long_row_entries;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_ceil(ceil_div(pieces, least_warps)), 4, 32));
}

constexpr std::uint32_t log2_hot_columns = 10;  ///< columns of which a block keeps something in shared memory

/// What a plan decides of the terms of a warp.
struct warp_terms {
  std::uint32_t rows = 0;    ///< up to 32
  std::uint32_t pieces = 0;  ///< up to 32

  static warp_terms of(const spmv_problem& p) noexcept { return {rows_of_warp(p), pieces_of_warp(p)}; }
  void tell(plan::told& to) const { to.add("rows_of_warp", rows).add("pieces_of_warp", pieces); }
};

/// What the pattern says of hot columns; sampled: the device looks at the columns in every run.
inline hot_columns hot_columns_of(const spmv_problem& p) noexcept {
  using kind = access_pattern::kind;
  constexpr std::uint64_t least_entries = 1 << 16;
  if (p.entries < least_entries || p.columns >= block_slots<log2_hot_columns>::free_entry) return hot_columns::none;
  switch (p.pattern.shape) {
    case kind::skewed:
    case kind::repeated: return hot_columns::present;
    case kind::unknown: return hot_columns::sampled;
    default: return hot_columns::none;
  }
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

inline row_shares shares_of(const context& ctx, const spmv_problem& p, const warp_terms& warps) {
  constexpr std::uint64_t blocks_each = 8;
  row_shares shares;
  shares.rows_of_warp = warps.rows;
  shares.row_blocks = ceil_div(p.rows, std::uint64_t{warps_of_a_block} * warps.rows);
  shares.pieces_of_warp = warps.pieces;
  if (p.entries < long_row_entries) return shares;
  const std::uint64_t entries_of_block = std::uint64_t{warps_of_a_block} * long_row_entries;
  shares.long_blocks = ceil_div(p.entries, entries_of_block * warps.pieces);
  if (!p.has_row_ends) return shares;
  const std::uint64_t tiles = ceil_div(p.rows, block_threads);
  const std::uint64_t resident = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each;
  const std::uint64_t most_useful = ceil_div(p.entries, entries_of_block);
  shares.blocks_of_tile = std::clamp<std::uint64_t>(resident / tiles, 1, most_useful);
  shares.long_blocks = tiles * shares.blocks_of_tile;
  return shares;
}

// ---- parts of rows, of which each lane has one

/// Adjacent places of a row; none, if there is nothing to add.
template <class Term>
struct row_part {
  std::uint64_t begin = 0;
  unsigned length = 0;
  Term factor = 0;  ///< of the row's entries
};
template <class Sums>
using part_for = row_part<typename Sums::term>;

template <class Value, class Column, class Sums>
__device__ __forceinline__ part_for<Sums> part_of_row(const product_arguments<Value, Column>& args, row_range places,
                                                      std::uint64_t row, const Sums& sums) {
  return {places.begin, static_cast<unsigned>(places.length()), sums.factor(__ldg(args.x + row))};
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
__device__ __forceinline__ bool add_parts(const product_arguments<Value, Column>& args, part_for<Sums> own,
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
  const typename Sums::term factor = __shfl_sync(~0U, own.factor, from);
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
    typename Sums::term term[places_at_once];
    unsigned counted = 0;
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      term[k] = static_cast<typename Sums::term>(value[k]) * __shfl_sync(~0U, factor, part[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      const bool is_there = first + k * 32 + lane < count;
      const bool is_good = column[k] < args.column_limit;
      if (is_there && is_good) counted |= 1U << k;
      has_bad_columns |= is_there && !is_good;
    }
    sums.add(column, term, counted);
  }
  return has_bad_columns;
}

/// Adds parts, and reports the first bad column of each.
template <class Value, class Column, class Sums>
__device__ __forceinline__ void add_checked_parts(const product_arguments<Value, Column>& args, part_for<Sums> own,
                                                  std::uint64_t row, const Sums& sums) {
  if (__any_sync(~0U, add_parts(args, own, sums) ? 1 : 0) != 0) {
    report_column(args.guard, args.columns, args.column_limit, own.begin, own.begin + own.length, row);
  }
  __syncwarp();
}

// ---- long rows of which one begins where the one before it ends

/// As row_of_place, but what either outcome asks for next is read at the same time, so that a lane waits half as often.
__device__ __forceinline__ std::uint64_t row_of_cut(const row_offsets& rows, std::uint64_t place) {
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
  part_for<Sums> own;
  if (lane < shares.pieces_of_warp && cut < args.rows.limit) {
    row = row_of_cut(args.rows, cut);
    const row_range r{args.rows.begin(row), args.rows.end(row)};
    if (args.rows.is_row(r) && r.begin <= cut && cut < r.end && r.length() >= long_row_entries) {
      own = part_of_row(args, piece_at(r, cut), row, sums);
    }
  }
  add_checked_parts(args, own, row, sums);
}

/// Whether add_pieces does not find all pieces of a long row: never, unless offsets descend somewhere. The rows of its
/// places ascend, so that all are the row if those of its first and last piece are.
__device__ __forceinline__ bool has_missed_pieces(const row_offsets& rows, row_range r, std::uint64_t row) {
  return row_of_cut(rows, (r.begin + long_row_entries - 1) / long_row_entries * long_row_entries) != row ||
         row_of_cut(rows, (r.end - 1) / long_row_entries * long_row_entries) != row;
}

/// Adds those pieces of a long row that add_pieces does not find.
template <class Value, class Column, class Sums>
__device__ __forceinline__ void add_missed_pieces(const product_arguments<Value, Column>& args, row_range r,
                                                  std::uint64_t row, const Sums& sums) {
  const std::uint64_t begin = (r.begin + long_row_entries - 1) / long_row_entries * long_row_entries;
  for (std::uint64_t first = begin; first < r.end; first += 32 * long_row_entries) {
    const std::uint64_t cut = first + threadIdx.x % 32 * long_row_entries;
    part_for<Sums> own;
    if (cut < r.end && row_of_cut(args.rows, cut) != row) own = part_of_row(args, piece_at(r, cut), row, sums);
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
      part_for<Sums> own;
      if (begin < r.end) own = part_of_row(args, {begin, min(r.end, begin + long_row_entries)}, found[i], sums);
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
  part_for<Sums> own{read.range.begin, static_cast<unsigned>(read.range.length()), sums.factor(read.x)};
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

/// Blocks that begin or write the sums of all columns, each thread those of several: a block for every 256 columns
/// would take longer to start than to work.
inline std::uint64_t blocks_of_columns(const context& ctx, std::uint64_t columns) {
  constexpr std::uint64_t blocks_each = 16;
  const std::uint64_t most = blocks_each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  return std::clamp<std::uint64_t>(ceil_div(columns, block_threads), 1, most);
}

/// Calls of(column) in those blocks.
template <class Of>
__device__ __forceinline__ void for_columns_of_thread(std::uint64_t columns, Of of) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < columns; i += step) of(i);
}

/// Whether columns are hot: as the host knows, or as a sample has found.
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

/// Block 0 samples the columns, and says whether they are hot.
template <class Value, class Column>
__device__ __forceinline__ void sample_columns(const product_arguments<Value, Column>& args,
                                               const hot_verdict& verdict) {
  if (verdict.is_known || blockIdx.x != 0) return;
  const bool has_hot = sample_has_hot_slots(
      args.entries, [&](std::uint64_t place) { return static_cast<std::uint64_t>(__ldg(args.columns + place)); });
  if (threadIdx.x < order_verdict::copies) {
    verdict.sampled.slot[threadIdx.x * order_verdict::copy_words] = verdict.word(has_hot);
  }
}

/// What a call knows of hot columns. If they are sampled, but the context has no slot for the verdict left, they are
/// taken not to be hot.
inline hot_verdict verdict_of(const context& ctx, hot_columns hot) {
  hot_verdict verdict;
  verdict.is_hot = hot == hot_columns::present;
  if (hot == hot_columns::sampled) verdict.sampled = state_of(ctx).new_order_verdict();
  verdict.is_known = verdict.sampled.slot == nullptr;
  return verdict;
}

/// Adds up the block's share of terms, those of hot columns in shared memory first, where there are such. The kernel
/// before this one has the verdict.
/// @tparam Hot          what a block keeps of hot columns in shared memory; its flush(to) brings it to the output
/// @param sums          takes terms where no columns are hot
/// @param sums_through  of a Hot, what takes terms where some are
template <class Hot, class Value, class Column, class Sums, class SumsThrough, class To>
__device__ __forceinline__ void add_share_by_verdict(const product_arguments<Value, Column>& args,
                                                     const row_shares& shares, const hot_verdict& verdict,
                                                     const Sums& sums, SumsThrough sums_through, const To& to) {
  __shared__ Hot hot;
  wait_for_kernel_before();
  const unsigned long long found = verdict.read();
  const lane_row<Value> read = read_row(args, shares, blockIdx.x);
  __syncwarp();  // the compiler puts no read of a row below the first use of the verdict
  if (found != verdict.word(true)) return add_share(args, shares, blockIdx.x, read, sums);
  hot.clear();
  __syncthreads();
  add_share(args, shares, blockIdx.x, read, sums_through(&hot));
  __syncthreads();
  hot.flush(to);
}

}  // namespace sheaf::cuda
