#include "cuda/movement/buckets/gather_schedule.cuh"
#include "cuda/movement/buckets/gather_schedule.hpp"
#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "plan/choose.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"

// Inspector and executor: a gather schedule that is built once and applied many times. A scatter applies the schedule
// of the list's inverse: it gathers each record of the output from the input, and skips records that no index names.
namespace sheaf::cuda {

extern const primitives::scatter_variant scatter_direct, scatter_bucketed, scatter_last_writer;

namespace {

using namespace primitives;

constexpr const char* scheduled_name = "cuda.scheduled";
constexpr std::uint32_t no_source = ~std::uint32_t{0};  // inverse of a record that no index names

/// The gather that each run performs: the caller's, or a scatter's by the inverse list.
movement gather_of(const prepare_problem& p) {
  movement gather = p;
  if (p.direction == prepared_direction::scatter) {
    std::swap(gather.count, gather.indexed_count);
    gather.index = index_type::u32;
    gather.bounds = bounds::check;
  }
  return gather;
}

const char* rejection(const prepare_problem& p) {
  if (p.count > 0 && p.indexed_count == 0) return "there is no record that an index could name";
  if (const char* reason = schedule_rejection(gather_of(p))) return reason;
  if (p.direction == prepared_direction::scatter && p.count >= no_source) return "counts exceed 32 bits";
  return nullptr;
}

/// The scatter that inverts the list of a prepared scatter: of record numbers, with the caller's list.
scatter_problem inverting_problem(const prepare_problem& p) {
  scatter_problem s{p, p.duplicates};
  s.record_bytes = s.sequential_stride_bytes = s.indexed_stride_bytes = s.word_bytes = sizeof(std::uint32_t);
  s.pattern = access_pattern::random();
  return s;
}

/// What plan decides for run beside the prepare_decision.
struct scheduled_calls {
  schedule_layout layout;
  plan::choice<scatter_variant> inverting;  ///< of a scatter; without a variant for a gather
  std::uint64_t lists_bytes = 0;            ///< bytes of inverse and record numbers in the scratch
};

/// Chooses the scatter that inverts the list as a caller's is chosen, but only among the variants that suit a random
/// list.
plan::choice<scatter_variant> choose_inverting(const prepare_problem& p, const plan::scope& in) {
  const scatter_problem s = inverting_problem(p);
  plan::choice<scatter_variant> best;
  for (const auto* v : {&scatter_direct, &scatter_bucketed, &scatter_last_writer}) {
    if ((p.duplicates == duplicates::last) != (v == &scatter_last_writer)) continue;
    plan::planned plan = v->plan(s, in);
    if (!plan.applicable() || plan.scratch_bytes > in.scratch_limit) continue;
    if (best.variant == nullptr || plan.seconds < best.plan.seconds) best = {v, std::move(plan)};
  }
  return best;
}

plan::planned plan_scheduled(const prepare_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = rejection(problem)) return plan::rejected(reason);
  const movement gather = gather_of(problem);
  const double run_seconds = machine.launch_seconds + machine.step_seconds + apply_seconds(gather, machine);
  plan::planned plan;
  const double reading_list = static_cast<double>(gather.index_bytes()) / machine.copy_bytes_per_second;
  plan.add("schedule", 4 * machine.launch_seconds + reading_list + build_seconds(gather, machine));
  const auto calls = std::make_shared<scheduled_calls>();
  calls->layout = layout_of_schedule(gather, bucket_storage::contiguous);
  if (problem.direction == prepared_direction::scatter) {
    calls->lists_bytes = ceil_div((problem.count + problem.indexed_count) * sizeof(std::uint32_t), 256) * 256;
    calls->inverting = choose_inverting(problem, plan::inner_scope(scope, calls->lists_bytes));
    if (calls->inverting.variant == nullptr) return plan::rejected("no scatter can invert the list");
    plan.add("inverse", calls->inverting.plan.seconds + 2 * reading_list);
    plan.scratch_bytes = calls->lists_bytes + calls->inverting.plan.scratch_bytes;
  }
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  plan.decided.set(prepare_decision{.run_seconds = run_seconds, .kept_bytes = calls->layout.bucket_words});
  plan.inner_calls = calls;
  // A schedule of a list in order costs several times what the list costs without.
  plan.by_name_only = problem.pattern.shape != access_pattern::kind::random;
  return plan;
}

/// source[i] = i; scattering it by the list gives the inverse list.
__global__ void __launch_bounds__(block_threads) number_records(std::uint32_t* source, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) source[i] = static_cast<std::uint32_t>(i);
}

class scheduled_movement final : public prepared_movement {
 public:
  scheduled_movement(const context& ctx, const prepare_problem& problem, const scheduled_calls& calls, index_span index,
                     std::byte* scratch)
      : gather_(gather_of(problem)),
        scatters_(problem.direction == prepared_direction::scatter),
        layout_(calls.layout),
        memory_(ctx, std::max<std::uint64_t>(1, layout_.bucket_words)) {
    if (!scatters_) {
      build(ctx, index, state_of(ctx).guard(gather_wording, problem.index, problem.indexed_count));
    } else if (gather_.count > 0) {
      build_inverse(ctx, problem, calls, index, scratch);
    }
  }

  void run(const context& ctx, const_records from, records to) override {
    const run_scope scope(ctx, scheduled_name);
    const core::scratch memory =
        plan::take_scratch(ctx, scatters_ ? "prepared_scatter" : "prepared_gather", scheduled_name,
                           std::max<std::uint64_t>(1, layout_.end - layout_.bucket_words));
    const gather_schedule schedule = schedule_in_memory();
    with_word(gather_.word_bytes, [&](auto value) {
      using word = decltype(value);
      constexpr int items = sizeof(word) == 16 ? 4 : 8;
      word* const bucket_words = reinterpret_cast<word*>(memory.data());
      const auto tiles_per_bucket =
          static_cast<std::uint32_t>(ceil_div(longest_list_, std::uint64_t{block_threads} * items));
      if (tiles_per_bucket > 0) {
        launch_blocks(ctx, read_buckets<word, items>, std::uint64_t{tiles_per_bucket} * layout_.buckets, block_threads,
                      schedule, from.data, static_cast<std::uint32_t>(from.stride_bytes), bucket_words,
                      tiles_per_bucket, order_sample{}, static_cast<std::uint32_t*>(nullptr));
      }
      launch_shared(ctx, collect_tiles<word, overflow_source>, ceil_div(gather_.count, bucketing_tile),
                    bucketing_threads, bucketing_tile * sizeof(word), schedule, static_cast<const word*>(bucket_words),
                    to.data, to.stride_bytes, overflow_source{}, scatters_ ? 1U : 0U, order_sample{},
                    static_cast<std::uint32_t*>(nullptr));
    });
  }

  std::uint64_t kept_bytes() const override { return layout_.bucket_words; }

 private:
  template <class T>
  T* array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(memory_.data() + offset);
  }

  gather_schedule schedule_in_memory() const {
    return {.bucket_indices = array<std::uint32_t>(layout_.bucket_indices),
            .bucket_sizes = array<std::uint32_t>(layout_.bucket_sizes),
            .bucket_begins = array<unsigned long long>(layout_.bucket_begins),
            .capacity = 0,
            .tile_slots = array<std::uint16_t>(layout_.tile_slots),
            .run_in_bucket = array<std::uint32_t>(layout_.run_in_bucket),
            .run_in_tile = array<std::uint16_t>(layout_.run_in_tile),
            .count = gather_.count,
            .first_position = 0,
            .buckets = layout_.buckets,
            .shift = layout_.shift};
  }

  void build_inverse(const context& ctx, const prepare_problem& problem, const scheduled_calls& calls, index_span index,
                     std::byte* scratch) {
    auto* const inverse = reinterpret_cast<std::uint32_t*>(scratch);
    std::uint32_t* const numbers = inverse + problem.indexed_count;
    require(cudaMemsetAsync(inverse, 0xff, problem.indexed_count * sizeof(std::uint32_t), ctx.stream()), ctx);
    launch(ctx, number_records, ceil_div(problem.count, block_threads), numbers, problem.count);
    const auto& [inverting, plan] = calls.inverting;  // it reports bad indices
    inverting->run(ctx, inverting_problem(problem), plan,
                   {const_records(numbers, problem.count, sizeof(std::uint32_t)), index,
                    records(inverse, problem.indexed_count, sizeof(std::uint32_t))},
                   scratch + calls.lists_bytes);
    build(ctx, {inverse, problem.indexed_count, index_type::u32}, index_guard{});
  }

  void build(const context& ctx, index_span index, const index_guard& guard) {
    if (gather_.count == 0 || gather_.indexed_count == 0) return;  // there is nothing to run either
    bytes(index.type) == 8 ? build_as<std::uint64_t>(ctx, index, guard) : build_as<std::uint32_t>(ctx, index, guard);
    // Runs launch blocks for the longest list. Reading its length waits for the device, which a preparation may do.
    std::vector<std::uint32_t> sizes(layout_.buckets);
    copy_bytes(ctx, sizes.data(), array<std::uint32_t>(layout_.bucket_sizes), sizes.size() * sizeof(std::uint32_t));
    longest_list_ = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  }

  template <class Index>
  void build_as(const context& ctx, index_span index, const index_guard& guard) {
    const std::uint64_t limit = std::min(gather_.index_limit(), gather_.indexed_count);
    const gather_schedule schedule = schedule_in_memory();
    auto* const begin = array<unsigned long long>(layout_.bucket_begins);
    unsigned long long* const total = begin + most_buckets + 1;
    require(cudaMemsetAsync(schedule.bucket_sizes, 0, layout_.buckets * sizeof(std::uint32_t), ctx.stream()), ctx);
    require(cudaMemsetAsync(total, 0, most_buckets * sizeof(unsigned long long), ctx.stream()), ctx);
    const auto blocks = std::min<std::uint64_t>(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 4,
                                                ceil_div(gather_.count, bucketing_tile));
    const auto last = static_cast<Index>(std::min<std::uint64_t>(limit - 1, static_cast<Index>(~Index{0})));
    launch_blocks(ctx, count_buckets<Index>, blocks, bucketing_threads, static_cast<const Index*>(index.data),
                  gather_.count, last, layout_.shift, total);
    launch_blocks(ctx, scan_buckets, 1, most_buckets, static_cast<const unsigned long long*>(total), begin);
    using source = list_source<Index>;
    const build_arguments<source> a{{static_cast<const Index*>(index.data), last, guard, 0}, {}, nullptr};
    launch_shared(ctx, build_schedule<source>, ceil_div(gather_.count, bucketing_tile), bucketing_threads,
                  build_shared_bytes<source>, schedule, a);
  }

  movement gather_;
  bool scatters_;
  schedule_layout layout_;
  buffer memory_;
  std::uint64_t longest_list_ = 0;
};

void run_scheduled(const context& ctx, const prepare_problem& p, const plan::planned& plan, const prepare_buffers& b,
                   std::byte* scratch) {
  const device_scope scope(ctx.device());
  *b.made = std::make_shared<scheduled_movement>(ctx, p, plan.inner<scheduled_calls>(), b.index, scratch);
}

}  // namespace

extern constinit const prepare_variant prepare_scheduled{"cuda.scheduled", backend_kind::cuda, plan_scheduled,
                                                         run_scheduled};

}  // namespace sheaf::cuda
