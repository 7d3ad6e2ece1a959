#include "primitives/prepare.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include <sheaf/gather.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/scatter.hpp>

#include "plan/choose.hpp"
#include "plan/list_order.hpp"
#include "primitives/backends.hpp"
#include "primitives/gather.hpp"
#include "primitives/scatter.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {
namespace {

// ---- variant "kept": a copy of the list

gather_problem gather_of(const prepare_problem& p) { return {static_cast<const movement&>(p)}; }
scatter_problem scatter_of(const prepare_problem& p) { return {static_cast<const movement&>(p), p.duplicates}; }

/// The plan of the movement that each run would be without a preparation.
plan::planned unprepared_plan(const prepare_problem& p, const plan::scope& in) {
  if (p.direction == prepared_direction::gather) {
    return plan::cheapest(gather_variants(), gather_of(p), p.backend, in).plan;
  }
  return plan::cheapest(scatter_variants(), scatter_of(p), p.backend, in).plan;
}

class kept_list final : public prepared_movement {
 public:
  kept_list(const context& ctx, const prepare_problem& p, index_span index)
      : problem_(p), memory_(ctx, std::max<std::uint64_t>(1, p.index_bytes())) {
    copy_bytes(ctx, memory_.data(), index.data, p.index_bytes());
  }
  void run(const context& ctx, const_records from, records to) override {
    const index_span index(memory_.data(), problem_.count, problem_.index);
    if (problem_.direction == prepared_direction::gather) {
      gather(ctx, from, index, to, {.pattern = problem_.pattern, .bounds = problem_.bounds});
    } else {
      scatter(ctx, from, index, to,
              {.pattern = problem_.pattern, .bounds = problem_.bounds, .duplicates = problem_.duplicates});
    }
  }
  std::uint64_t kept_bytes() const override { return problem_.index_bytes(); }

 private:
  prepare_problem problem_;
  buffer memory_;
};

plan::planned plan_kept(const prepare_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const double run_seconds = unprepared_plan(p, scope).seconds;
  plan::planned plan;
  plan.add("copy", m.streamed(2 * p.index_bytes(), 2 * p.index_bytes()) + m.launch_seconds);
  plan.add("runs", static_cast<double>(p.expected_runs) * run_seconds);
  plan.decided.set(prepare_decision{.run_seconds = run_seconds, .kept_bytes = p.index_bytes()});
  return plan;
}

void run_kept(const context& ctx, const prepare_problem& p, const plan::planned&, const prepare_buffers& b,
              std::byte*) {
  *b.made = std::make_shared<kept_list>(ctx, p, b.index);
}

constexpr prepare_variant kept{"kept", std::nullopt, plan_kept, run_kept};

}  // namespace

std::span<const prepare_variant> prepare_variants() {
  static const std::vector<prepare_variant> all = [] {
    std::vector<prepare_variant> list = variants_of(&backend_variants::prepare);
    list.insert(list.begin(), kept);
    return list;
  }();
  return all;
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

/// What the list is found to be, by runs of it on the host.
access_pattern order_of(const context& ctx, index_span index, std::uint64_t records) {
  if (index.count == 0) return access_pattern::unknown();
  const std::uint64_t width = bytes(index.type);
  const std::uint64_t run_entries = std::min(index.count, plan::run_entries);
  std::vector<std::byte> copy(run_entries * width);
  std::vector<std::uint64_t> run(run_entries);
  std::vector<access_pattern> orders;
  for (const std::uint64_t begin : plan::sample_runs(index.count)) {
    copy_bytes(ctx, copy.data(), static_cast<const std::byte*>(index.data) + begin * width, copy.size());
    for (std::uint64_t i = 0; i < run_entries; ++i) {
      run[i] = 0;
      std::memcpy(&run[i], copy.data() + i * width, width);  // a negative index is past all records at either width
    }
    orders.push_back(plan::order_of_run(run, records));
  }
  return plan::order_of_runs(orders);
}

struct made_movement {
  std::shared_ptr<prepared_movement> work;
  preparation report;
};

made_movement prepare(const context& ctx, std::string_view call, prepare_problem p, index_span index,
                      std::string_view forced) {
  ctx.wait();  // errors and time of earlier calls do not count as this one's
  const auto begin = std::chrono::steady_clock::now();
  made_movement made;
  made.report.order = order_of(ctx, index, p.indexed_count);
  if (made.report.order != access_pattern::unknown()) p.pattern = made.report.order;
  const auto [variant, plan] =
      plan::execute<prepare_problem, prepare_buffers>(call, prepare_variants(), p, ctx, forced, {index, &made.work});
  ctx.wait();
  preparation& r = made.report;
  r.variant = variant->name;
  r.preparation_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  r.run_seconds = plan.decided.get<prepare_decision>().run_seconds;
  r.unprepared_seconds = unprepared_plan(p, plan::scope_of(ctx)).seconds;
  r.kept_bytes = made.work->kept_bytes();
  const double saved = r.unprepared_seconds - r.run_seconds;
  if (saved > 1e-9) r.pays_after_runs = static_cast<std::uint64_t>(std::ceil(r.preparation_seconds / saved));
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

/// Compares the arguments of each run with the prepared problem.
class checked_movement final : public prepared_movement {
 public:
  checked_movement(std::shared_ptr<prepared_movement> work, const prepare_problem& p) : work_(std::move(work)), p_(p) {}
  void run(const context& ctx, const_records from, records to) override {
    if (p_.direction == prepared_direction::gather) {
      require_prepared("prepared_gather", ctx, to, "out", from, "table", p_);
    } else {
      require_prepared("prepared_scatter", ctx, from, "in", to, "out", p_);
    }
    if (p_.count > 0) work_->run(ctx, from, to);
  }
  std::uint64_t kept_bytes() const override { return work_->kept_bytes(); }

 private:
  std::shared_ptr<prepared_movement> work_;
  prepare_problem p_;
};

}  // namespace
}  // namespace primitives

prepared_gather::prepared_gather(const context& ctx, std::shared_ptr<primitives::prepared_movement> work,
                                 preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_gather::run(const_records table, records out) const { work_->run(ctx_, table, out); }

prepared_scatter::prepared_scatter(const context& ctx, std::shared_ptr<primitives::prepared_movement> work,
                                   preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_scatter::run(const_records in, records out) const { work_->run(ctx_, in, out); }

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
