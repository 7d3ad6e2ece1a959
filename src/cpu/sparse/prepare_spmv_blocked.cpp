#include <omp.h>

#include "core/scratch_offsets.hpp"
#include "cpu/sparse/bsr.hpp"
#include "cpu/sparse/grouping.hpp"
#include "cpu/sparse/row_sums.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"

// The preparation cpu.blocked: propagation blocking (Buluc and Gilbert 2008; Beamer et al. 2017). Entries are grouped
// by slices of the columns, whose part of x the second-level cache holds, and in a slice by blocks of rows. A run first
// multiplies slice by slice and streams the products to the places of their blocks, then adds block by block, to sums
// that the cache holds. So it reads and writes memory in order alone, and pays for it by a product written and read for
// each entry. For columns that are scattered over an x far larger than the caches.
namespace sheaf::cpu {

using namespace primitives;

namespace {

/// Columns of a slice, which 16 bits count: 512 KiB of x in f64. They decide the order of sums where the columns of a
/// row do not ascend, so no machine has others.
constexpr std::uint64_t slice_columns = std::uint64_t{1} << 16;
/// Rows of a block, whose sums take 128 KiB in f64.
constexpr std::uint64_t block_rows = std::uint64_t{1} << 14;

struct blocked_shape {
  std::uint64_t slices = 0;
  std::uint64_t blocks = 0;

  explicit blocked_shape(const spmv_problem& p)
      : slices((p.columns + slice_columns - 1) / slice_columns), blocks((p.rows + block_rows - 1) / block_rows) {}
  std::uint64_t groups() const noexcept { return slices * blocks; }
};

/// Places of products, of one slice and one block of rows.
struct product_run {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// Sums of a line, so that runs of products begin with lines and can be streamed.
inline std::uint64_t line_sums(const spmv_problem& p) noexcept { return line_bytes / p.sum_bytes(); }
constexpr std::uint64_t whole_lines(std::uint64_t count, std::uint64_t line) noexcept {
  return (count + line - 1) / line * line;
}

/// Products of a group, in whole lines that go past the cache, and a rest.
template <class Value, class Sum>
void multiply_group(const Value* values, const std::uint16_t* columns, const Value* x, std::uint64_t count,
                    Sum* products) {
  constexpr std::uint64_t line = line_bytes / sizeof(Sum);
  constexpr std::uint64_t bytes_ahead = 8192;
  std::uint64_t i = 0;
  for (; i + line <= count; i += line) {
    prefetch(reinterpret_cast<const std::byte*>(values + i), bytes_ahead, 1);
    prefetch(reinterpret_cast<const std::byte*>(columns + i), bytes_ahead / 4, 1);
    alignas(line_bytes) Sum made[line];
    for (std::uint64_t j = 0; j < line; ++j) {
      made[j] = static_cast<Sum>(values[i + j]) * static_cast<Sum>(x[columns[i + j]]);
    }
    stream_lines(reinterpret_cast<std::byte*>(products + i), reinterpret_cast<const std::byte*>(made), line_bytes);
  }
  for (; i < count; ++i) products[i] = static_cast<Sum>(values[i]) * static_cast<Sum>(x[columns[i]]);
}

/// Adds the products of a run to the sums of their rows, in order.
template <class Sum>
void add_run(const Sum* products, const std::uint16_t* rows, std::uint64_t count, Sum* sums) {
  constexpr std::uint64_t line = line_bytes / sizeof(Sum);
  constexpr std::uint64_t bytes_ahead = 8192;
  std::uint64_t i = 0;
  for (; i + line <= count; i += line) {
    prefetch(reinterpret_cast<const std::byte*>(products + i), bytes_ahead, 1);
    prefetch(reinterpret_cast<const std::byte*>(rows + i), bytes_ahead / 4, 1);
    for (std::uint64_t j = 0; j < line; ++j) sums[rows[i + j]] += products[i + j];
  }
  for (; i < count; ++i) sums[rows[i]] += products[i];
}

class blocked_matrix final : public prepared_product {
 public:
  buffer values;
  buffer columns;
  buffer rows;  ///< by the places of products
  buffer products;
  buffer sums;    ///< of the block that a thread adds
  buffer begins;  ///< where the entries of a group begin, slice by slice, and after all of them where they end
  buffer runs;    ///< the products of a group, block by block

  blocked_matrix(const context& ctx, const spmv_problem& problem, std::uint64_t entries, std::uint64_t places)
      : problem_(problem),
        shape_(problem),
        threads_(parts_worth(entries * (problem.value_bytes() + sizeof(std::uint16_t)),
                             static_cast<unsigned>(ctx.threads()))) {
    values = prepared_memory(ctx, "values by slices", entries * problem.value_bytes());
    columns = prepared_memory(ctx, "columns within slices", entries * sizeof(std::uint16_t));
    rows = prepared_memory(ctx, "rows within blocks", places * sizeof(std::uint16_t));
    products = prepared_memory(ctx, "products", places * problem.sum_bytes());
    sums = prepared_memory(ctx, "sums of blocks", threads_ * block_rows * problem.sum_bytes());
    begins = prepared_memory(ctx, "begins of groups", (shape_.groups() + 1) * sizeof(std::uint64_t));
    runs = prepared_memory(ctx, "runs of products", shape_.groups() * sizeof(product_run));
    for (const buffer* const b : {&values, &columns, &rows, &products}) ask_for_huge_pages(b->data(), b->size());
  }

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    core::cpu(ctx).begin_call();
    with_value_and_sum(
        problem_, [&](auto value, auto sum) { multiply<decltype(value), decltype(sum)>(x.data, y.data, alpha, beta); });
  }
  std::uint64_t kept_bytes() const override {
    std::uint64_t all = 0;
    for (const buffer* const b : {&values, &columns, &rows, &products, &sums, &begins, &runs}) all += b->size();
    return all;
  }
  std::string_view product() const override { return "cpu.blocked"; }

 private:
  template <class Value, class Sum>
  void multiply(const void* x, void* y, double alpha, double beta) const {
    // Slices are cut at blocks, because they are few where x is small, and have few entries where columns are skewed.
    constexpr std::uint64_t tasks_per_thread = 16;
    const std::uint64_t cuts =
        std::clamp<std::uint64_t>(threads_ == 1 || shape_.slices == 0 ? 1 : threads_ * tasks_per_thread / shape_.slices,
                                  1, std::max<std::uint64_t>(1, shape_.blocks));
    for_each_task(shape_.slices * cuts, threads_, [&](std::uint64_t task) {
      const std::uint64_t slice = task / cuts;
      const Value* const from = static_cast<const Value*>(x) + slice * slice_columns;
      const std::uint64_t end = part_begin(shape_.blocks, cuts, task % cuts + 1);
      for (std::uint64_t block = part_begin(shape_.blocks, cuts, task % cuts); block < end; ++block) {
        const std::uint64_t begin = begins.as<std::uint64_t>()[slice * shape_.blocks + block];
        const product_run& run = runs.as<product_run>()[block * shape_.slices + slice];
        multiply_group(values.as<Value>() + begin, columns.as<std::uint16_t>() + begin, from, run.count,
                       products.as<Sum>() + run.begin);
      }
      finish_streaming();
    });
    for_each_task(shape_.blocks, threads_, [&](std::uint64_t block) {
      // A single thread may be one of a team of the caller's.
      const std::uint64_t rank = threads_ == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num());
      Sum* const sums_of_block = sums.as<Sum>() + rank * block_rows;
      const std::uint64_t first = block * block_rows;
      const std::uint64_t count = std::min(problem_.rows - first, block_rows);
      std::fill_n(sums_of_block, count, Sum{0});
      for (std::uint64_t slice = 0; slice < shape_.slices; ++slice) {
        const product_run& run = runs.as<product_run>()[block * shape_.slices + slice];
        add_run(products.as<Sum>() + run.begin, rows.as<std::uint16_t>() + run.begin, run.count, sums_of_block);
      }
      const scaled_values<Value, Sum> out(alpha, beta, beta != 0, y);
      for (std::uint64_t i = 0; i < count; ++i) out.write(first + i, sums_of_block[i]);
    });
  }

  spmv_problem problem_;
  blocked_shape shape_;
  std::uint64_t threads_;
};

// Two passes, each bound by what it streams or by what it does with entries whose x or sum is in the second-level
// cache.
double run_seconds_of(const spmv_problem& problem, const machine& machine) {
  const std::uint64_t multiplied =
      problem.entries * (problem.value_bytes() + sizeof(std::uint16_t) + problem.sum_bytes());
  const std::uint64_t added = problem.entries * (problem.sum_bytes() + sizeof(std::uint16_t)) + problem.y_bytes();
  constexpr double digits_per_entry = 0.3;
  const double steps = shared_digit_seconds(problem.entries, digits_per_entry, machine,
                                            parts_worth(problem.matrix_bytes(), machine.parallelism));
  plan::planned run;
  run.add_overlapped(2, {{"streamed", machine.streamed(multiplied, multiplied)},
                         {"random read", machine.random_reads(problem.entries, problem.value_bytes(),
                                                              slice_columns * problem.value_bytes())},
                         {"steps", steps}});
  run.add_overlapped(2, {{"streamed", machine.streamed(added, added)}, {"steps", steps}});
  return machine.launch_seconds + 2 * machine.step_seconds + run.seconds;
}

plan::planned plan_blocked(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (product.transposed) return plan::rejected("groups entries by rows, but the product is transposed");
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  const blocked_shape shape(product);
  constexpr std::uint64_t few_groups = 4096;
  constexpr std::uint64_t least_run = 16;
  if (shape.slices > 0 && shape.blocks > (std::uint64_t{1} << 56) / shape.slices) {
    return plan::rejected("its groups are more than memory can hold");
  }
  if (shape.groups() > few_groups && product.entries / least_run < shape.groups()) {
    return plan::rejected("runs of products would be shorter than sixteen");
  }
  const machine& machine = scope.machine;
  const double run_seconds = run_seconds_of(product, machine);
  plan::planned plan;
  using kind = access_pattern::kind;
  plan.by_name_only = (product.pattern.shape != kind::random && product.pattern.shape != kind::skewed) ||
                      product.columns * product.value_bytes() < machine.cache_bytes / 2;
  plan.scratch_bytes = core::scratch_aligned(shape.groups() * sizeof(std::uint64_t));
  plan.decided.set(prepare_spmv_decision{run_seconds, "cpu.blocked"});
  const std::uint64_t streamed =
      2 * product.matrix_bytes() + product.entries * 2 * (product.value_bytes() + 2 * sizeof(std::uint16_t));
  plan.add("latency", machine.launch_seconds + 2 * machine.step_seconds);
  plan.add("streamed", machine.streamed(streamed, streamed));
  const std::uint64_t threads = parts_worth(product.matrix_bytes(), machine.parallelism);
  plan.add("steps", 2 * static_cast<double>(product.entries) * digit_seconds(machine) / static_cast<double>(threads));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

template <class Value, class Column>
void group_block(const spmv_problem& problem, const csr_view& a, const row_reader& rows, std::uint64_t block,
                 const blocked_shape& shape, std::uint64_t* done, const blocked_matrix& to) {
  const auto* const column = static_cast<const Column*>(a.column_indices.data);
  const auto* const value = static_cast<const Value*>(a.values.data);
  Value* const value_to = to.values.as<Value>();
  std::uint16_t* const column_to = to.columns.as<std::uint16_t>();
  std::uint16_t* const row_to = to.rows.as<std::uint16_t>();
  const product_run* const runs = to.runs.as<product_run>() + block * shape.slices;
  const std::uint64_t* const begins = to.begins.as<std::uint64_t>() + block;
  std::fill_n(done, shape.slices, std::uint64_t{0});
  const std::uint64_t first = block * block_rows;
  for (std::uint64_t row = first; row < std::min(problem.rows, first + block_rows); ++row) {
    const std::uint64_t end = rows.end(row);
    for (std::uint64_t place = rows.begin(row); place < end; ++place) {
      const std::uint64_t slice = column[place] / slice_columns;
      const std::uint64_t i = done[slice]++;
      const std::uint64_t at = begins[slice * shape.blocks] + i;
      value_to[at] = value[place];
      column_to[at] = static_cast<std::uint16_t>(column[place] % slice_columns);
      row_to[runs[slice].begin + i] = static_cast<std::uint16_t>(row - first);
    }
  }
}

template <class Value, class Column>
std::shared_ptr<prepared_product> group_entries(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                                std::uint64_t* counts, row_faults& faults) {
  const row_reader rows(a, problem.entries);
  const blocked_shape shape(problem);
  const std::uint64_t threads = parts_worth(problem.matrix_bytes(), static_cast<unsigned>(ctx.threads()));
  shared_faults found;
  for_each_task(shape.blocks, threads, [&](std::uint64_t block) {
    found.add(count_entries<Column>(problem, a, rows, block * block_rows,
                                    std::min(problem.rows, (block + 1) * block_rows), counts + block * shape.slices,
                                    shape.slices, [](Column column) { return column / slice_columns; }));
  });
  faults = found.all();
  if (faults.found()) return nullptr;
  const std::uint64_t line = line_sums(problem);
  std::uint64_t entries = 0;
  std::uint64_t places = 0;
  for (std::uint64_t group = 0; group < shape.groups(); ++group) {
    entries += counts[group];
    places += whole_lines(counts[group], line);
  }
  auto made = std::make_shared<blocked_matrix>(ctx, problem, entries, places);
  places = 0;
  for (std::uint64_t group = 0; group < shape.groups(); ++group) {
    made->runs.as<product_run>()[group] = {places, counts[group]};
    places += whole_lines(counts[group], line);
  }
  entries = 0;
  for (std::uint64_t slice = 0; slice < shape.slices; ++slice) {
    for (std::uint64_t block = 0; block < shape.blocks; ++block) {
      made->begins.as<std::uint64_t>()[slice * shape.blocks + block] = entries;
      entries += counts[block * shape.slices + slice];
    }
  }
  made->begins.as<std::uint64_t>()[shape.groups()] = entries;
  for_each_task(shape.blocks, threads, [&](std::uint64_t block) {
    group_block<Value, Column>(problem, a, rows, block, shape, counts + block * shape.slices, *made);
  });
  return made;
}

void run_blocked(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                 const prepare_spmv_buffers& b, std::byte* scratch) {
  prepare_grouped(ctx, problem.product, b, [&](auto value, auto column, row_faults& faults) {
    // A dense block reads x where one column says, and its entries are neither sorted nor written.
    auto in_blocks = make_bsr(ctx, problem.product, b.a, faults);
    if (in_blocks != nullptr || faults.found()) return in_blocks;
    return group_entries<decltype(value), decltype(column)>(ctx, problem.product, b.a,
                                                            reinterpret_cast<std::uint64_t*>(scratch), faults);
  });
}

}  // namespace

extern constinit const prepare_spmv_variant prepare_spmv_blocked{"cpu.blocked", backend_kind::cpu, plan_blocked,
                                                                 run_blocked};

}  // namespace sheaf::cpu
