#include "primitives/movement/prepare.hpp"

#include <sheaf/gather.hpp>

#include "plan/list_order.hpp"
#include "primitives/backends.hpp"
#include "primitives/timed_runs.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {

namespace {

bool gathers(const prepare_problem& p) { return p.direction == prepared_direction::gather; }

gather_problem gather_of(const prepare_problem& p) { return {static_cast<const movement&>(p)}; }
scatter_problem scatter_of(const prepare_problem& p) { return {static_cast<const movement&>(p), p.duplicates}; }

/// The movement that each run would be without a preparation, planned: the gather, or the scatter.
struct movement_plan {
  plan::choice<gather_variant> gather;
  plan::choice<scatter_variant> scatter;

  bool exists() const noexcept { return gather.variant != nullptr || scatter.variant != nullptr; }
  const plan::planned& plan() const noexcept { return gather.variant != nullptr ? gather.plan : scatter.plan; }
  /// Whether both do the same work. What they predict may differ.
  bool runs_as(const movement_plan& other) const noexcept {
    return gather.variant == other.gather.variant && scatter.variant == other.scatter.variant &&
           plan().decided == other.plan().decided;
  }
};

movement_plan plan_unprepared(const prepare_problem& problem, const plan::scope& in) {
  movement_plan planned;
  if (gathers(problem)) {
    planned.gather = plan::cheapest(gather_variants(), gather_of(problem), problem.backend, in,
                                    plan::forced_name("gather", {}, in.context));
  } else {
    planned.scatter = plan::cheapest(scatter_variants(), scatter_of(problem), problem.backend, in,
                                     plan::forced_name("scatter", {}, in.context));
  }
  return planned;
}

bool lies_dense(const_records r) { return r.stride_bytes == r.record_bytes; }

class kept_list final : public prepared_movement {
 public:
  kept_list(const context& ctx, const prepare_problem& p, const movement_plan& plan, index_span index)
      : problem_(p), plan_(plan), memory_(ctx, std::max<std::uint64_t>(1, p.index_bytes())) {
    copy_bytes(ctx, memory_.data(), index.data, p.index_bytes());
  }

  void run(const context& ctx, const_records from, records to) override {
    // The plan is one for records side by side.
    if (lies_dense(from) && lies_dense(to) && run_as_planned_for_dense(ctx, from, to)) return;
    if (gathers(problem_)) {
      gather(ctx, from, list(), to, {.pattern = problem_.pattern, .bounds = problem_.bounds});
    } else {
      scatter(ctx, from, list(), to,
              {.pattern = problem_.pattern, .bounds = problem_.bounds, .duplicates = problem_.duplicates});
    }
  }
  std::uint64_t kept_bytes() const override { return problem_.index_bytes(); }

 private:
  index_span list() const { return {memory_.data(), problem_.count, problem_.index}; }

  bool run_as_planned_for_dense(const context& ctx, const_records from, records to) const {
    if (gathers(problem_)) return run_as_planned(ctx, plan_.gather, gather_of(problem_), {from, list(), to});
    return run_as_planned(ctx, plan_.scatter, scatter_of(problem_), {from, list(), to});
  }

  prepare_problem problem_;
  movement_plan plan_;
  buffer memory_;
};

plan::planned plan_kept(const prepare_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const auto run = std::make_shared<movement_plan>(plan_unprepared(problem, scope));
  if (!run->exists()) {
    const bool lacks_scratch = plan_unprepared(problem, {machine, plan::no_scratch_limit, scope.context}).exists();
    return plan::rejected(lacks_scratch ? "no variant can do a run within the context's limits"
                                        : "no variant moves such records here");
  }
  const double run_seconds = run->plan().seconds;
  plan::planned plan;
  plan.add("copy", machine.streamed(2 * problem.index_bytes(), 2 * problem.index_bytes()) + machine.launch_seconds);
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  plan.decided.set(prepare_decision{.run_seconds = run_seconds, .kept_bytes = problem.index_bytes()});
  plan.inner_calls = run;
  return plan;
}

void run_kept(const context& ctx, const prepare_problem& p, const plan::planned& plan, const prepare_buffers& b,
              std::byte*) {
  *b.made = std::make_shared<kept_list>(ctx, p, plan.inner<movement_plan>(), b.index);
}

}  // namespace
}  // namespace primitives

namespace reference {
extern constinit const primitives::prepare_variant prepare_kept{primitives::kept_name, std::nullopt,
                                                                primitives::plan_kept, primitives::run_kept};
}

namespace primitives {

std::span<const prepare_variant> prepare_variants() { return list_of<prepare_variant>(); }

access_pattern order_of_list(const context& ctx, index_span index, std::uint64_t records, plan::list_sample size) {
  if (index.count == 0) return access_pattern::unknown();
  const std::uint64_t width = bytes(index.type);
  const std::uint64_t run_entries = plan::run_entries(index.count, size);
  std::vector<std::byte> copy(run_entries * width);
  std::vector<std::uint64_t> run(run_entries);
  std::vector<access_pattern> orders;
  for (const std::uint64_t begin : plan::sample_runs(index.count, size)) {
    copy_bytes(ctx, copy.data(), static_cast<const std::byte*>(index.data) + begin * width, copy.size());
    for (std::uint64_t i = 0; i < run_entries; ++i) {
      run[i] = 0;
      std::memcpy(&run[i], copy.data() + i * width, width);  // a negative index is past all records at either width
    }
    orders.push_back(plan::order_of_run(run, records));
  }
  return plan::order_of_runs(orders);
}

namespace {

prepare_problem describe(const context& ctx, std::string_view call, index_span index, std::uint64_t indexed_count,
                         std::uint64_t record_bytes, std::uint64_t expected_runs, const prepare_options& options,
                         prepared_direction direction) {
  const const_records sequential(nullptr, index.count, record_bytes);
  const const_records indexed(nullptr, indexed_count, record_bytes);
  require_shapes(call, sequential, "a run's sequential side", index, indexed, "a run's indexed side");
  require_aligned(call, index.data, bytes(index.type), "index");
  require_memory(call, ctx, index.data, index.count * bytes(index.type), "index");
  return {describe_movement(ctx, sequential, index, indexed, options.pattern, options.bounds), direction,
          options.duplicates, std::max<std::uint64_t>(1, expected_runs)};
}

using made_movement = made_executor<prepared_movement, preparation>;

/// Where the order of the list suggests other work than an unprepared call would do, both are timed, and the faster is
/// kept: an order that is found does not make a prediction right.
void time_and_keep(const context& ctx, const prepare_problem& as_given, index_span index, made_movement& made) {
  const plan::planned as_unprepared = reference::prepare_kept.plan(as_given, plan::scope_of(ctx));
  if (!as_unprepared.applicable()) return;
  std::shared_ptr<prepared_movement> told;
  reference::prepare_kept.run(ctx, as_given, as_unprepared, {index, &told}, nullptr);
  const std::uint64_t from_count = gathers(as_given) ? as_given.indexed_count : as_given.count;
  const std::uint64_t to_count = gathers(as_given) ? as_given.count : as_given.indexed_count;
  const std::uint64_t width = as_given.record_bytes;
  const buffer from(ctx, std::max<std::uint64_t>(1, from_count * width));
  const buffer to(ctx, std::max<std::uint64_t>(1, to_count * width));
  ctx.state().fill(from.data(), 0, from.size());
  ctx.state().fill(to.data(), 0, to.size());
  const auto run = [&](prepared_movement& work) {
    work.run(ctx, {from.data(), from_count, width}, {to.data(), to_count, width});
  };
  const auto [unprepared_seconds, made_seconds] = least_seconds_of_runs(
      ctx, [&] { run(*told); }, [&] { run(*made.work); });
  keep_the_faster(made, std::move(told), unprepared_seconds, made_seconds);
}

made_movement prepare(const context& ctx, std::string_view call, const prepare_problem& as_given, index_span index,
                      std::string_view asked) {
  preparing<prepared_movement, preparation> made(ctx, call, asked);
  preparation& preparation = made.report;
  prepare_problem problem = as_given;
  preparation.order = order_of_list(ctx, index, problem.indexed_count);
  if (preparation.order != access_pattern::unknown()) problem.pattern = preparation.order;
  const auto [variant, plan] = made.inspect(prepare_variants(), problem, {index, &made.work});
  preparation.run_seconds = plan.decided.get<prepare_decision>().run_seconds;
  // A lower bound where the caller told no order: the call that he would make does not know the one that was found.
  preparation.unprepared_seconds = plan_unprepared(problem, plan::scope_of(ctx)).plan().seconds;
  const movement_plan unprepared = plan_unprepared(as_given, plan::scope_of(ctx));
  const bool is_unprepared = variant->name == kept_name && plan.inner<movement_plan>().runs_as(unprepared);
  if (!is_unprepared) {
    made.try_runs(problem.expected_runs, (problem.count + problem.indexed_count) * problem.record_bytes,
                  [&] { time_and_keep(ctx, as_given, index, made); });
  }
  return made.finish();
}

template <class Prepared>
Prepared prepare_as(const context& ctx, std::string_view call, prepared_direction direction, index_span index,
                    std::uint64_t indexed_count, std::uint64_t record_bytes, std::uint64_t expected_runs,
                    const prepare_options& options) {
  const prepare_problem p = describe(ctx, call, index, indexed_count, record_bytes, expected_runs, options, direction);
  made_movement made = prepare(ctx, call, p, index, options.variant);
  return {ctx, std::make_shared<checked_movement>(std::move(made.work), p), std::move(made.report)};
}

// Views of a run must have the counts, width and alignment that were prepared for.
void require_prepared(std::string_view call, const context& ctx, const_records sequential,
                      std::string_view sequential_name, const_records indexed, std::string_view indexed_name,
                      const prepare_problem& problem) {
  const const_records views[] = {sequential, indexed};
  const std::string_view names[] = {sequential_name, indexed_name};
  const std::uint64_t counts[] = {problem.count, problem.indexed_count};
  for (int i = 0; i < 2; ++i) {
    require_shape(call, views[i], names[i]);
    if (views[i].record_bytes != problem.record_bytes) {
      refuse("{}: {} has records of {} bytes, but the preparation is for {}", call, names[i], views[i].record_bytes,
             problem.record_bytes);
    }
    if (views[i].count != counts[i]) {
      refuse("{}: {} has {} records, but the preparation is for {}", call, names[i], views[i].count, counts[i]);
    }
    require_memory(call, ctx, views[i].data, extent(views[i]), names[i]);
    const std::uint64_t place = reinterpret_cast<std::uintptr_t>(views[i].data) | views[i].stride_bytes;
    if (widest_word(place) < problem.word_bytes) {
      refuse("{}: {} is not aligned to words of {} bytes", call, names[i], problem.word_bytes);
    }
  }
  require_no_overlap(call, sequential.data, extent(sequential), sequential_name, indexed.data, extent(indexed),
                     indexed_name);
}

}  // namespace

void checked_movement::run(const context& ctx, const_records from, records to) {
  if (gathers(problem())) {
    require_prepared(prepared_gather_call, ctx, to, "out", from, "table", problem());
  } else {
    require_prepared(prepared_scatter_call, ctx, from, "in", to, "out", problem());
  }
  if (problem().count > 0) executor().run(ctx, from, to);
}

}  // namespace primitives

using namespace primitives;

prepared_gather::prepared_gather(const context& ctx, std::shared_ptr<prepared_movement> work, preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_gather::run(const_records table, records out) const {
  checked<checked_movement>(prepared_gather_call, work_).run(ctx_, table, out);
}

prepared_scatter::prepared_scatter(const context& ctx, std::shared_ptr<prepared_movement> work, preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_scatter::run(const_records in, records out) const {
  checked<checked_movement>(prepared_scatter_call, work_).run(ctx_, in, out);
}

prepared_gather prepare_gather(const context& ctx, index_span index, std::uint64_t table_count,
                               std::uint64_t record_bytes, std::uint64_t expected_runs,
                               const prepare_options& options) {
  return prepare_as<prepared_gather>(ctx, "prepare_gather", prepared_direction::gather, index, table_count,
                                     record_bytes, expected_runs, options);
}

prepared_scatter prepare_scatter(const context& ctx, index_span index, std::uint64_t out_count,
                                 std::uint64_t record_bytes, std::uint64_t expected_runs,
                                 const prepare_options& options) {
  return prepare_as<prepared_scatter>(ctx, "prepare_scatter", prepared_direction::scatter, index, out_count,
                                      record_bytes, expected_runs, options);
}

}  // namespace sheaf
