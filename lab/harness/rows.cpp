#include "lab/harness/rows.hpp"

#include <fmt/format.h>

#include "lab/harness/now.hpp"
#include "lab/peers/list.hpp"

namespace sheaf::bench {
namespace {

/// Upper bound on the memory of a prepared list: bytes kept and scratch bytes, for an entry of the list.
constexpr std::uint64_t prepared_bytes = 48;

/// The call as it is planned: with the order that it finds where its caller tells none.
problem as_planned(const context& ctx, const problem& call) {
  problem planned = call;
  const auto found = entry_of(call).found;
  if (found != nullptr && call.access == access_pattern::unknown()) planned.access = found(call, ctx.backend());
  return planned;
}

contender ours(const context& ctx, const problem& problem, const workspace& arrays, std::string who,
               const variant_estimate& estimate, bool by_name, bool timed_side_outputs) {
  const jobs::job& job = jobs::job_of(problem);
  // Views of the arrays are made before the time is taken, as the peers' are.
  const auto copies_of_arrays = std::make_shared<std::vector<jobs::array_set>>();
  const auto run = [ctx, problem, &job, copies_of_arrays, variant = by_name ? estimate.variant : std::string{}](
                       std::uint64_t copy, bool side_outputs) {
    job.run(ctx, problem, (*copies_of_arrays)[copy], {variant, side_outputs});
  };
  contender contender{.who = std::move(who),
                      .variant = estimate.variant,
                      .predicted_seconds = estimate.seconds,
                      .order_is_unknown = entry_of(problem).takes(primitives::fields::pattern) &&
                                          as_planned(ctx, problem).access == access_pattern::unknown(),
                      .scratch_bytes = estimate.scratch_bytes,
                      .queue = [run, timed_side_outputs](std::uint64_t copy) { run(copy, timed_side_outputs); },
                      .wait = [ctx] { ctx.wait(); },
                      .prepare =
                          [&arrays, copies_of_arrays](std::uint64_t copies) {
                            copies_of_arrays->clear();
                            for (std::uint64_t copy = 0; copy < copies; ++copy)
                              copies_of_arrays->push_back(arrays.all(copy));
                          },
                      .release = [copies_of_arrays] { copies_of_arrays->clear(); }};
  const jobs::array_shapes shapes = job.shapes(problem);
  const bool has_side_output = std::ranges::any_of(
      shapes, [](const jobs::array_shape& s) { return s.role == jobs::array_role::side_output && s.bytes() > 0; });
  if (has_side_output) contender.queue_with_side_outputs = [run] { run(0, true); };
  return contender;
}

contender prepared(const context& ctx, const problem& problem, const workspace& arrays) {
  const jobs::job& job = jobs::job_of(problem);
  return with_made(
      {.who = "sheaf.prepared",
       .variant = "prepared",
       .scratch_bytes = problem.count * problem.record_bytes,
       .kept_bytes_of_copy = problem.count * prepared_bytes,
       .wait = [ctx] { ctx.wait(); }},
      [ctx, problem, &job, &arrays](std::uint64_t copy) {
        return job.prepare(ctx, problem, arrays.all(copy), expected_runs);
      },
      [](const jobs::prepared_run& prepared) { prepared.run(); });
}

/// Why no memory could hold the row; empty where some could. Below these sizes no sum of bytes overflows.
std::string reason_of_size(const problem& problem) {
  constexpr std::uint64_t most_records = std::uint64_t{1} << 44;
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;
  constexpr const char* too_large = "more than any memory has";
  if (std::max(problem.count, problem.indexed_count()) > most_records) return too_large;
  const jobs::array_shapes shapes = jobs::job_of(problem).shapes(problem);
  const bool fits = std::ranges::all_of(
      shapes, [](const jobs::array_shape& s) { return s.item_bytes == 0 || s.count <= most_bytes / s.item_bytes; });
  return fits ? "" : too_large;
}

/// The variants that the planner could have chosen, which --variants measures by name.
std::vector<const variant_estimate*> measurable(const explanation& why) {
  std::vector<const variant_estimate*> variants;
  for (const variant_estimate& estimate : why.variants) {
    if (estimate.applicable && !estimate.by_name_only) variants.push_back(&estimate);
  }
  return variants;
}

}  // namespace

std::vector<contender> contenders_of(const context& ctx, const problem& spec, const row_options& options,
                                     const workspace& arrays) {
  if (!reason_of_size(spec).empty()) return {};
  const primitives::entry& entry = entry_of(spec);
  problem call = spec;
  if (options.hint) call.access = hint(spec);
  std::vector<contender> all;
  const auto add_choice = [&](const explanation& why, const char* who) {
    if (why.choice() == nullptr) return;
    all.push_back(ours(ctx, call, arrays, who, *why.choice(), false, options.offsets));
    if (entry.he2007_seconds != nullptr) all.back().he2007_seconds = entry.he2007_seconds(call, ctx.profile());
  };
  if (jobs::job_of(spec).unchecked(spec).empty()) {
    const explanation why = entry.explain(ctx, as_planned(ctx, call), {});
    add_choice(why, "sheaf");
    if (options.variants) {
      for (const variant_estimate* estimate : measurable(why)) {
        all.push_back(ours(ctx, call, arrays, estimate->variant, *estimate, true, options.offsets));
      }
    }
    if (options.trust && entry.takes(primitives::fields::bounds)) {
      problem trusting = call;
      trusting.bounds = bounds::trust;
      std::swap(call, trusting);
      add_choice(entry.explain(ctx, as_planned(ctx, call), {}), "sheaf.trust");
      std::swap(call, trusting);
    }
    const bool can_run = why.choice() != nullptr;
    if (options.prepared && can_run && jobs::job_of(spec).prepare != nullptr)
      all.push_back(prepared(ctx, call, arrays));
  }
  if (options.no_peer) return all;
  for (contender& peer : peers::peers_of(ctx, spec, arrays)) all.push_back(std::move(peer));
  return all;
}

std::optional<contender> contender_by_name(const context& ctx, const problem& spec, const workspace& arrays,
                                           std::string_view variant) {
  if (!jobs::job_of(spec).unchecked(spec).empty()) return std::nullopt;
  for (const variant_estimate& estimate : entry_of(spec).explain(ctx, as_planned(ctx, spec), {}).variants) {
    if (estimate.variant != variant || !estimate.applicable) continue;
    return ours(ctx, spec, arrays, estimate.variant, estimate, true, false);
  }
  return std::nullopt;
}

planned_row planned(const problem& p, std::uint64_t copies, std::vector<contender> contenders) {
  planned_row row{p, copies, std::move(contenders)};
  for (const contender& c : row.contenders) {
    row.scratch_bytes = std::max(row.scratch_bytes, c.scratch_bytes + copies * c.kept_bytes_of_copy);
  }
  return row;
}

std::string reason_to_skip(const planned_row& row, const platform& hardware) {
  if (std::string why_not = reason_of_size(row.problem); !why_not.empty()) return why_not;
  const std::uint64_t arrays = jobs::bytes_of_arrays(row.problem, row.copies);
  const std::uint64_t needed = arrays + std::max(jobs::bytes_of_making(row.problem), row.scratch_bytes);
  if (needed > hardware.memory_bytes) {
    return fmt::format("needs {} MB of memory, but {} MB are free", needed >> 20, hardware.memory_bytes >> 20);
  }
  const problem& p = row.problem;
  if (std::string why_not = jobs::job_of(p).unchecked(p); !why_not.empty()) return why_not;
  const bool has_index = entry_of(p).takes(primitives::fields::index_type) || entry_of(p).writes_index;
  const std::uint64_t most_indexed = std::max(p.count, p.indexed_count());
  if (has_index && bytes(p.index) == 4 && most_indexed > std::uint64_t{1} << 32) return "the index type is too narrow";
  if (row.contenders.empty()) return "no variant can run it";
  return {};
}

std::vector<result> run_row(const planned_row& row, backend_kind backend, workspace& arrays, queue_clock* clock,
                            const timing_limits& limits) {
  arrays.prepare(row.problem, row.copies);
  for (const contender& c : row.contenders) {
    if (c.prepare) c.prepare(row.copies);
  }
  const std::vector<timing> timings = measure(row.contenders, row.copies, clock, limits);
  double fastest_peer = 0;
  for (std::size_t c = 0; c < row.contenders.size(); ++c) {
    const double seconds = timings[c].median_seconds;
    const bool counts = row.contenders[c].is_peer() && !row.contenders[c].promises_less;
    if (counts && (fastest_peer == 0 || seconds < fastest_peer)) fastest_peer = seconds;
  }
  const jobs::made_object* const made = jobs::job_of(row.problem).made;
  const std::vector<primitives::fact> facts =
      made == nullptr ? std::vector<primitives::fact>{} : made->facts(arrays.all(0).made.get());
  std::vector<result> results;
  for (std::size_t index = 0; index < row.contenders.size(); ++index) {
    const contender& who = row.contenders[index];
    result result{.problem = row.problem,
                  .moved_bytes = jobs::job_of(row.problem).moved_bytes(row.problem),
                  .backend = backend,
                  .who = who.who,
                  .variant = who.variant,
                  .promises_less = who.promises_less,
                  .time = timings[index],
                  .predicted_seconds = who.predicted_seconds,
                  .order_is_unknown = who.order_is_unknown,
                  .he2007_seconds = who.he2007_seconds};
    if (!who.is_peer()) {
      result.facts = facts;
      result.peer_ratio = fastest_peer / timings[index].median_seconds;
    }
    arrays.reset_outputs();
    const bool with_side_outputs = static_cast<bool>(who.queue_with_side_outputs);
    with_side_outputs ? who.queue_with_side_outputs() : who.queue(0);
    who.wait();
    result.verified =
        (who.count_own_mistakes ? who.count_own_mistakes() : arrays.count_mistakes(with_side_outputs)) == 0;
    results.push_back(std::move(result));
  }
  for (const contender& c : row.contenders) {
    if (c.release) c.release();
  }
  return results;
}

}  // namespace sheaf::bench
