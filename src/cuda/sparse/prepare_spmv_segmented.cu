#include <algorithm>
#include <memory>

#include <sheaf/memory.hpp>

#include "core/context_state.hpp"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/by_rows.hpp"
#include "cuda/sparse/segmented_build.cuh"
#include "primitives/sparse/prepare_spmv.hpp"

// The preparation cuda.segmented: windows of entries of one size, and a bit for each entry that says whether a row
// begins there (as in CSR5; Liu and Vinter 2015). A run is a segmented sum by each warp: it reads no row offsets, no
// length of rows unbalances it, and no second kernel adds long rows. Where the columns of every window span no more
// than 2^16, they take 16 bits.
namespace sheaf::cuda {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::prepared_memory;
using primitives::spmv_buffers;
using primitives::spmv_problem;

constexpr const char* segmented_name = "cuda.segmented";

/// Where sums of rows that windows cut lie, behind counts of their parts.
struct cut_layout {
  std::uint64_t heads;
  std::uint64_t tails;
  std::uint64_t bytes;

  cut_layout(const segments_shape& shape, std::uint64_t sum_bytes) {
    core::scratch_offsets place;
    place.take(shape.windows * sizeof(unsigned));
    heads = place.take(shape.windows * sum_bytes);
    tails = place.take(shape.windows * sum_bytes);
    bytes = place.bytes();
  }
};

/// A matrix that was cut into windows. Values stay the caller's, and columns that were not compressed.
class segmented_matrix final : public primitives::prepared_product {
 public:
  segmented_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const row_facts& facts)
      : problem_(p),
        a_(a),
        shape_(shape_of_segments(p, facts.first, facts.entries)),
        has_cuts_(shape_.may_cut(facts.longest)),
        empty_count_(facts.empty) {
    const std::uint64_t windows = shape_.windows;
    windows_ = prepared_memory(ctx, "windows", (windows + 1) * sizeof(segment_window));
    lanes_ = prepared_memory(ctx, "beginnings of rows", windows * 32 * sizeof(std::uint16_t));
    columns_ = prepared_memory(ctx, "compressed columns", p.entries * sizeof(std::uint16_t));
    bases_ = prepared_memory(ctx, "bases of columns", windows * sizeof(std::uint32_t));
    if (empty_count_ > 0) rows_ = prepared_memory(ctx, "numbers of rows", p.rows * sizeof(std::uint32_t));
    if (!has_cuts_) return;
    cuts_ = prepared_memory(ctx, "rows of several windows", 2 * windows * sizeof(std::uint32_t));
    cut_sums_ = prepared_memory(ctx, "sums of parts of rows", cut_layout(shape_, p.sum_bytes()).bytes);
    require(cudaMemsetAsync(cut_sums_.data(), 0, windows * sizeof(unsigned), ctx.stream()), ctx);
  }

  void run(const context& ctx, const const_values x, values y, double alpha, double beta) override {
    const run_scope scope(ctx, segmented_name);
    spmv_problem p = problem_;
    p.reads_y = beta != 0;
    const spmv_buffers b{a_, x.data, y.data, alpha, beta};
    with_product_types(p, [&]<class Types>(Types) {
      using value = typename Types::value;
      using sum = typename Types::sum;
      if (columns_.size() > 0) {
        auto a = arguments_of<value, std::uint16_t>(p, b, csr_guard{});
        a.columns = columns_.as<std::uint16_t>();
        multiply<sum>(ctx, a);
      } else {
        multiply<sum>(ctx, arguments_of<value, typename Types::column>(p, b, csr_guard{}));
      }
    });
  }
  std::uint64_t kept_bytes() const override {
    return windows_.size() + lanes_.size() + columns_.size() + bases_.size() + rows_.size() + cuts_.size() +
           cut_sums_.size();
  }
  std::string_view product() const override { return segmented_name; }

  const segments_shape& shape() const noexcept { return shape_; }
  bool has_cuts() const noexcept { return has_cuts_; }
  bool has_empty_rows() const noexcept { return empty_count_ > 0; }

  segments_arrays arrays() const {
    segments_arrays to;
    to.windows = windows_.as<segment_window>();
    to.lanes = lanes_.as<std::uint16_t>();
    to.columns = columns_.as<std::uint16_t>();
    to.bases = bases_.as<std::uint32_t>();
    if (has_empty_rows()) {
      to.rows = rows_.as<std::uint32_t>();
      to.empty_rows = to.rows + (problem_.rows - empty_count_);
    }
    if (has_cuts_) {
      to.begins_of_cut = cuts_.as<std::uint32_t>();
      to.windows_of_cut = to.begins_of_cut + shape_.windows;
    }
    return to;
  }

  /// Columns stay the caller's, too.
  void drop_columns() noexcept {
    columns_ = buffer();
    bases_ = buffer();
  }

 private:
  template <class Sum, class Value, class Column>
  void multiply(const context& ctx, const product_arguments<Value, Column>& a) const {
    const segments_arrays from = arrays();
    const segments_view view{.shape = shape_,
                             .windows = from.windows,
                             .lanes = from.lanes,
                             .bases = from.bases,
                             .rows = from.rows,
                             .empty_rows = from.empty_rows,
                             .empty_count = empty_count_,
                             .begins_of_cut = from.begins_of_cut,
                             .windows_of_cut = from.windows_of_cut};
    const std::uint64_t windows = shape_.windows;
    // Runs come one after another, but for those of graphs, which take sums of their own.
    const bool is_captured = has_cuts_ && ctx.state().is_captured();
    const cut_layout layout(shape_, sizeof(Sum));
    const core::scratch scratch =
        plan::take_scratch(ctx, primitives::prepared_spmv_call, segmented_name, is_captured ? layout.bytes : 0);
    cut_sums<Sum> cuts;
    if (has_cuts_) {
      std::byte* const sums = is_captured ? scratch.data() : cut_sums_.as<std::byte>();
      cuts = {reinterpret_cast<Sum*>(sums + layout.heads), reinterpret_cast<Sum*>(sums + layout.tails),
              reinterpret_cast<unsigned*>(sums)};
    }
    if (is_captured) require(cudaMemsetAsync(cuts.done, 0, windows * sizeof(unsigned), ctx.stream()), ctx);
    constexpr std::uint64_t most_empty_blocks = 1 << 16;
    const std::uint64_t blocks =
        ceil_div(windows, warps_of_a_block) + std::min(ceil_div(empty_count_, block_threads), most_empty_blocks);
    launch(ctx, sum_windows<Sum, Value, Column>, blocks, a, view, cuts);
  }

  spmv_problem problem_;
  csr_view a_;
  segments_shape shape_;
  bool has_cuts_;
  std::uint64_t empty_count_;
  buffer windows_;
  buffer lanes_;
  buffer columns_;
  buffer bases_;
  buffer rows_;
  buffer cuts_;
  buffer cut_sums_;
};

plan::planned plan_segmented(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& p = problem.product;
  if (p.transposed) return plan::rejected("cuts entries that lie row by row, and the product is transposed");
  if (p.has_row_ends) return plan::rejected("cuts rows that lie one behind the other, and these may lie in any order");
  if (p.entries == 0 || p.columns == 0 || p.rows == 0) return plan::rejected("the matrix has no entries");
  if (p.columns >> 32 != 0 || p.rows >> 32 != 0) return plan::rejected("rows or columns pass 32 bits");
  const machine& m = scope.machine;
  core::scratch_offsets place;
  const segmented_layout layout(p, place);
  // As cuda.rows for a matrix of as many entries, but for what is streamed. Columns at random do not take 16 bits.
  const double all_seconds = plan::corrected_plan(spmv_rows, p, scope).seconds;
  double run_seconds = all_seconds;
  if (is_segmented(p, p.entries)) {
    constexpr std::uint64_t most_columns = 1 << 16;
    const bool is_compressed = p.columns <= most_columns || !is_scattered(p.pattern);
    const std::uint64_t column_bytes = is_compressed ? sizeof(std::uint16_t) : bytes(p.column);
    const double bytes_of_entry = static_cast<double>(p.value_bytes() + column_bytes) +
                                  static_cast<double>(sizeof(segment_window) + 32 * sizeof(std::uint16_t) + 4) / 240;
    const double read = static_cast<double>(p.entries) * bytes_of_entry + static_cast<double>(p.y_bytes());
    constexpr double over_compressed = 1.05;  // for rows of about equal length
    run_seconds =
        all_seconds * std::min(1.0, over_compressed * read / static_cast<double>(p.matrix_bytes() + p.y_bytes()));
  }
  const std::uint64_t streamed = p.matrix_bytes() + p.entries * (bytes(p.column) + sizeof(std::uint16_t));
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(primitives::prepare_spmv_decision{run_seconds, segmented_name});
  plan.add("latency", 5 * m.launch_seconds);
  plan.add("streamed", m.streamed(streamed, streamed));
  plan.add("random write", m.random_writes(p.rows, sizeof(unsigned), p.entries / 8));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_segmented(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                   const prepare_spmv_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& p = problem.product;
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::prepare_spmv);
  core::scratch_offsets place;
  const segmented_layout layout(p, place);
  const row_facts facts = inspect_rows(ctx, p, b.a, guard, reinterpret_cast<row_facts*>(scratch + layout.facts));
  const bool has_faults = facts.has_faults != 0;
  if (!has_faults && is_segmented(p, facts.entries)) {
    *b.made = make_segmented(ctx, p, b.a, guard, facts, layout, scratch);
  }
  if (*b.made == nullptr) {
    *b.made = std::make_shared<product_by_rows>(p, b.a, has_faults ? unknown_length : facts.longest);
  }
}

}  // namespace

segmented_layout::segmented_layout(const spmv_problem& p, core::scratch_offsets& place) {
  constexpr std::uint64_t least_stride = 224;
  const std::uint64_t most_windows = ceil_div(p.entries, least_stride);
  facts = place.take(sizeof(row_facts));
  faults = place.take(sizeof(unsigned));
  begins = place.take(most_windows * words_of_window * sizeof(unsigned));
  rows_before = place.take(most_windows * sizeof(std::uint32_t));
}

std::shared_ptr<primitives::prepared_product> make_segmented(const context& ctx, const spmv_problem& p,
                                                             const csr_view& a, const csr_guard& guard,
                                                             const row_facts& facts, const segmented_layout& layout,
                                                             std::byte* scratch) {
  const auto made = std::make_shared<segmented_matrix>(ctx, p, a, facts);
  const segments_shape& shape = made->shape();
  const segments_arrays to = made->arrays();
  const row_offsets rows = offsets_of(p, a);
  auto* const faults = reinterpret_cast<unsigned*>(scratch + layout.faults);
  auto* const begins = reinterpret_cast<unsigned*>(scratch + layout.begins);
  auto* const rows_before = reinterpret_cast<std::uint32_t*>(scratch + layout.rows_before);
  const std::uint64_t windows = shape.windows;
  require(cudaMemsetAsync(faults, 0, sizeof *faults, ctx.stream()), ctx);
  require(cudaMemsetAsync(begins, 0, windows * words_of_window * sizeof *begins, ctx.stream()), ctx);
  launch(ctx, cut_windows, ceil_div(windows + 1, block_threads), rows, shape, to.windows);
  launch(ctx, mark_begins, ceil_div(p.rows, block_threads), rows, shape, to.windows, begins);
  launch(ctx, describe_lanes, ceil_div(windows, warps_of_a_block), shape, begins, to.lanes, rows_before);
  if (made->has_cuts()) {
    launch(ctx, find_cuts, ceil_div(windows, block_threads), rows, shape, to.windows, to.begins_of_cut,
           to.windows_of_cut);
  }
  if (made->has_empty_rows()) {
    constexpr unsigned sum_threads = 1024;
    launch_blocks(ctx, sum_counts, 1, sum_threads, rows_before, windows);
    launch(ctx, list_rows, ceil_div(p.rows, block_threads), rows, shape, to.windows, begins, rows_before, to.rows,
           to.empty_rows);
    launch(ctx, renumber_windows, ceil_div(windows, block_threads), shape, rows_before, to.windows);
  }
  clear_places_of_no_row(ctx, to.columns, facts, p.entries);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  const auto compress = [&]<class Column>(Column) {
    launch(ctx, compress_windows<Column>, ceil_div(windows, warps_of_a_block), guard, rows, shape, to.windows,
           static_cast<const Column*>(a.column_indices.data), limit, to.columns, to.bases, faults);
  };
  if (bytes(p.column) == 8) {
    compress(0ULL);
  } else {
    compress(0U);
  }
  unsigned found = 0;
  ctx.state().copy(&found, faults, sizeof found);  // waits
  if ((found & has_bad_columns) != 0) return nullptr;
  if ((found & has_wide_windows) != 0) made->drop_columns();
  return made;
}

extern constinit const primitives::prepare_spmv_variant prepare_spmv_segmented{"cuda.segmented", backend_kind::cuda,
                                                                               plan_segmented, run_segmented};

}  // namespace sheaf::cuda
