#include "primitives/reduce/prepare.hpp"

#include "primitives/backends.hpp"
#include "primitives/timed_runs.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {
namespace {

using rows_choice = plan::choice<scatter_reduce_rows_variant>;

/// A run as plans take it: sums of f32 in rows of the width that was guessed.
scatter_reduce_rows_problem run_of(const prepare_scatter_reduce_problem& p) {
  scatter_reduce_rows_problem run{static_cast<const movement&>(p)};
  run.values_per_row = std::max<std::uint64_t>(1, p.record_bytes / 4);
  run.record_bytes = run.sequential_stride_bytes = run.indexed_stride_bytes = 4 * run.values_per_row;
  run.word_bytes = run.out_word_bytes = widest_word(run.record_bytes);
  return run;
}

rows_choice plan_unprepared(const prepare_scatter_reduce_problem& p, const plan::scope& in) {
  return plan::cheapest(scatter_reduce_rows_variants(), run_of(p), p.backend, in,
                        plan::forced_name(scatter_reduce_rows_call, {}, in.context));
}

/// A copy of the list, by which each run is a scatter_reduce.
class kept_index final : public prepared_reduction {
 public:
  kept_index(const context& ctx, const prepare_scatter_reduce_problem& p, index_span index)
      : memory_(memory_of_preparation(ctx, prepare_scatter_reduce_call, "the list's entries", p.index_bytes())),
        index_(memory_.data(), p.count, p.index) {
    ctx.state().copy(memory_.data(), index.data, p.index_bytes());
  }

  void run(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b) override {
    scatter_reduce_rows_buffers buffers = b;
    buffers.index = index_;
    plan::execute(scatter_reduce_rows_call, scatter_reduce_rows_variants(), p, ctx, {}, buffers);
  }
  std::uint64_t kept_bytes() const override { return index_.count * bytes(index_.type); }

  /// Throws the first bad index, which counting by the list finds.
  void check(const context& ctx, std::uint64_t out_count) const {
    const buffer counts = memory_of_preparation(ctx, prepare_scatter_reduce_call, "the rows' counts", out_count);
    try {
      scatter_reduce(ctx, const_value_rows(nullptr, index_.count, 1, value_type::u8), index_,
                     value_rows(counts.data(), out_count, 1, value_type::u8), reduction::count,
                     {.start = reduction_start::identity});
      ctx.wait();
    } catch (const error& e) {
      if (e.code() != error_code::bad_index) throw;
      throw error(error_code::bad_index, fmt::format("prepare_{}", e.what()));
    }
  }

 private:
  buffer memory_;
  index_span index_;
};

plan::planned plan_kept_index(const prepare_scatter_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const rows_choice run = plan_unprepared(p, scope);
  if (run.variant == nullptr) return plan::rejected("no variant can do a run within the context's limits");
  plan::planned plan;
  plan.add("copy", m.streamed(2 * p.index_bytes(), 2 * p.index_bytes()) + m.launch_seconds);
  plan.add("runs", static_cast<double>(p.expected_runs) * run.plan.seconds);
  plan.decided.set(prepare_scatter_reduce_decision{run.plan.seconds});
  return plan;
}

void run_kept_index(const context& ctx, const prepare_scatter_reduce_problem& p, const plan::planned&,
                    const prepare_scatter_reduce_buffers& b, std::byte*) {
  auto made = std::make_shared<kept_index>(ctx, p, b.index);
  if (p.count > 0) made->check(ctx, p.indexed_count);
  *b.made = std::move(made);
}

}  // namespace
}  // namespace primitives

namespace reference {
extern constinit const primitives::prepare_scatter_reduce_variant prepare_scatter_reduce_kept{
    primitives::kept_name, std::nullopt, primitives::plan_kept_index, primitives::run_kept_index};
}

namespace primitives {

std::span<const prepare_scatter_reduce_variant> prepare_scatter_reduce_variants() {
  return list_of<prepare_scatter_reduce_variant>();
}

void checked_reduction::run(const context& ctx, const scatter_reduce_rows_problem& p,
                            const scatter_reduce_rows_buffers& b) {
  executor().run(ctx, p, b);
}

namespace {

prepare_scatter_reduce_problem describe_preparation(const context& ctx, index_span index, std::uint64_t out_count,
                                                    std::uint64_t expected_runs,
                                                    const prepare_scatter_reduce_options& options) {
  constexpr std::string_view call = prepare_scatter_reduce_call;
  require_index_type(call, index.type, "index");
  if (index.count > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: index has {} entries, more than memory can hold", call, index.count);
  }
  if (out_count > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: {} rows of out are more than memory can hold", call, out_count);
  }
  if (options.row_bytes == 0) refuse("{}: row_bytes is 0, not 1 or more", call);
  const std::uint64_t row_bytes = std::min<std::uint64_t>(options.row_bytes, 65536 * 4);
  const const_records in(nullptr, index.count, row_bytes);
  const const_records out(nullptr, out_count, row_bytes);
  prepare_scatter_reduce_problem p{describe_movement(ctx, in, index, out, options.pattern, bounds::check)};
  p.expected_runs = std::max<std::uint64_t>(1, expected_runs);
  return p;
}

}  // namespace
}  // namespace primitives

using namespace primitives;

prepared_scatter_reduce::prepared_scatter_reduce(const context& ctx, std::shared_ptr<prepared_reduction> work,
                                                 scatter_reduce_preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_scatter_reduce::run(const_value_rows in, value_rows out, reduction op,
                                  const scatter_reduce_run_options& options) const {
  constexpr std::string_view call = prepared_scatter_reduce_call;
  auto& work = checked<checked_reduction>(call, work_);
  const index_span index(nullptr, work.problem().count, work.problem().index);
  require_reduction_shapes(call, in, index, out, op, options.start, options.counts);
  if (out.count != work.problem().indexed_count) {
    refuse("{}: out has {} rows, but {} were prepared for", call, out.count, work.problem().indexed_count);
  }
  require_reduction_memory(call, ctx_, in, index_span(nullptr, 0, index.type), out, op, options.counts);
  const auto p = describe_rows(ctx_, in, index, out, op,
                               {.pattern = work.problem().pattern, .start = options.start, .counts = options.counts});
  if (out.count == 0 || (index.count == 0 && p.reads_out() && !p.has_counts)) return;
  work.run(ctx_, p, {in, index, out, counts_of_buffers(options.counts)});
}

prepared_scatter_reduce prepare_scatter_reduce(const context& ctx, index_span index, std::uint64_t out_count,
                                               std::uint64_t expected_runs,
                                               const prepare_scatter_reduce_options& options) {
  constexpr std::string_view call = prepare_scatter_reduce_call;
  const prepare_scatter_reduce_problem p = describe_preparation(ctx, index, out_count, expected_runs, options);
  require_memory(call, ctx, index.data, index.count * bytes(index.type), "index");
  require_aligned(call, index.data, bytes(index.type), "index");
  preparing<prepared_reduction, scatter_reduce_preparation> made(ctx, call, options.variant);
  const auto [variant, plan] = made.inspect(prepare_scatter_reduce_variants(), p, {index, &made.work});
  made.report.run_seconds = plan.decided.get<prepare_scatter_reduce_decision>().run_seconds;
  made.report.unprepared_seconds = made.report.run_seconds;
  const rows_choice unprepared = plan_unprepared(p, plan::scope_of(ctx));
  if (variant->name != kept_name && unprepared.variant != nullptr) {
    made.report.unprepared_seconds = unprepared.plan.seconds;
  }
  auto done = made.finish();
  return {ctx, std::make_shared<checked_reduction>(std::move(done.work), p), std::move(done.report)};
}

explanation explain_prepare_scatter_reduce(const context& ctx, index_span index, std::uint64_t out_count,
                                           std::uint64_t expected_runs, const prepare_scatter_reduce_options& options) {
  return plan::explain(prepare_scatter_reduce_call, prepare_scatter_reduce_variants(),
                       describe_preparation(ctx, index, out_count, expected_runs, options), ctx, options.variant);
}

}  // namespace sheaf
