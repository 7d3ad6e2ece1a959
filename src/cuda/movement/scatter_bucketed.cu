#include "cuda/device/speeds.hpp"
#include "cuda/movement/bucketed_positions.hpp"
#include "cuda/movement/buckets/scatter_passes.cuh"
#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"

// Propagation blocking for a random scatter, in three streams over memory. The first pass sends records with their
// indices to coarse buckets of the output, the second sends each coarse bucket's records to fine buckets that fit
// shared memory, and the last kernel puts each fine bucket in order there and writes it in whole lines. Small outputs
// need one pass. Buckets have fixed capacity. A record that finds its bucket full, because the list is skewed or
// repeats itself, is written to the output at once: with duplicates::any, its writer may win as well as another.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// What plan decides for run.
struct bucketed_decision {
  bucketing cut;
  bucket_layout layout;

  void tell(plan::told& to) const { cut.tell(to); }
};

struct bucketed_tuning {
  /// Share of copy bandwidth that a bucketing pass reaches, and records that it ranks in the time in which the L2 cache
  /// moves a byte, which limits narrow words.
  double pass_share = 0.67;
  double wide_pass_share = 0.78;  ///< for 16-byte words
  double pass_ranked = 0.0334;
  /// Share of copy bandwidth that write_fine_buckets reaches, and records that it writes in the time in which the L2
  /// cache moves a byte.
  double write_share = 0.90;
  double write_ranked = 0.0531;
  /// Steps of the profile that a block of an empty bucket takes.
  double empty_bucket_steps = 0.000711;
  /// A list in order that takes fewer steps than this would lose some per cent to the order sample.
  double least_in_order_steps = 128;
};
constexpr bucketed_tuning tuning_of_bucketed;

plan::planned plan_bucketed(const scatter_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (const char* reason = words_rejection(problem)) return plan::rejected(reason);
  const bucketing bucketing = bucketing_of(problem, problem.record_bytes);
  core::scratch_offsets arrays;
  const bucketed_decision decided{bucketing, layout_of(problem, bucketing, problem.record_bytes, arrays)};
  if (const char* reason = bucketing_rejection(problem, bucketing, decided.layout, problem.record_bytes, scope))
    return plan::rejected(reason);
  const auto count = static_cast<double>(problem.count);
  const auto width = static_cast<double>(problem.record_bytes);
  const double index = static_cast<double>(bytes(problem.index));
  const double bus = machine.copy_bytes_per_second;
  const double in = count * (static_cast<double>(problem.sequential_stride_bytes) + index);
  plan::planned plan;
  plan.decided.set(decided);
  plan.scratch_bytes = arrays.bytes();
  // Kernels run one after another, and the few blocks of a short list wait for memory.
  plan.add("latency", machine.launch_seconds + (6 + 2 * bucketing.passes) * machine.step_seconds);
  const auto stream = [&](const char* name, double bytes, double share, double ranked) {
    plan::planned stream_plan;
    stream_plan.add_overlapped(
        3, {{"streamed", bytes / bus / share}, {"ranked", instruction_seconds(count, ranked, machine)}});
    plan.add(name, stream_plan.seconds);
  };
  const double share = problem.record_bytes == 16 ? tuning_of_bucketed.wide_pass_share : tuning_of_bucketed.pass_share;
  if (bucketing.passes == 2) {
    stream("coarse buckets", in + count * (width + 4), share, tuning_of_bucketed.pass_ranked);
    stream("fine buckets", count * (2 * width + 4 + 2), share, tuning_of_bucketed.pass_ranked);
  } else {
    stream("fine buckets", in + count * (width + 2), share, tuning_of_bucketed.pass_ranked);
  }
  stream("bucket writes", count * (width + 2) + std::min(count, static_cast<double>(problem.indexed_count)) * width,
         busy_share(bucketing, machine) * tuning_of_bucketed.write_share,
         busy_share(bucketing, machine) * tuning_of_bucketed.write_ranked);
  plan.add("empty buckets",
           static_cast<double>(bucketing.fine_buckets) * tuning_of_bucketed.empty_bucket_steps * machine.step_seconds);
  if (problem.pattern.shape == access_pattern::kind::unknown) {
    // Kernels that end at once cost a list in order some microseconds each.
    plan.add("sampling", 0.03 * plan.seconds);
    movement in_order = problem;
    in_order.pattern = access_pattern::sequential();
    plan.by_name_only = to_plan(scatter_cost(in_order, machine), machine, true).seconds <
                        tuning_of_bucketed.least_in_order_steps * machine.step_seconds;
  } else {
    plan.by_name_only = problem.pattern.shape != access_pattern::kind::random;
  }
  return plan;
}

/// Record is Word, or row_position.
template <class Word, class Record = Word>
void scatter_by_buckets(const context& ctx, const scatter_problem& problem, const scatter_buffers& buffers,
                        const bucketed_decision& decided, std::byte* scratch) {
  index_guard guard;  // with bounds::trust, an index past the output has no bucket and is skipped without a report
  if (problem.bounds == bounds::check)
    guard = state_of(ctx).guard(scatter_wording, problem.index, problem.indexed_count);
  bucket_passes<Word, Record> passes(ctx, problem, buffers, decided.cut, decided.layout, scratch);
  passes.clear();
  if (problem.pattern.shape == access_pattern::kind::unknown) {
    move_arguments direct = arguments_of(problem, buffers.in.data, buffers.out.data, buffers.index, guard);
    // An index past the output is skipped here whatever the bounds, as by the passes.
    direct.limit = std::min(problem.index_limit(), problem.indexed_count);
    constexpr auto scatter_directly =
        std::is_same_v<Record, row_position> ? scatter_positions_if_ordered : scatter_if_ordered;
    const direct_attempt attempt = scatter_directly(ctx, problem, direct);
    if (!attempt.asks_for_verdict) return;
    passes.make_conditional(attempt.sample, attempt.records_moved);
  }
  passes.run(guard);
  const std::uint32_t position_bits = decided.cut.position_bits;
  const std::size_t shared_bytes = (sizeof(Word) + 1) << position_bits;
  launch_overlapped(ctx, write_fine_buckets<Word>, passes.blocks_for(decided.cut.fine_buckets, 4), write_threads,
                    std::max<std::size_t>(shared_bytes, 16), passes.fine_index(), passes.fine_words(),
                    static_cast<const std::uint32_t*>(passes.fine_sizes()), decided.layout.fine_capacity, position_bits,
                    decided.cut.fine_buckets, buffers.out.data, problem.indexed_stride_bytes, passes.sample(),
                    passes.next_tile_counter());
}

void run_bucketed(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                  std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto decided = plan.decided.get<bucketed_decision>();
  with_word(p.word_bytes, [&](auto word) { scatter_by_buckets<decltype(word)>(ctx, p, b, decided, scratch); });
}

scatter_problem problem_of_positions(std::uint64_t count, access_pattern pattern) {
  scatter_problem problem;
  problem.backend = backend_kind::cuda;
  problem.count = problem.indexed_count = count;
  problem.record_bytes = problem.indexed_stride_bytes = problem.word_bytes = sizeof(std::uint32_t);
  problem.sequential_stride_bytes = 1;
  problem.pattern = pattern;
  problem.bounds = bounds::trust;
  return problem;
}

}  // namespace

bucketed_positions::bucketed_positions(std::uint64_t count, access_pattern pattern, const plan::scope& in)
    : problem_(problem_of_positions(count, pattern)), plan_(plan_bucketed(problem_, in)) {}

void bucketed_positions::scatter(const context& ctx, const std::uint32_t* index, std::uint32_t* out,
                                 std::byte* scratch) const {
  const scatter_buffers b{{nullptr, problem_.count, sizeof(std::uint32_t), problem_.sequential_stride_bytes},
                          {index, problem_.count, index_type::u32},
                          {out, problem_.count, sizeof(std::uint32_t)}};
  scatter_by_buckets<std::uint32_t, row_position>(ctx, problem_, b, plan_.decided.get<bucketed_decision>(), scratch);
}

extern constinit const scatter_variant scatter_bucketed{"cuda.bucketed", backend_kind::cuda, plan_bucketed,
                                                        run_bucketed};

}  // namespace sheaf::cuda
