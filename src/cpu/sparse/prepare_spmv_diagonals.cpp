
#include "core/scratch_offsets.hpp"
#include "cpu/sparse/bsr.hpp"
#include "cpu/sparse/grouping.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_segments.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"

// The preparation cpu.diagonals: rows of a banded matrix or a grid have their entries on the same diagonals as the rows
// beside them. Such rows need no columns but those of one row (the DIA format, for runs of rows), and eight of them are
// added at a time, side by side in vectors, with x read in order.
namespace sheaf::cpu {

using namespace primitives;

namespace {

/// y of a segment on diagonals. Eight rows have one sum each, which takes their entries in the order of the row.
template <class Value, class Sum>
void multiply_diagonals(const segment& segment, const Value* values, const std::uint64_t* distances,
                        const row_product& product) {
  const auto* const x = static_cast<const Value*>(product.x);
  const scaled_values<Value, Sum> out(product.alpha, product.beta, product.reads_y, product.y);
  constexpr std::uint64_t bytes_ahead = 8192;
  constexpr std::uint64_t line_items = line_bytes / sizeof(Value);
  const std::uint64_t diagonals = segment.diagonals;
  const Value* value = values;
  for (std::uint64_t row = segment.row; row < segment.row + segment.rows; row += tile_rows) {
    Sum sums[tile_rows]{};
    for (std::uint64_t diagonal = 0; diagonal < diagonals; ++diagonal, value += tile_rows) {
      // A thread's stores to y and 27 streams of x keep the hardware prefetcher from following the values.
      if (tile_rows >= line_items || diagonal % (line_items / tile_rows) == 0) {
        prefetch(reinterpret_cast<const std::byte*>(value), bytes_ahead, 1);
      }
      const Value* const from = x + (row + distances[diagonal]);
      for (std::uint64_t lane = 0; lane < tile_rows; ++lane) {
        sums[lane] += static_cast<Sum>(value[lane]) * static_cast<Sum>(from[lane]);
      }
    }
    for (std::uint64_t lane = 0; lane < tile_rows; ++lane) out.write(row + lane, sums[lane]);
  }
}

/// A matrix whose rows were grouped.
class diagonal_matrix final : public prepared_product {
 public:
  buffer segments;
  buffer distances;
  buffer values;
  buffer offsets;  ///< of rows that are not on diagonals, as what follows
  buffer columns;
  buffer row_values;

  diagonal_matrix(const context& ctx, const spmv_problem& problem, const segment_counts& counts)
      : problem_(problem), counts_(counts) {
    segments = prepared_memory(ctx, "segments of rows", counts.segments * sizeof(segment));
    distances = prepared_memory(ctx, "distances of diagonals", counts.distances * sizeof(std::uint64_t));
    values = prepared_memory(ctx, "values by diagonals", counts.values * problem.value_bytes());
    offsets = prepared_memory(ctx, "offsets of other rows", (counts.rows + 1) * sizeof(std::uint64_t));
    columns = prepared_memory(ctx, "columns of other rows", counts.entries_of_rows() * bytes(problem.column));
    row_values = prepared_memory(ctx, "values of other rows", counts.entries_of_rows() * problem.value_bytes());
    ask_for_huge_pages(values.data(), values.size());
    problem_.rows = counts.rows;
    problem_.entries = counts.entries_of_rows();
    problem_.offset = index_type::u64;
    problem_.has_row_ends = false;
    offsets.as<std::uint64_t>()[0] = 0;
  }

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    core::cpu(ctx).begin_call();
    row_product product;
    product.a = {problem_.rows, problem_.columns,
                 index_span{offsets.as<std::uint64_t>(), counts_.rows + 1, problem_.offset},
                 index_span{columns.data(), problem_.entries, problem_.column},
                 const_values{row_values.data(), problem_.entries, problem_.value}};
    product.entries = problem_.entries;
    product.x = x.data;
    product.y = y.data;
    product.column_limit = column_limit_of(problem_);
    product.alpha = alpha;
    product.beta = beta;
    product.reads_y = beta != 0;
    with_value_and_sum(problem_, [&](auto value, auto sum) { multiply<decltype(value), decltype(sum)>(ctx, product); });
  }
  std::uint64_t kept_bytes() const override {
    return segments.size() + distances.size() + values.size() + offsets.size() + columns.size() + row_values.size();
  }
  std::string_view product() const override { return "cpu.diagonals"; }

 private:
  template <class Value, class Sum>
  void multiply(const context& ctx, const row_product& product) const {
    const row_kernels kernels = row_kernels_of(problem_, x_access::direct);
    constexpr std::uint64_t parts_per_thread = 8;
    const std::uint64_t threads =
        parts_worth(counts_.entries * problem_.value_bytes(), static_cast<unsigned>(ctx.threads()));
    const std::uint64_t parts = threads == 1 ? 1 : threads * parts_per_thread;
    for_each_task(parts, threads, [&](std::uint64_t part) {
      const segment* const end = cut(parts, part + 1);
      for (const segment* segment = cut(parts, part); segment != end; ++segment) {
        if (segment->diagonals > 0) {
          multiply_diagonals<Value, Sum>(*segment, values.as<Value>() + segment->first_value,
                                         distances.as<std::uint64_t>() + segment->first_distance, product);
        } else {
          row_product of_rows = product;  // whose first compressed row is that of y's first value
          of_rows.y = static_cast<Value*>(product.y) + segment->row - segment->first_value;
          row_faults none;  // columns were checked when they were copied
          kernels.rows(of_rows, segment->first_value, segment->first_value + segment->rows, nullptr, none);
        }
      }
    });
  }

  const segment* cut(std::uint64_t parts, std::uint64_t part) const {
    const segment* const first = segments.as<segment>();
    const segment* const end = first + counts_.segments;
    if (part == 0) return first;
    if (part == parts) return end;
    return std::partition_point(first, end, [wanted = part_begin(counts_.entries, parts, part)](const segment& s) {
      return s.entries_before < wanted;
    });
  }

  spmv_problem problem_;  ///< by the rows that are not on diagonals
  segment_counts counts_;
};

std::uint64_t chunks_of(const spmv_problem& p) noexcept { return (p.rows + chunk_rows - 1) / chunk_rows; }

// Runs read a value for each entry, and neither columns nor offsets. The plan takes all rows to be on diagonals, and
// the preparation times what it made.
plan::planned plan_diagonals(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (product.transposed) return plan::rejected("groups entries by rows, but the product is transposed");
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  const machine& machine = scope.machine;
  constexpr double digits_per_entry = 0.15;  // rows side by side are added in vectors
  const std::uint64_t run_bytes =
      product.entries * product.value_bytes() + product.y_bytes() + product.columns * product.value_bytes();
  const std::uint64_t threads = parts_worth(run_bytes, machine.parallelism);
  plan::planned run;
  run.add_overlapped(2, {{"streamed", machine.streamed(run_bytes, run_bytes)},
                         {"steps", shared_digit_seconds(product.entries, digits_per_entry, machine, threads)}});
  const double run_seconds = machine.launch_seconds + machine.step_seconds + run.seconds;
  plan::planned plan;
  using kind = access_pattern::kind;
  plan.by_name_only = product.pattern.shape == kind::random || product.pattern.shape == kind::skewed;
  plan.scratch_bytes = core::scratch_aligned(chunks_of(product) * sizeof(segment_counts));
  plan.decided.set(prepare_spmv_decision{run_seconds, "cpu.diagonals"});
  // Columns are read three times: checked, compared, and compared once more when places are known.
  const std::uint64_t streamed =
      product.matrix_bytes() + product.entries * (2 * bytes(product.column) + product.value_bytes());
  plan.add("latency", machine.launch_seconds + 3 * machine.step_seconds);
  plan.add("streamed", machine.streamed(streamed, streamed));
  plan.add("steps", 3 * step_seconds(product, machine, threads));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

std::uint64_t last_row_of(const spmv_problem& p, std::uint64_t chunk) noexcept {
  return std::min(p.rows, (chunk + 1) * chunk_rows);
}

std::uint64_t threads_worth(const context& ctx, const spmv_problem& p) noexcept {
  return parts_worth(p.matrix_bytes(), static_cast<unsigned>(ctx.threads()));
}

/// Checks all rows and counts what each chunk has, unless it is at fault or has a long row.
template <class Column>
row_faults count_segments(const context& ctx, const spmv_problem& problem, const row_grouping<Column>& grouping,
                          segment_counts* of_chunk, bool& has_long_row) {
  shared_faults faults;
  std::atomic<bool> is_any_long = false;
  for_each_task(chunks_of(problem), threads_worth(ctx, problem), [&](std::uint64_t chunk) {
    const std::uint64_t first = chunk * chunk_rows;
    bool is_long = false;
    const row_faults found = grouping.check(first, last_row_of(problem, chunk), is_long);
    faults.add(found);
    if (is_long) is_any_long = true;
    segment_counts counts;
    if (!found.found() && !is_long) {
      grouping.for_each_segment(first, last_row_of(problem, chunk), [&](const segment& s, bool is_new) {
        ++counts.segments;
        counts.distances += is_new ? s.diagonals : 0;
        counts.values += s.diagonals * s.rows;
        counts.rows += s.diagonals > 0 ? 0 : s.rows;
      });
      counts.entries = grouping.entries_of(first, last_row_of(problem, chunk));
    }
    of_chunk[chunk] = counts;
  });
  has_long_row = is_any_long;
  return faults.all();
}

/// Replaces what each chunk has by what the chunks before it have, and returns what all have.
segment_counts scan(segment_counts* of_chunk, std::uint64_t chunks) {
  segment_counts all;
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    segment_counts& of = of_chunk[chunk];
    of.segments = std::exchange(all.segments, all.segments + of.segments);
    of.distances = std::exchange(all.distances, all.distances + of.distances);
    of.values = std::exchange(all.values, all.values + of.values);
    of.entries = std::exchange(all.entries, all.entries + of.entries);
    of.rows = std::exchange(all.rows, all.rows + of.rows);
  }
  return all;
}

/// Writes the segments of a chunk, which begin at `at`, and their entries.
template <class Value, class Column>
void fill(const diagonal_matrix& to, const row_grouping<Column>& grouping, const Value* values, std::uint64_t first,
          std::uint64_t last, segment_counts at) {
  std::uint64_t first_distance = at.distances;
  grouping.for_each_segment(first, last, [&](segment added, bool is_new) {
    if (is_new) {
      first_distance = at.distances;
      for (std::uint64_t d = 0; d < added.diagonals; ++d)
        to.distances.as<std::uint64_t>()[at.distances++] = grouping.distance(added.row, d);
    }
    added.first_distance = first_distance;
    added.first_value = added.diagonals > 0 ? at.values : at.rows;
    added.entries_before = at.entries;
    to.segments.as<segment>()[at.segments++] = added;
    const std::uint64_t first_entry = at.entries_of_rows();
    at.entries += grouping.entries_of(added.row, added.row + added.rows);
    if (added.diagonals == 0) {
      grouping.copy_rows(added, values, first_entry, to.offsets.as<std::uint64_t>() + at.rows,
                         to.columns.as<Column>() + first_entry, to.row_values.as<Value>() + first_entry);
      at.rows += added.rows;
    } else {
      grouping.transpose_tiles(added, values, to.values.as<Value>() + at.values);
      at.values += added.diagonals * added.rows;
    }
  });
}

template <class Value, class Column>
std::shared_ptr<prepared_product> group_rows(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                             segment_counts* of_chunk, row_faults& faults) {
  const row_grouping<Column> grouping(problem, a);
  bool has_long_row = false;
  faults = count_segments(ctx, problem, grouping, of_chunk, has_long_row);
  if (faults.found()) return nullptr;
  const segment_counts all = scan(of_chunk, chunks_of(problem));
  // Compressed rows gain nothing.
  if (has_long_row || all.values < all.entries / 2) return keep_rows(problem, a, "cpu.diagonals");
  auto made = std::make_shared<diagonal_matrix>(ctx, problem, all);
  for_each_task(chunks_of(problem), threads_worth(ctx, problem), [&](std::uint64_t chunk) {
    fill(*made, grouping, static_cast<const Value*>(a.values.data), chunk * chunk_rows, last_row_of(problem, chunk),
         of_chunk[chunk]);
  });
  return made;
}

void run_diagonals(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                   const prepare_spmv_buffers& b, std::byte* scratch) {
  prepare_grouped(ctx, problem.product, b, [&](auto value, auto column, row_faults& faults) {
    // Rows of a dense block have the same columns, and so no diagonals.
    auto in_blocks = make_bsr(ctx, problem.product, b.a, faults);
    if (in_blocks != nullptr || faults.found()) return in_blocks;
    return group_rows<decltype(value), decltype(column)>(ctx, problem.product, b.a,
                                                         reinterpret_cast<segment_counts*>(scratch), faults);
  });
}

}  // namespace

extern constinit const prepare_spmv_variant prepare_spmv_diagonals{"cpu.diagonals", backend_kind::cpu, plan_diagonals,
                                                                   run_diagonals};

}  // namespace sheaf::cpu
