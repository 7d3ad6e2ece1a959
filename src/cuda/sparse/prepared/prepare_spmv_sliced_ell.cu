#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/prepared/sliced_ell_layout.cuh"
#include "cuda/sparse/sums/x_slice.cuh"
#include "primitives/sparse/trial_runs.hpp"

// The preparation cuda.sliced_ell: a copy of the matrix in sliced ELLPACK (SELL-C-sigma; Kreutzer et al. 2014). Rows
// are sorted by length within windows of 4096, and a warp takes 32 rows, or fewer with several lanes each, so that it
// reads 32 entries side by side, keeps each sum in a register and needs neither row offsets nor shared memory: L1 is
// x's. Where nearly all columns lie about the diagonal, these have 16 bits. For rows of any length that is not extreme.
namespace sheaf::cuda {
namespace {

constexpr const char* sliced_ell_name = "cuda.sliced_ell";

struct ell_scratch {
  row_facts* rows;
  entry_facts* entries;
  std::uint32_t* near_of_row;
  step_counts* steps_of_window;  ///< at last those of all windows before, and one behind the last
  std::uint32_t* taken;          ///< places of each class in the list of long rows, and of hot columns
  column_counts* counts = nullptr;
  std::uint32_t* columns = nullptr;  ///< how often each comes in a sample, then what entries have in its place

  ell_scratch(const spmv_problem& p, core::scratch_arrays& place)
      : rows(place.take<row_facts>(1)),
        entries(place.take<entry_facts>(1)),
        near_of_row(place.take<std::uint32_t>(p.rows)),
        steps_of_window(place.take<step_counts>(ceil_div(p.rows, ell_window_rows) + 1)),
        taken(place.take<std::uint32_t>(length_classes + 1)) {
    if (!may_have_hot_columns(p)) return;
    counts = place.take<column_counts>(1);
    columns = place.take<std::uint32_t>(p.columns);
  }
};

/// A matrix in sliced ELLPACK. Nothing stays the caller's.
class sliced_ell_matrix final : public inspected_matrix {
 public:
  /// Lists of rows and slices.
  sliced_ell_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const ell_shape& shape)
      : inspected_matrix(sliced_ell_name, p, a), shape_(shape) {
    const std::uint64_t slots = shape.long_rows + std::uint64_t{shape.slices} * shape.rows_of_slice();
    rows_ = prepared_memory(ctx, "numbers of sorted rows", slots * sizeof(std::uint32_t));
    if (shape.hot > 0) hot_columns_ = prepared_memory(ctx, "hot columns", shape.hot * sizeof(std::uint32_t));
    const std::uint64_t slices = std::uint64_t{shape.slices} + 1;
    begins_ = prepared_memory(ctx, "slices", (shape.long_rows + slices) * sizeof(std::uint32_t));
    if (!shape.is_split()) return;
    near_begins_ = prepared_memory(ctx, "slices of near columns", slices * sizeof(std::uint32_t));
    near_firsts_ = prepared_memory(ctx, "first near columns", shape.windows * sizeof(std::uint32_t));
  }

  /// Memory for the entries.
  void take_steps(const context& ctx, step_counts steps) {
    const std::uint64_t far = std::uint64_t{steps.far} * 32;
    const std::uint64_t near = std::uint64_t{steps.near} * 32;
    columns_ = prepared_memory(ctx, "columns by slice", far * sizeof(std::uint32_t));
    values_ = prepared_memory(ctx, "values by slice", far * problem_.value_bytes());
    if (!shape_.is_split()) return;
    near_columns_ = prepared_memory(ctx, "near columns by slice", near * sizeof(std::uint16_t));
    near_values_ = prepared_memory(ctx, "values of near columns", near * problem_.value_bytes());
  }

  std::uint64_t kept_bytes() const override {
    return rows_.size() + hot_columns_.size() + begins_.size() + near_begins_.size() + near_firsts_.size() +
           columns_.size() + values_.size() + near_columns_.size() + near_values_.size();
  }

  const ell_shape& shape() const noexcept { return shape_; }

  template <class Value>
  ell_arrays<Value> arrays() const {
    ell_arrays<Value> to;
    to.rows = rows_.as<std::uint32_t>();
    to.hot_columns = hot_columns_.as<std::uint32_t>();
    to.begins = begins_.as<std::uint32_t>();
    to.columns = columns_.as<std::uint32_t>();
    to.values = values_.as<Value>();
    if (!shape_.is_split()) return to;
    to.near_begins = near_begins_.as<std::uint32_t>();
    to.near_firsts = near_firsts_.as<std::uint32_t>();
    to.near_columns = near_columns_.as<std::uint16_t>();
    to.near_values = near_values_.as<Value>();
    return to;
  }

 private:
  // Entries in flight and blocks of a multiprocessor as an H200 is the fastest (docs/experiments/sparse.md). Two lanes
  // a row are for rows of uneven length, where blocks of several slices for each warp find more of x in L1.
  void multiply(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers) const override {
    with_product_types(problem, [&]<class Types>(Types) {
      using value = typename Types::value;
      using sum = typename Types::sum;
      constexpr bool is_wide = sizeof(sum) == sizeof(double);
      constexpr ell_form plain = ell_form::plain;
      using split =
          std::conditional_t<is_wide, ell_tuning<1, ell_form::split, 8, 1>, ell_tuning<1, ell_form::split, 4, 2>>;
      using hot = ell_tuning<1, ell_form::hot, 4, 1>;
      if (shape_.is_split()) return multiply_as<split, sum, value>(ctx, problem, buffers);
      if (shape_.form == ell_form::hot) return multiply_as<hot, sum, value>(ctx, problem, buffers);
      if (shape_.lanes == 1) return multiply_as<ell_tuning<1, plain, 4, 2>, sum, value>(ctx, problem, buffers);
      if (shape_.lanes == 2) return multiply_as<ell_tuning<2, plain, 8, 1>, sum, value>(ctx, problem, buffers);
      multiply_as<ell_tuning<4, plain, 4, 2>, sum, value>(ctx, problem, buffers);
    });
  }

  template <class Tuning, class Sum, class Value>
  void multiply_as(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers) const {
    constexpr std::uint32_t warps = ell_threads / 32;
    const std::uint64_t blocks_at_once = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * Tuning::blocks;
    std::uint64_t slices_of_warp = 1;
    if (Tuning::form != ell_form::plain) {
      slices_of_warp = std::max<std::uint64_t>(1, ceil_div(shape_.slices, blocks_at_once * warps));
    } else if (Tuning::lanes == 2) {
      constexpr std::uint64_t most = 4;
      if (shape_.slices >= most * most * blocks_at_once * warps) slices_of_warp = most;
    }
    const auto slices_of_block = static_cast<std::uint32_t>(slices_of_warp * warps);
    std::uint64_t long_blocks = ceil_div(shape_.long_rows, warps);
    constexpr std::uint64_t most_long_blocks = 32;  // where each copies x of hot columns first
    if (Tuning::form == ell_form::hot) long_blocks = std::min(long_blocks, most_long_blocks);
    const auto args = arguments_of<Value, std::uint32_t>(problem, buffers, csr_guard{});
    const ell_arrays<Value> to = arrays<Value>();
    const core::scratch scratch =
        plan::take_scratch(ctx, primitives::prepared_spmv_call, sliced_ell_name, shape_.hot * sizeof(Value));
    auto* const hot_x = reinterpret_cast<Value*>(scratch.data());
    std::uint64_t shared_bytes = 0;
    if (Tuning::form == ell_form::hot) {
      shared_bytes = (shape_.hot + 1) * sizeof(Value);
      launch(ctx, gather_hot_x<Value>, ceil_div(shape_.hot, block_threads), to.hot_columns, shape_.hot, args.x, hot_x);
    }
    launch_shared(ctx, multiply_ell_slices<Tuning, Sum, Value>, long_blocks + ceil_div(shape_.slices, slices_of_block),
                  ell_threads, shared_bytes, args, to, shape_, static_cast<std::uint32_t>(long_blocks), slices_of_block,
                  static_cast<const Value*>(hot_x));
  }

  ell_shape shape_;
  buffer rows_;
  buffer hot_columns_;
  buffer begins_;
  buffer near_begins_;
  buffer near_firsts_;
  buffer columns_;
  buffer values_;
  buffer near_columns_;
  buffer near_values_;
};

/// Predicted time of a product: the copy is streamed, and x is read where the columns say. Near columns, for which
/// nothing but the order of the list speaks before the matrix is read, have 16 bits, and their x stays in L1.
double ell_product_seconds(const spmv_problem& p, const machine& m) {
  constexpr double padded = 1.03;
  const bool is_near = !is_scattered(p.pattern);
  const std::uint64_t column_bytes = is_near ? sizeof(std::uint16_t) : sizeof(std::uint32_t);
  const auto streamed =
      static_cast<std::uint64_t>(padded * static_cast<double>(p.entries * (p.value_bytes() + column_bytes))) +
      p.rows * sizeof(std::uint32_t) + p.y_bytes();
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  add_reads(p, m, m.streamed(streamed, streamed), plan);
  return plan.seconds;
}

plan::planned plan_sliced_ell(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (const char* reason = unfit_for_sliced_ell(product)) return plan::rejected(reason);
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  const machine& machine = scope.machine;
  core::scratch_arrays place(nullptr);
  const ell_scratch at(product, place);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  const std::uint64_t copied = product.entries * (product.value_bytes() + sizeof(std::uint32_t));
  const std::uint64_t streamed = product.matrix_bytes() + product.entries * bytes(product.column) + copied;
  // A window is sorted by one block, and a slice copied by one warp, whose lanes read a row each. H200: 1.2 to 3.3 ms
  // for 3 * 10^7 entries, with the memory that is taken for them.
  constexpr double spread = 5;
  plan.add("latency", 5 * machine.launch_seconds);
  plan.add("streamed", spread * machine.streamed(streamed, streamed));
  const double run_seconds = ell_product_seconds(product, machine);
  primitives::add_trial_runs(plan, run_seconds);
  return add_runs(plan, problem, {run_seconds, sliced_ell_name});
}

/// Sorts and counts, waits for the device, and has memory for the entries. Null if the matrix is to be split, but would
/// be padded to more than it saves.
std::shared_ptr<sliced_ell_matrix> sorted_matrix(const context& ctx, const spmv_problem& p, const csr_view& a,
                                                 const ell_shape& shape, const entry_facts& found,
                                                 const ell_scratch& at) {
  auto made = std::make_shared<sliced_ell_matrix>(ctx, p, a, shape);
  const row_offsets rows = offsets_of(p, a);
  const auto to = made->template arrays<float>();
  class_begins classes{};
  for (unsigned i = 1; i < length_classes; ++i) {
    classes.of[i] = classes.of[i - 1] + static_cast<std::uint32_t>(found.long_rows[i - 1]);
  }
  require(cudaMemsetAsync(at.taken, 0, length_classes * sizeof *at.taken, ctx.stream()), ctx);
  constexpr unsigned bits_of_length = 16;
  launch_blocks(ctx, shape.is_split() ? sort_windows<2 * bits_of_length> : sort_windows<bits_of_length>, shape.windows,
                ell_threads, rows, at.near_of_row, longest_sorted_row(p), shape, classes, at.taken, to.rows, to.begins,
                to.near_begins, at.steps_of_window);
  launch_blocks(ctx, sum_steps, 1, ell_threads, rows, shape, to.rows, to.begins, at.steps_of_window);
  launch(ctx, place_slices, ceil_div(std::uint64_t{shape.slices} + 1, block_threads), shape, p.rows, p.columns,
         at.steps_of_window, to.begins, to.near_begins, to.near_firsts);
  step_counts all{};
  ctx.state().copy(&all, at.steps_of_window + shape.windows, sizeof all);  // waits
  constexpr std::uint64_t most_padding = 8;                                // one place in so many
  const std::uint64_t places = (std::uint64_t{all.far} + all.near) * 32;
  if (shape.is_split() && places > found.entries + found.entries / most_padding + std::uint64_t{32} * shape.long_rows)
    return nullptr;
  made->take_steps(ctx, all);
  return made;
}

struct hot_choice {
  std::uint64_t columns = 0;
  unsigned least_bin = count_bins;
};

/// Counts a sample of the columns, and waits for the device.
hot_choice hot_columns(const context& ctx, const spmv_problem& p, const csr_view& a, const ell_scratch& at) {
  hot_choice hot;
  if (!may_have_hot_columns(p) || !blocks_hold(ctx, hot_x_bytes)) return hot;
  require(cudaMemsetAsync(at.columns, 0, p.columns * sizeof *at.columns, ctx.stream()), ctx);
  require(cudaMemsetAsync(at.counts, 0, sizeof *at.counts, ctx.stream()), ctx);
  with_column_type(p, [&]<class Column>(Column) {
    launch(ctx, count_columns<Column>, ceil_div(p.entries, hot_sample * block_threads) + 1,
           static_cast<const Column*>(a.column_indices.data), p.entries,
           primitives::reachable_records(gather_of_columns(p)), at.columns);
  });
  constexpr std::uint64_t most_blocks = 1024;
  launch(ctx, count_counts, std::min(most_blocks, ceil_div(p.columns, block_threads)), at.columns, p.columns,
         at.counts);
  column_counts counts{};
  ctx.state().copy(&counts, at.counts, sizeof counts);  // waits
  hot.least_bin = least_hot_bin(counts, most_hot_columns(p));
  for (unsigned bin = hot.least_bin; bin < count_bins; ++bin) hot.columns += counts.columns[bin];
  return hot;
}

std::shared_ptr<primitives::prepared_product> make_sliced_ell(const context& ctx, const spmv_problem& p,
                                                              const csr_view& a, const csr_guard& guard,
                                                              const row_facts& facts, const ell_scratch& at) {
  if (facts.longest == 0 || facts.longest > longest_ell_row) return nullptr;
  require(cudaMemsetAsync(at.entries, 0, sizeof *at.entries, ctx.stream()), ctx);
  const row_offsets rows = offsets_of(p, a);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  with_column_type(p, [&]<class Column>(Column) {
    const auto look = [&]<unsigned Lanes>() {
      constexpr std::uint64_t most_blocks = 2048;
      launch(ctx, look_at_entries<Lanes, Column>, std::min(most_blocks, ceil_div(p.rows * Lanes, block_threads)), guard,
             rows, static_cast<const Column*>(a.column_indices.data), limit, p.columns, longest_sorted_row(p),
             at.near_of_row, at.entries);
    };
    constexpr std::uint64_t short_mean = 24;
    if (p.entries < short_mean * p.rows) {
      look.template operator()<8>();
    } else {
      look.template operator()<32>();
    }
  });
  entry_facts found{};
  ctx.state().copy(&found, at.entries, sizeof found);  // waits
  // Rows that share entries could be copied to any size.
  if (found.has_bad_columns != 0 || found.entries > p.entries) return nullptr;
  std::uint64_t long_rows = 0;
  for (const std::uint64_t count : found.long_rows) long_rows += count;
  std::shared_ptr<sliced_ell_matrix> made;
  if (is_ell_split(p.rows, found.entries, found.near)) {
    made = sorted_matrix(ctx, p, a, shape_of_ell(p, 1, ell_form::split, long_rows), found, at);
  }
  if (made == nullptr) {
    ell_shape shape = shape_of_ell(p, lanes_of_ell_row(p.rows, found.entries), ell_form::plain, long_rows);
    const hot_choice hot = 2 * found.near < found.entries ? hot_columns(ctx, p, a, at) : hot_choice{};
    if (hot.columns > 0) {
      shape = shape_of_ell(p, 1, ell_form::hot, long_rows);
      shape.hot = static_cast<std::uint32_t>(hot.columns);
    }
    made = sorted_matrix(ctx, p, a, shape, found, at);
    if (hot.columns > 0) {
      std::uint32_t* const taken = at.taken + length_classes;
      require(cudaMemsetAsync(taken, 0, sizeof *taken, ctx.stream()), ctx);
      launch(ctx, list_hot_columns, ceil_div(p.columns, block_threads), at.columns, p.columns, hot.least_bin, taken,
             made->template arrays<float>().hot_columns);
    }
  }
  with_product_types(p, [&]<class Types>(Types) {
    using value = typename Types::value;
    using column = typename Types::column;
    const ell_shape& shape = made->shape();
    launch(ctx, fill_slices<value, column>, ceil_div(std::uint64_t{shape.long_rows} + shape.slices, warps_of_a_block),
           rows, static_cast<const column*>(a.column_indices.data), static_cast<const value*>(a.values.data),
           shape.form == ell_form::hot ? at.columns : nullptr, shape, made->template arrays<value>());
  });
  return made;
}

void run_sliced_ell(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& buffers, std::byte* scratch) {
  core::scratch_arrays place(scratch);
  const ell_scratch at(problem.product, place);
  make_or_keep_rows(ctx, problem, buffers, at.rows, [&](const csr_guard& guard, const row_facts& facts) {
    try {
      return make_sliced_ell(ctx, problem.product, buffers.a, guard, facts, at);
    } catch (const error& short_of) {
      // Runs read the caller's arrays then.
      if (short_of.code() != error_code::out_of_memory) throw;
      return std::shared_ptr<primitives::prepared_product>();
    }
  });
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_sliced_ell{"cuda.sliced_ell", backend_kind::cuda,
                                                                                plan_sliced_ell, run_sliced_ell};

}  // namespace sheaf::cuda
