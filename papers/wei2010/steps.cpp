#include "papers/wei2010/steps.hpp"

#include <fmt/format.h>

#include "cpu/linked_list/layout.hpp"
#include "plan/choose.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/operators/scan_value.hpp"

#if SHEAF_HAS_CUDA
#include "cuda/linked_list/plan.hpp"
#endif

namespace sheaf::bench::papers::wei2010 {
namespace {

using namespace primitives;
using sheaf::papers::wei2010::sums_step;
using sheaf::papers::wei2010::sums_steps;

constexpr std::size_t list_steps = 5;
/// What rows call the steps of variants, and those of the paper.
constexpr std::array<std::string_view, list_steps> names_of_list_steps{"step 1", "step 2", "step 3", "step 4",
                                                                       "step 5"};
constexpr std::array<std::string_view, sums_steps> names_of_sums_steps{
    "step 1", "step 2", "step 3", "step 4, to the host", "step 4, scan", "step 4, back", "step 5"};

problem strided_sums(std::uint64_t nodes) { return packed_sums(nodes, strided(usual_stride)); }

/// Fills the arrays of a problem; says so where memory does not hold them with the scratch.
bool prepared(session& s, const problem& p, std::uint64_t scratch_bytes, const std::string& who) {
  if (jobs::bytes_of_arrays(p, 1) + scratch_bytes > s.hardware.memory_bytes) {
    fmt::print("  {} nodes left out by {}: too little memory\n", count_text(p.count), who);
    return false;
  }
  s.arrays.reserve(p, 1);
  s.arrays.prepare(p, 1);
  return true;
}

/// Checks the answer, and keeps a row for each step.
template <std::size_t Count>
void keep_rows(paper_run& run, session& s, int figure, const problem& p, const std::string& who,
               const std::array<std::string_view, Count>& names, const step_seconds<Count>& found,
               const std::vector<fact>& facts = {}) {
  const bool verified = s.arrays.count_mistakes(false) == 0;
  if (s.size == run_size::device) s.arrays.release();
  if (!verified) fmt::print("  {} on {} nodes: WRONG\n", who, p.count);
  for (std::size_t step = 0; step < Count; ++step) {
    if (found.steps[step] == 0) continue;
    run.input_results.push_back({.figure = fmt::format("wei2010/{}", figure_text(figure)),
                                 .input = name(p),
                                 .machine = s.hardware.machine,
                                 .where = std::string(sheaf::name(s.ctx.backend())),
                                 .backend = s.ctx.backend(),
                                 .who = fmt::format("{}: {}", who, names[step]),
                                 .time = found.spread[step],
                                 .verified = verified,
                                 .facts = facts});
  }
}

list_problem described(const session& s, const problem& problem, const scan_settings& settings) {
  list_problem described;
  described.backend = s.ctx.backend();
  described.count = problem.count;
  described.successor = problem.index;
  described.value_bytes = described.out_bytes = problem.record_bytes;
  described.is_packed = true;
  described.pattern = problem.access;
  described.log2_block = settings.log2_block;
  described.walkers = settings.walkers;
  return described;
}

void set_shape(const session& s, const plan::planned& plan, scan_seconds& seconds) {
  std::uint64_t sublists = 0;
  if (s.ctx.backend() == backend_kind::cpu) {
    const auto decided = plan.decided.get<cpu::sublist_decision>();
    seconds.shape = {decided.parts, cpu::walks_in_flight, 0};
    sublists = decided.splitters + 1;  // the head's
  }
#if SHEAF_HAS_CUDA
  if (s.ctx.backend() == backend_kind::cuda) {
    const auto decided = plan.decided.get<cuda::planned_walks>();
    seconds.shape = {decided.blocks, list_kernels::list_threads, 0};
    sublists = decided.sublists;
  }
#endif
  seconds.shape.sublists_each = std::max<std::uint64_t>(1, sublists / seconds.shape.walkers());
  seconds.sublist_count = sublists;
}

std::string text_of(const list_sums_form& form) {
  return fmt::format("the paper's steps by {} x {} walkers, {} sublists {}{}", form.blocks, form.threads, form.sublists,
                     form.supply == sublist_supply::dealt ? "dealt" : "drawn",
                     form.scan == sublist_scan::by_one_thread ? ", step 4 by one thread" : "");
}

}  // namespace

std::optional<scan_seconds> measure_variant(paper_run& run, session& session, int figure, std::uint64_t nodes,
                                            const scan_settings& settings) {
  const problem problem = strided_sums(nodes);
  const list_problem described = wei2010::described(session, problem, settings);
  const auto chosen =
      plan::cheapest(list_variants(), described, session.ctx.backend(), plan::scope_of(session.ctx), settings.variant);
  if (chosen.variant == nullptr) {
    fmt::print("  {} nodes left out: {} does not take them\n", count_text(nodes), settings.variant);
    return {};
  }
  std::string who(settings.variant);
  if (settings.log2_block != 0) who += fmt::format(" with {} nodes a sublist", std::uint64_t{1} << settings.log2_block);
  if (settings.walkers != 0) who += fmt::format(" with {} walkers", settings.walkers);
  if (!prepared(session, problem, chosen.plan.scratch_bytes, who)) return {};
  std::byte* const scratch = session.arrays.scratch(chosen.plan.scratch_bytes);
  const detail::host_scan_operator on_host =
      detail::host_operator<std::uint32_t>(scan_function<scan_operator::add, std::uint32_t>{});
  list_buffers buffers;
  buffers.successor = {nullptr, problem.count, problem.index};
  buffers.nodes = session.arrays.source(0).data;
  buffers.out = session.arrays.target(0).data;
  buffers.type = problem.value;
  buffers.op = scan_operator::add;
  buffers.on_host = &on_host;
  const auto found = median_steps<list_step, list_steps>(session, [&](auto& clock) {
    const list_listener listener{&clock, clock.step_done};
    buffers.listener = &listener;
    chosen.variant->run(session.ctx, described, chosen.plan, buffers, scratch);
  });
  keep_rows(run, session, figure, problem, who, names_of_list_steps, found);
  const auto& [head, splitters, walks, sublists, results] = found.steps;
  scan_seconds seconds{.head = head,
                       .splitters = splitters,
                       .walks = walks,
                       .sublists = sublists,
                       .results = results,
                       .total = found.total};
  set_shape(session, chosen.plan, seconds);
  return seconds;
}

std::optional<scan_seconds> measure_form(paper_run& run, session& session, int figure, std::uint64_t nodes,
                                         const list_sums_form& form, bool wants_loads) {
  const problem problem = strided_sums(nodes);
  const std::uint64_t scratch_bytes = sheaf::papers::wei2010::list_sums_scratch(session.ctx, form, nodes);
  if (!prepared(session, problem, scratch_bytes, text_of(form))) return {};
  sheaf::papers::wei2010::list_sums_buffers buffers;
  buffers.nodes = session.arrays.source(0).data;
  buffers.count = nodes;
  buffers.sums = reinterpret_cast<std::uint32_t*>(session.arrays.target(0).data);
  buffers.scratch = session.arrays.scratch(scratch_bytes);
  const auto found = median_steps<sums_step, sums_steps>(session, [&](auto& clock) {
    const sheaf::papers::wei2010::sums_listener listener{&clock, clock.step_done};
    buffers.listener = &listener;
    run_list_sums(session.ctx, form, buffers);
  });
  const auto& [head, splitters, walks, copy_to_host, sublists, copy_back, results] = found.steps;
  scan_seconds seconds{.head = head,
                       .splitters = splitters,
                       .walks = walks,
                       .copy_to_host = copy_to_host,
                       .sublists = sublists,
                       .copy_back = copy_back,
                       .results = results,
                       // After the last step the host asks whether the nodes were a list, which the paper does not.
                       .total = head + splitters + walks + copy_to_host + sublists + copy_back + results,
                       .shape = {form.blocks, form.threads, std::max<std::uint64_t>(1, form.sublists / form.walkers())},
                       .sublist_count = form.sublists};
  if (wants_loads) {
    buffers.listener = nullptr;
    run_list_sums(session.ctx, form, buffers, &seconds.loads);
  }
  std::vector<fact> facts;
  if (wants_loads) facts = {{"largest_load", std::ranges::max(seconds.loads)}, {"loads", seconds.loads.size()}};
  keep_rows(run, session, figure, problem, text_of(form), names_of_sums_steps, found, facts);
  return seconds;
}

walking_machine machine_of(const session& s) {
#if SHEAF_HAS_CUDA
  if (s.ctx.backend() == backend_kind::cuda) return {device::multiprocessors(s.ctx), 64};
#endif
  return {static_cast<std::uint64_t>(s.ctx.threads()), 1};
}

list_sums_form form_of(const walk_shape& shape, std::uint64_t nodes, sublist_scan scan) {
  return {.blocks = shape.blocks, .threads = shape.threads, .sublists = shape.sublists(nodes), .scan = scan};
}

std::uint64_t usual_sublists(std::uint64_t nodes) {
  return std::clamp<std::uint64_t>(nodes / 16, 1, sublists_of_paper);
}

std::string walkers_text(const walk_shape& shape) { return fmt::format("{} x {}", shape.blocks, shape.threads); }

}  // namespace sheaf::bench::papers::wei2010
