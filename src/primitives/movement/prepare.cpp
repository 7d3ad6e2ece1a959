#include "primitives/movement/prepare.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

#include <sheaf/memory.hpp>

#include "plan/choose.hpp"
#include "plan/list_order.hpp"
#include "primitives/backends.hpp"
#include "primitives/movement/prepare_kept.hpp"
#include "primitives/timed_runs.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {

std::span<const prepare_variant> prepare_variants() {
  static const std::vector<prepare_variant> all = [] {
    std::vector<prepare_variant> list = variants_of<prepare_variant>();
    list.insert(list.begin(), prepare_kept);
    return list;
  }();
  return all;
}

access_pattern order_of_list(const context& ctx, index_span index, std::uint64_t records, plan::order_sample size) {
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

struct made_movement {
  std::shared_ptr<prepared_movement> work;
  preparation report;
};

struct timed_pair {
  double of_first;
  double of_second;
};

/// The least times of runs of two movements in turn.
timed_pair time_both(const context& ctx, prepared_movement& first, prepared_movement& second, const_records from,
                     records to) {
  constexpr int most_runs = 20;
  constexpr int least_runs = 3;
  constexpr double enough_seconds = 0.01;
  const auto seconds_of = [&](prepared_movement& work) {
    return seconds_of_run(ctx, [&] { work.run(ctx, from, to); });
  };
  timed_pair least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  double spent = 0;
  for (int run = 0; run < most_runs && (run < least_runs || spent < enough_seconds); ++run) {
    const timed_pair now{seconds_of(first), seconds_of(second)};
    least = {std::min(least.of_first, now.of_first), std::min(least.of_second, now.of_second)};
    spent += now.of_first + now.of_second;
  }
  return least;
}

/// Where the order of the list suggests other work than an unprepared call would do, both are timed, and the faster is
/// kept: an order that is found does not make a prediction right.
void keep_the_faster(const context& ctx, const prepare_problem& as_told, index_span index, made_movement& made) {
  made_movement told;
  const plan::planned plan = prepare_kept.plan(as_told, plan::scope_of(ctx));
  prepare_kept.run(ctx, as_told, plan, {index, &told.work}, nullptr);
  const bool gathers = as_told.direction == prepared_direction::gather;
  const std::uint64_t from_count = gathers ? as_told.indexed_count : as_told.count;
  const std::uint64_t to_count = gathers ? as_told.count : as_told.indexed_count;
  const std::uint64_t width = as_told.record_bytes;
  const buffer from(ctx, std::max<std::uint64_t>(1, from_count * width));
  const buffer to(ctx, std::max<std::uint64_t>(1, to_count * width));
  ctx.state().fill(from.data(), 0, from.size());
  ctx.state().fill(to.data(), 0, to.size());
  const timed_pair seconds =
      time_both(ctx, *told.work, *made.work, {from.data(), from_count, width}, {to.data(), to_count, width});
  if (!is_unprepared_faster(seconds.of_first, seconds.of_second, made.report)) return;
  made.work = std::move(told.work);
  made.report.variant = prepare_kept.name;
}

made_movement prepare(const context& ctx, std::string_view call, const prepare_problem& as_told, index_span index,
                      std::string_view asked) {
  ctx.wait();  // errors and time of earlier calls do not count as this one's
  const auto begin = std::chrono::steady_clock::now();
  made_movement made;
  preparation& r = made.report;
  prepare_problem p = as_told;
  r.order = order_of_list(ctx, index, p.indexed_count);
  if (r.order != access_pattern::unknown()) p.pattern = r.order;
  const auto [variant, plan] =
      plan::execute<prepare_problem, prepare_buffers>(call, prepare_variants(), p, ctx, asked, {index, &made.work});
  ctx.wait();
  r.variant = variant->name;
  r.run_seconds = plan.decided.get<prepare_decision>().run_seconds;
  const movement_plan unprepared = plan_unprepared(as_told, plan::scope_of(ctx));
  r.unprepared_seconds = plan_unprepared(p, plan::scope_of(ctx)).plan().seconds;
  const bool is_forced = !plan::forced_name(call, asked, &ctx.state()).empty();
  const bool is_unprepared = variant->name == prepare_kept.name && plan.inner<movement_plan>().runs_as(unprepared);
  const std::uint64_t array_bytes = (p.count + p.indexed_count) * p.record_bytes;
  if (!is_forced && !is_unprepared && may_time_runs(ctx, p.expected_runs, array_bytes)) {
    const auto trials_begin = std::chrono::steady_clock::now();
    try {
      keep_the_faster(ctx, as_told, index, made);
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;  // what was predicted stays
    }
    r.trial_seconds = seconds_since(trials_begin);
  }
  r.kept_bytes = made.work->kept_bytes();
  report_preparation(begin, r);
  return made;
}

// Views of a run must have the counts, width and alignment that were prepared for.
void require_prepared(std::string_view call, const context& ctx, const_records sequential,
                      std::string_view sequential_name, const_records indexed, std::string_view indexed_name,
                      const prepare_problem& p) {
  const const_records views[] = {sequential, indexed};
  const std::string_view names[] = {sequential_name, indexed_name};
  const std::uint64_t counts[] = {p.count, p.indexed_count};
  for (int i = 0; i < 2; ++i) {
    require_shape(call, views[i], names[i]);
    if (views[i].record_bytes != p.record_bytes) {
      refuse("{}: {} has records of {} bytes, prepared for {}", call, names[i], views[i].record_bytes, p.record_bytes);
    }
    if (views[i].count != counts[i]) {
      refuse("{}: {} has {} records, prepared for {}", call, names[i], views[i].count, counts[i]);
    }
    require_memory(call, ctx, views[i].data, extent(views[i]), names[i]);
    const std::uint64_t place = reinterpret_cast<std::uintptr_t>(views[i].data) | views[i].stride_bytes;
    if (widest_word(place) < p.word_bytes) {
      refuse("{}: {} is not aligned to words of {} bytes", call, names[i], p.word_bytes);
    }
  }
  require_no_overlap(call, sequential.data, extent(sequential), sequential_name, indexed.data, extent(indexed),
                     indexed_name);
}

}  // namespace

void checked_movement::run(const context& ctx, const_records from, records to) {
  if (p_.direction == prepared_direction::gather) {
    require_prepared(prepared_gather_call, ctx, to, "out", from, "table", p_);
  } else {
    require_prepared(prepared_scatter_call, ctx, from, "in", to, "out", p_);
  }
  if (p_.count > 0) work_->run(ctx, from, to);
}

checked_movement& checked(std::string_view call, const std::shared_ptr<prepared_movement>& work) {
  if (work == nullptr) refuse("{}: it was moved from, and what it was is another object now", call);
  return static_cast<checked_movement&>(*work);
}

}  // namespace primitives

prepared_gather::prepared_gather(const context& ctx, std::shared_ptr<primitives::prepared_movement> work,
                                 preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_gather::run(const_records table, records out) const {
  primitives::checked(primitives::prepared_gather_call, work_).run(ctx_, table, out);
}

prepared_scatter::prepared_scatter(const context& ctx, std::shared_ptr<primitives::prepared_movement> work,
                                   preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_scatter::run(const_records in, records out) const {
  primitives::checked(primitives::prepared_scatter_call, work_).run(ctx_, in, out);
}

prepared_gather prepare_gather(const context& ctx, index_span index, std::uint64_t table_count,
                               std::uint64_t record_bytes, std::uint64_t expected_runs,
                               const prepare_options& options) {
  using namespace primitives;
  constexpr std::string_view call = "prepare_gather";
  const prepare_problem p =
      describe(ctx, call, index, table_count, record_bytes, expected_runs, options, prepared_direction::gather);
  made_movement made = prepare(ctx, call, p, index, options.variant);
  return {ctx, std::make_shared<checked_movement>(std::move(made.work), p), std::move(made.report)};
}

prepared_scatter prepare_scatter(const context& ctx, index_span index, std::uint64_t out_count,
                                 std::uint64_t record_bytes, std::uint64_t expected_runs,
                                 const prepare_options& options) {
  using namespace primitives;
  constexpr std::string_view call = "prepare_scatter";
  const prepare_problem p =
      describe(ctx, call, index, out_count, record_bytes, expected_runs, options, prepared_direction::scatter);
  made_movement made = prepare(ctx, call, p, index, options.variant);
  return {ctx, std::make_shared<checked_movement>(std::move(made.work), p), std::move(made.report)};
}

}  // namespace sheaf
