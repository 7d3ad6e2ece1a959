#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/bsr.hpp"
#include "cpu/sparse/grouping.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"

// The preparation cpu.bsr: a copy of a matrix whose entries lie in dense blocks, with one column for each block. Blocks
// of 3 x 3 take 8.4 bytes an entry of f64, where compressed rows take 12. The rows of a block are added side by side,
// in the order of cpu.rows. For finite elements of several unknowns a node; other preparations look for blocks, too.
namespace sheaf::cpu {

using namespace primitives;

namespace {

constexpr const char* bsr_name = "cpu.bsr";

/// Calls body with the size of blocks as a constant.
template <class Body>
auto with_block(unsigned block, Body body) {
  switch (block) {
    case 2: return body(std::integral_constant<unsigned, 2>{});
    case 3: return body(std::integral_constant<unsigned, 3>{});
    case 4: return body(std::integral_constant<unsigned, 4>{});
    case 5: return body(std::integral_constant<unsigned, 5>{});
    case 6: return body(std::integral_constant<unsigned, 6>{});
    case 7: return body(std::integral_constant<unsigned, 7>{});
    default: return body(std::integral_constant<unsigned, 8>{});
  }
}

/// Blocks of a matrix. A block row is as many rows as a block has.
template <class Value>
struct bsr_arrays {
  const std::uint32_t* begins;   ///< of each block row, and where the last one's blocks end
  const std::uint32_t* columns;  ///< of each block: its first column divided by the block's
  const Value* values;           ///< block by block, in each its columns one behind the other
};

/// The two sums of each row of a block row: of its entries at even places, and of those at odd ones.
template <unsigned Block, class Sum>
struct block_row_sums {
  Sum of_parity[2][Block]{};

  /// Adds a block whose first entry of a row has this parity.
  template <unsigned Parity, class Value>
  [[gnu::always_inline]] void add(const Value* values, const Value* x) noexcept {
#pragma GCC unroll 8
    for (unsigned column = 0; column < Block; ++column) {
      const auto from = static_cast<Sum>(x[column]);
#pragma GCC unroll 8
      for (unsigned row = 0; row < Block; ++row) {
        of_parity[(column + Parity) % 2][row] += static_cast<Sum>(values[column * Block + row]) * from;
      }
    }
  }
};

/// Writes y of the block rows [first, last).
template <unsigned Block, class Value, class Sum>
void multiply_block_rows(const bsr_arrays<Value>& a, const Value* x, const scaled_values<Value, Sum>& out,
                         std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t block_entries = std::uint64_t{Block} * Block;
  // Two blocks of an odd size have an even number of entries of each row, after which the parity is the first again.
  constexpr std::uint32_t step = Block % 2 == 0 ? 1 : 2;
  // The hardware prefetcher follows values in order, but falls behind where a block row has few.
  constexpr bool prefetches = Block == least_block;
  constexpr std::uint64_t bytes_ahead = 8192;
  for (std::uint64_t block_row = first; block_row < last; ++block_row) {
    const std::uint32_t end = a.begins[block_row + 1];
    std::uint32_t block = a.begins[block_row];
    const Value* values = a.values + block * block_entries;
    block_row_sums<Block, Sum> sums;
    for (; block + step <= end; block += step, values += step * block_entries) {
      if constexpr (prefetches) prefetch(reinterpret_cast<const std::byte*>(values), bytes_ahead, 1);
      sums.template add<0>(values, x + std::uint64_t{a.columns[block]} * Block);
      if constexpr (step == 2)
        sums.template add<1>(values + block_entries, x + std::uint64_t{a.columns[block + 1]} * Block);
    }
    if (step == 2 && block < end) sums.template add<0>(values, x + std::uint64_t{a.columns[block]} * Block);
    for (unsigned row = 0; row < Block; ++row) {
      out.write(block_row * Block + row, sums.of_parity[0][row] + sums.of_parity[1][row]);
    }
  }
}

class bsr_matrix final : public prepared_product {
 public:
  buffer begins;
  buffer columns;
  buffer values;

  bsr_matrix(const context& ctx, const spmv_problem& problem, unsigned block)
      : problem_(problem), block_(block), block_rows_(problem.rows / block) {
    begins = prepared_memory(ctx, "begins of rows of blocks", (block_rows_ + 1) * sizeof(std::uint32_t));
  }
  /// After begins were set.
  void take_memory_of_blocks(const context& ctx) {
    columns = prepared_memory(ctx, "columns of blocks", blocks() * sizeof(std::uint32_t));
    values = prepared_memory(ctx, "values of blocks", blocks() * block_ * block_ * problem_.value_bytes());
    ask_for_huge_pages(values.data(), values.size());
  }

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    core::cpu(ctx).begin_call();
    with_value_and_sum(problem_, [&](auto value, auto sum) {
      using value_type = decltype(value);
      const scaled_values<value_type, decltype(sum)> out(alpha, beta, beta != 0, y.data);
      with_block(block_, [&](auto block) { multiply<block()>(ctx, static_cast<const value_type*>(x.data), out); });
    });
  }
  std::uint64_t kept_bytes() const override { return begins.size() + columns.size() + values.size(); }
  std::string_view product() const override { return bsr_name; }

  std::uint64_t block_rows() const noexcept { return block_rows_; }
  std::uint32_t blocks() const noexcept { return begins.as<std::uint32_t>()[block_rows_]; }

 private:
  template <unsigned Block, class Value, class Sum>
  void multiply(const context& ctx, const Value* x, const scaled_values<Value, Sum>& out) const {
    constexpr std::uint64_t parts_per_thread = 8;
    const std::uint64_t threads = parts_worth(values.size(), static_cast<unsigned>(ctx.threads()));
    const std::uint64_t parts = threads == 1 ? 1 : threads * parts_per_thread;
    const bsr_arrays<Value> arrays{begins.as<std::uint32_t>(), columns.as<std::uint32_t>(), values.as<Value>()};
    for_each_task(parts, threads, [&](std::uint64_t part) {
      multiply_block_rows<Block>(arrays, x, out, cut(parts, part), cut(parts, part + 1));
    });
  }

  /// The first block row of a part. A block row costs as much as a block beside its own.
  std::uint64_t cut(std::uint64_t parts, std::uint64_t part) const {
    const std::uint32_t* const of = begins.as<std::uint32_t>();
    const std::uint64_t wanted = part_begin(std::uint64_t{blocks()} + block_rows_, parts, part);
    std::uint64_t low = 0;
    std::uint64_t high = block_rows_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (of[middle] + middle < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  spmv_problem problem_;
  unsigned block_;
  std::uint64_t block_rows_;
};

/// Why a matrix cannot be in blocks, as far as its sizes say.
const char* unfit_for_blocks(const spmv_problem& p) {
  if (p.transposed) return "blocks are found row by row, but the product is transposed";
  if (p.entries == 0 || p.columns == 0 || p.rows == 0) return "the matrix has no entries";
  return nullptr;
}

/// Tells whether rows lie in blocks of one size: each row of a block row has the same columns, in runs of a block's
/// that begin at its multiples.
template <unsigned Block, class Column>
class block_search {
 public:
  block_search(const spmv_problem& p, const csr_view& a)
      : rows_(a, p.entries), columns_(static_cast<const Column*>(a.column_indices.data)), limit_(column_limit_of(p)) {}

  /// Whether a block row lies in blocks, all of whose columns are right. Where it does not, says what is wrong with it.
  bool fits(std::uint64_t block_row, row_faults& faults) const {
    if (lies_in_blocks(block_row * Block)) return true;
    for (std::uint64_t row = block_row * Block; row < (block_row + 1) * Block; ++row) {
      if (!rows_.is_row(row)) {
        faults.in_rows = true;
        return false;
      }
      for (std::uint64_t place = rows_.begin(row); place < rows_.end(row); ++place) {
        faults.in_columns |= columns_[place] >= limit_;
      }
    }
    return false;
  }

 private:
  bool lies_in_blocks(std::uint64_t first_row) const {
    if (!rows_.is_row(first_row)) return false;
    const Column* const first = columns_ + rows_.begin(first_row);
    const std::uint64_t count = rows_.end(first_row) - rows_.begin(first_row);
    // A longer row is added piece by piece.
    if (count % Block != 0 || count > piece_entries) return false;
    bool differs = false;
    for (std::uint64_t i = 0; i < count; i += Block) {
      const Column column = first[i];
      differs |= column % Block != 0 || column >= limit_ || limit_ - column < Block;
      for (unsigned c = 1; c < Block; ++c) differs |= first[i + c] != static_cast<Column>(column + c);
    }
    for (std::uint64_t row = first_row + 1; row < first_row + Block && !differs; ++row) {
      if (!rows_.is_row(row) || rows_.end(row) - rows_.begin(row) != count) return false;
      const Column* const other = columns_ + rows_.begin(row);
      for (std::uint64_t i = 0; i < count; ++i) differs |= first[i] != other[i];
    }
    return !differs;
  }

  row_reader rows_;
  const Column* columns_;
  std::uint64_t limit_;
};

std::uint64_t threads_worth(const context& ctx, const spmv_problem& p) noexcept {
  return parts_worth(p.matrix_bytes(), static_cast<unsigned>(ctx.threads()));
}

/// Block rows that a thread looks at or copies at once.
constexpr std::uint64_t chunk_block_rows = 2048;

/// Calls work(first, last) for chunks of the block rows, in parallel.
template <class Work>
void for_each_chunk(std::uint64_t block_rows, std::uint64_t threads, Work work) {
  for_each_task((block_rows + chunk_block_rows - 1) / chunk_block_rows, threads, [&](std::uint64_t chunk) {
    work(chunk * chunk_block_rows, std::min(block_rows, (chunk + 1) * chunk_block_rows));
  });
}

template <unsigned Block, class Column>
bool is_in_blocks(const context& ctx, const spmv_problem& problem, const csr_view& a, row_faults& faults) {
  if (problem.rows % Block != 0) return false;
  const block_search<Block, Column> search(problem, a);
  const std::uint64_t block_rows = problem.rows / Block;
  constexpr std::uint64_t sampled = 16;
  for (std::uint64_t i = 0; i < std::min(block_rows, sampled); ++i) {
    if (!search.fits(part_begin(block_rows, std::min(block_rows, sampled), i), faults)) return false;
  }
  shared_faults found;
  std::atomic<bool> fits = true;
  for_each_chunk(block_rows, threads_worth(ctx, problem), [&](std::uint64_t first, std::uint64_t last) {
    row_faults of_chunk;
    bool chunk_fits = fits.load(std::memory_order_relaxed);
    for (std::uint64_t row = first; row < last && chunk_fits; ++row) chunk_fits = search.fits(row, of_chunk);
    if (!chunk_fits) fits.store(false, std::memory_order_relaxed);
    found.add(of_chunk);
  });
  faults = found.all();
  return fits;
}

/// The largest size of blocks in which all entries lie; 0: there is none.
template <class Column, unsigned Block = most_block>
unsigned block_of(const context& ctx, const spmv_problem& problem, const csr_view& a, row_faults& faults) {
  if (is_in_blocks<Block, Column>(ctx, problem, a, faults)) return Block;
  if constexpr (Block > least_block) {
    if (!faults.found()) return block_of<Column, Block - 1>(ctx, problem, a, faults);
  }
  return 0;
}

/// Sets where each block row begins; false if blocks are more than numbers of 32 bits or than the matrix has entries
/// for, which rows share.
bool set_begins(const bsr_matrix& to, const row_reader& rows, unsigned block, std::uint64_t entries) {
  std::uint32_t* const begins = to.begins.as<std::uint32_t>();
  const std::uint64_t most =
      std::min<std::uint64_t>(entries / (std::uint64_t{block} * block), ~std::uint32_t{0} - 2);  // two more are added
  std::uint64_t before = 0;
  for (std::uint64_t block_row = 0; block_row < to.block_rows(); ++block_row) {
    begins[block_row] = static_cast<std::uint32_t>(before);
    before += (rows.end(block_row * block) - rows.begin(block_row * block)) / block;
    if (before > most) return false;
  }
  begins[to.block_rows()] = static_cast<std::uint32_t>(before);
  return true;
}

template <unsigned Block, class Value, class Column>
void copy_blocks(const bsr_matrix& to, const row_reader& rows, const Column* columns, const Value* values,
                 std::uint64_t first, std::uint64_t last) {
  const std::uint32_t* const begins = to.begins.as<std::uint32_t>();
  for (std::uint64_t block_row = first; block_row < last; ++block_row) {
    const std::uint32_t begin = begins[block_row];
    const std::uint32_t count = begins[block_row + 1] - begin;
    std::uint32_t* const columns_to = to.columns.as<std::uint32_t>() + begin;
    Value* const values_to = to.values.as<Value>() + std::uint64_t{begin} * Block * Block;
    const Column* const columns_of_row = columns + rows.begin(block_row * Block);
    for (std::uint32_t block = 0; block < count; ++block) {
      columns_to[block] = static_cast<std::uint32_t>(columns_of_row[std::uint64_t{block} * Block] / Block);
    }
    const Value* from[Block];
    for (unsigned row = 0; row < Block; ++row) from[row] = values + rows.begin(block_row * Block + row);
    for (std::uint64_t place = 0; place < std::uint64_t{count} * Block; ++place) {
      for (unsigned row = 0; row < Block; ++row) values_to[place * Block + row] = from[row][place];
    }
  }
}

template <class Value, class Column>
std::shared_ptr<prepared_product> copied_blocks(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                                row_faults& faults) {
  const unsigned block = block_of<Column>(ctx, problem, a, faults);
  if (block == 0 || (problem.columns - 1) / block > ~std::uint32_t{0}) return nullptr;
  const row_reader rows(a, problem.entries);
  auto made = std::make_shared<bsr_matrix>(ctx, problem, block);
  if (!set_begins(*made, rows, block, problem.entries)) return nullptr;
  made->take_memory_of_blocks(ctx);
  with_block(block, [&](auto size) {
    for_each_chunk(made->block_rows(), threads_worth(ctx, problem), [&](std::uint64_t first, std::uint64_t last) {
      copy_blocks<size()>(*made, rows, static_cast<const Column*>(a.column_indices.data),
                          static_cast<const Value*>(a.values.data), first, last);
    });
  });
  return made;
}

// Nothing says before the columns are read whether they lie in blocks: runs are priced as if in blocks of 3 x 3.
plan::planned plan_bsr(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (const char* reason = unfit_for_blocks(product)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  constexpr std::uint64_t usual_block_entries = 9;
  constexpr double digits_per_entry = 0.12;  // rows side by side are added in vectors
  const std::uint64_t kept =
      product.entries * product.value_bytes() + product.entries / usual_block_entries * sizeof(std::uint32_t);
  const std::uint64_t threads = parts_worth(kept, machine.parallelism);
  spmv_problem of_blocks = product;  // whose x is read block by block
  of_blocks.entries = product.entries / usual_block_entries;
  const memory_cost cost = gather_cost(gather_of_columns(of_blocks), machine);
  plan::planned run;
  run.add_overlapped(
      overlap_exponent,
      {{"streamed", machine.streamed(kept + product.y_bytes(), kept + product.y_bytes()) + cost.indexed_streamed},
       {"random read", of_blocks.entries == 0 ? 0 : cost.indexed_random},
       {"steps", shared_digit_seconds(product.entries, digits_per_entry, machine, threads)}});
  const double run_seconds = machine.launch_seconds + machine.step_seconds + run.seconds;
  plan::planned plan;
  plan.by_name_only = true;  // other preparations find blocks by themselves
  plan.decided.set(prepare_spmv_decision{run_seconds, bsr_name});
  // Columns are read once, compared a vector at a time, and values are copied.
  const std::uint64_t streamed = product.matrix_bytes() + 2 * kept;
  plan.add("latency", machine.launch_seconds + 2 * machine.step_seconds);
  plan.add("streamed", machine.streamed(streamed, streamed));
  plan.add("steps", step_seconds(product, machine, threads));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_bsr(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
             const prepare_spmv_buffers& b, std::byte*) {
  prepare_grouped(ctx, problem.product, b, [&](auto value, auto column, row_faults& faults) {
    auto made = copied_blocks<decltype(value), decltype(column)>(ctx, problem.product, b.a, faults);
    return made != nullptr || faults.found() ? made : keep_rows(problem.product, b.a, bsr_name);
  });
}

}  // namespace

std::shared_ptr<prepared_product> make_bsr(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                           row_faults& faults) {
  if (unfit_for_blocks(problem) != nullptr) return nullptr;
  return with_index_width(problem.column, [&](auto column) {
    using column_type = decltype(column);
    return problem.value == value_type::f64 ? copied_blocks<double, column_type>(ctx, problem, a, faults)
                                            : copied_blocks<float, column_type>(ctx, problem, a, faults);
  });
}

extern constinit const prepare_spmv_variant prepare_spmv_bsr{"cpu.bsr", backend_kind::cpu, plan_bsr, run_bsr};

}  // namespace sheaf::cpu
