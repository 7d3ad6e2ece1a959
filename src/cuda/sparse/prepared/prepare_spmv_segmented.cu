#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/sparse/prepared/segmented.cuh"

// The preparation cuda.segmented: windows of entries of one size, and a bit for each entry that says whether a row
// begins there (as in CSR5; Liu and Vinter 2015). A run is a segmented sum by each warp: it reads no row offsets, no
// length of rows unbalances it, and no second kernel adds long rows. Where the columns of every window span no more
// than 2^16, they take 16 bits.
namespace sheaf::cuda {
namespace {

constexpr const char* segmented_name = "cuda.segmented";

/// The parts of rows that windows cut, with what counts them first.
template <class Sum>
cut_sums<Sum> cut_sums_in(const segments_shape& shape, core::scratch_arrays& place) {
  cut_sums<Sum> cuts;
  cuts.done = place.take<unsigned>(shape.windows);
  cuts.heads = place.take<Sum>(shape.windows);
  cuts.tails = place.take<Sum>(shape.windows);
  return cuts;
}

template <class Sum>
std::uint64_t bytes_of_cuts(const segments_shape& shape) {
  core::scratch_arrays place(nullptr);
  cut_sums_in<Sum>(shape, place);
  return place.bytes();
}

/// A matrix that was cut into windows. Values stay the caller's, and columns that were not compressed.
class segmented_matrix final : public inspected_matrix {
 public:
  segmented_matrix(const context& ctx, const spmv_problem& problem, const csr_view& a, const row_facts& facts)
      : inspected_matrix(segmented_name, problem, a),
        shape_(shape_of_segments(problem, facts.first, facts.entries)),
        has_cuts_(shape_.may_cut(facts.longest)),
        empty_count_(facts.empty) {
    const std::uint64_t windows = shape_.windows;
    windows_ = prepared_memory(ctx, "windows", (windows + 1) * sizeof(segment_window));
    lanes_ = prepared_memory(ctx, "beginnings of rows", windows * 32 * sizeof(std::uint16_t));
    columns_ = prepared_memory(ctx, "compressed columns", problem.entries * sizeof(std::uint16_t));
    bases_ = prepared_memory(ctx, "bases of columns", windows * sizeof(std::uint32_t));
    if (empty_count_ > 0) rows_ = prepared_memory(ctx, "numbers of rows", problem.rows * sizeof(std::uint32_t));
    if (!has_cuts_) return;
    cuts_ = prepared_memory(ctx, "rows of several windows", 2 * windows * sizeof(std::uint32_t));
    cut_sums_ = prepared_memory(
        ctx, "sums of parts of rows",
        problem.sum_bytes() == sizeof(double) ? bytes_of_cuts<double>(shape_) : bytes_of_cuts<float>(shape_));
    require(cudaMemsetAsync(cut_sums_.data(), 0, windows * sizeof(unsigned), ctx.stream()), ctx);
  }

  std::uint64_t kept_bytes() const override {
    return windows_.size() + lanes_.size() + columns_.size() + bases_.size() + rows_.size() + cuts_.size() +
           cut_sums_.size();
  }

  const segments_shape& shape() const noexcept { return shape_; }
  bool has_cuts() const noexcept { return has_cuts_; }
  bool has_empty_rows() const noexcept { return empty_count_ > 0; }

  segments_arrays arrays() const {
    segments_arrays to;
    to.shape = shape_;
    to.windows = windows_.as<segment_window>();
    to.lanes = lanes_.as<std::uint16_t>();
    to.columns = columns_.as<std::uint16_t>();
    to.bases = bases_.as<std::uint32_t>();
    if (has_empty_rows()) {
      to.rows = rows_.as<std::uint32_t>();
      to.empty_rows = to.rows + (problem_.rows - empty_count_);
      to.empty_count = empty_count_;
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
  void multiply(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers) const override {
    with_product_types(problem, [&]<class Types>(Types) {
      using value = typename Types::value;
      using sum = typename Types::sum;
      if (columns_.size() > 0) {
        auto a = arguments_of<value, std::uint16_t>(problem, buffers, csr_guard{});
        a.columns = columns_.as<std::uint16_t>();
        multiply_as<sum>(ctx, a);
      } else {
        multiply_as<sum>(ctx, arguments_of<value, typename Types::column>(problem, buffers, csr_guard{}));
      }
    });
  }

  template <class Sum, class Value, class Column>
  void multiply_as(const context& ctx, const product_arguments<Value, Column>& args) const {
    const std::uint64_t windows = shape_.windows;
    // Runs come one after another, but for those of graphs, which take sums of their own.
    const bool is_captured = has_cuts_ && ctx.state().is_captured();
    const core::scratch scratch = plan::take_scratch(ctx, primitives::prepared_spmv_call, segmented_name,
                                                     is_captured ? bytes_of_cuts<Sum>(shape_) : 0);
    cut_sums<Sum> cuts;
    if (has_cuts_) {
      core::scratch_arrays place(is_captured ? scratch.data() : cut_sums_.as<std::byte>());
      cuts = cut_sums_in<Sum>(shape_, place);
    }
    if (is_captured) require(cudaMemsetAsync(cuts.done, 0, windows * sizeof(unsigned), ctx.stream()), ctx);
    constexpr std::uint64_t most_empty_blocks = 1 << 16;
    const std::uint64_t blocks =
        ceil_div(windows, warps_of_a_block) + std::min(ceil_div(empty_count_, block_threads), most_empty_blocks);
    launch(ctx, sum_windows<Sum, Value, Column>, blocks, args, arrays(), cuts);
  }

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
  const spmv_problem& product = problem.product;
  if (product.transposed) return plan::rejected("cuts entries that lie row by row, but the product is transposed");
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  if (product.has_row_ends)
    return plan::rejected("cuts rows that lie one after the other, but rows may lie in any order");
  if (product.entries == 0 || product.columns == 0 || product.rows == 0)
    return plan::rejected("the matrix has no entries");
  if (product.columns >> 32 != 0 || product.rows >> 32 != 0) return plan::rejected("rows or columns exceed 32 bits");
  const machine& machine = scope.machine;
  core::scratch_arrays place(nullptr);
  const segmenting_scratch at(product, place);
  // As cuda.rows for a matrix of as many entries, but for what is streamed. Columns at random do not take 16 bits.
  const double all_seconds = plan::corrected_plan(spmv_rows, product, scope).seconds;
  double run_seconds = all_seconds;
  if (is_segmented(product, product.entries)) {
    constexpr std::uint64_t most_columns = 1 << 16;
    const bool is_compressed = product.columns <= most_columns || !is_scattered(product.pattern);
    const std::uint64_t column_bytes = is_compressed ? sizeof(std::uint16_t) : bytes(product.column);
    const double bytes_of_entry = static_cast<double>(product.value_bytes() + column_bytes) +
                                  static_cast<double>(sizeof(segment_window) + 32 * sizeof(std::uint16_t) + 4) / 240;
    const double read = static_cast<double>(product.entries) * bytes_of_entry + static_cast<double>(product.y_bytes());
    constexpr double over_compressed = 1.05;  // for rows of about equal length
    run_seconds = all_seconds * std::min(1.0, over_compressed * read /
                                                  static_cast<double>(product.matrix_bytes() + product.y_bytes()));
  }
  const std::uint64_t streamed =
      product.matrix_bytes() + product.entries * (bytes(product.column) + sizeof(std::uint16_t));
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.add("latency", 5 * machine.launch_seconds);
  plan.add("streamed", machine.streamed(streamed, streamed));
  plan.add("random write", machine.random_writes(product.rows, sizeof(unsigned), product.entries / 8));
  return add_runs(plan, problem, {run_seconds, segmented_name});
}

void run_segmented(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                   const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const spmv_problem& p = problem.product;
  core::scratch_arrays place(scratch);
  const segmenting_scratch at(p, place);
  make_or_keep_rows(ctx, problem, buffers, at.facts, [&](const csr_guard& guard, const row_facts& facts) {
    return is_segmented(p, facts.entries) ? make_segmented(ctx, p, buffers.a, guard, facts, at) : nullptr;
  });
}

}  // namespace

segmenting_scratch::segmenting_scratch(const spmv_problem& p, core::scratch_arrays& place) {
  constexpr std::uint64_t least_stride = 224;
  const std::uint64_t most_windows = ceil_div(p.entries, least_stride);
  facts = place.take<row_facts>(1);
  faults = place.take<unsigned>(1);
  begins = place.take<unsigned>(most_windows * words_of_window);
  rows_before = place.take<std::uint32_t>(most_windows);
}

std::shared_ptr<primitives::prepared_product> make_segmented(const context& ctx, const spmv_problem& problem,
                                                             const csr_view& a, const csr_guard& guard,
                                                             const row_facts& facts, const segmenting_scratch& at) {
  auto made = std::make_shared<segmented_matrix>(ctx, problem, a, facts);
  const segments_shape& shape = made->shape();
  const segments_arrays to = made->arrays();
  const row_offsets rows = offsets_of(problem, a);
  const std::uint64_t windows = shape.windows;
  require(cudaMemsetAsync(at.faults, 0, sizeof *at.faults, ctx.stream()), ctx);
  require(cudaMemsetAsync(at.begins, 0, windows * words_of_window * sizeof *at.begins, ctx.stream()), ctx);
  launch(ctx, cut_windows, ceil_div(windows + 1, block_threads), rows, shape, to.windows);
  launch(ctx, mark_begins, ceil_div(problem.rows, block_threads), rows, shape, to.windows, at.begins);
  launch(ctx, describe_lanes, ceil_div(windows, warps_of_a_block), shape, at.begins, to.lanes, at.rows_before);
  if (made->has_cuts()) {
    launch(ctx, find_cuts, ceil_div(windows, block_threads), rows, shape, to.windows, to.begins_of_cut,
           to.windows_of_cut);
  }
  if (made->has_empty_rows()) {
    constexpr unsigned sum_threads = 1024;
    launch_blocks(ctx, sum_counts, 1, sum_threads, at.rows_before, windows);
    launch(ctx, list_rows, ceil_div(problem.rows, block_threads), rows, shape, to.windows, at.begins, at.rows_before,
           to.rows, to.empty_rows);
    launch(ctx, renumber_windows, ceil_div(windows, block_threads), shape, at.rows_before, to.windows);
  }
  clear_places_of_no_row(ctx, to.columns, facts, problem.entries);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem));
  with_column_type(problem, [&]<class Column>(Column) {
    launch(ctx, compress_windows<Column>, ceil_div(windows, warps_of_a_block), guard, rows, shape, to.windows,
           static_cast<const Column*>(a.column_indices.data), limit, to.columns, to.bases, at.faults);
  });
  unsigned found = 0;
  ctx.state().copy(&found, at.faults, sizeof found);  // waits
  if ((found & has_bad_columns) != 0) return nullptr;
  if ((found & has_wide_windows) != 0) made->drop_columns();
  return made;
}

extern constinit const primitives::prepare_spmv_variant prepare_spmv_segmented{"cuda.segmented", backend_kind::cuda,
                                                                               plan_segmented, run_segmented};

}  // namespace sheaf::cuda
