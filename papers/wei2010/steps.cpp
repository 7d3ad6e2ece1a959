#include <iterator>

#include <fmt/format.h>

#include "papers/step_clock.hpp"
#include "papers/wei2010/figures.hpp"
#include "papers/wei2010/loads.hpp"
#include "plan/choose.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/operators/scan_value.hpp"

#if SHEAF_HAS_CUDA
#include <sheaf/cuda/detail/list_arguments.hpp>
#endif

// Table 2 and figures 5 and 6: a scan of packed nodes step by step, with sublists and walkers as asked.
namespace sheaf::bench::papers::wei2010 {
namespace {

using namespace primitives;

// What a variant is asked for; 0 leaves it to the plan.
struct scan_settings {
  std::string_view variant;
  std::uint32_t log2_block = 0;  // nodes of a sublist in the mean are 2^log2_block
  std::uint32_t walkers = 0;     // threads that walk
};

constexpr std::size_t step_count = 5;

// Seconds of the steps of section 3 and of the whole call, each the median of several calls.
using scan_steps = step_seconds<step_count>;

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

// Times a scan and checks its answer. None where memory does not suffice or the variant does not take it.
std::optional<scan_steps> measure_steps(session& session, const problem& problem, const scan_settings& settings) {
  const list_problem described = wei2010::described(session, problem, settings);
  const auto chosen =
      plan::cheapest(list_variants(), described, session.ctx.backend(), plan::scope_of(session.ctx), settings.variant);
  const std::uint64_t arrays = jobs::bytes_of_arrays(problem, 1);
  if (chosen.variant == nullptr || arrays + chosen.plan.scratch_bytes > session.hardware.memory_bytes) return {};
  session.arrays.reserve(problem, 1);
  session.arrays.prepare(problem, 1);
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

  const auto found = median_steps<list_step, step_count>(session, [&](auto& clock) {
    const list_listener listener{&clock, clock.step_done};
    buffers.listener = &listener;
    chosen.variant->run(session.ctx, described, chosen.plan, buffers, scratch);
  });
  const bool is_wrong = session.arrays.count_mistakes(false) != 0;
  if (session.size == run_size::device) session.arrays.release();
  if (is_wrong) {
    fmt::print("  {} on {} nodes: WRONG\n", settings.variant, problem.count);
    return {};
  }
  return found;
}

#if SHEAF_HAS_CUDA
// The sublists of CUDA's walks over a list of stride 1001, whose blocks of 2^log2_block nodes have a splitter each.
std::vector<std::uint64_t> lengths_of_sublists(std::uint64_t nodes, std::uint32_t log2_block) {
  const std::uint64_t blocks = (nodes + (std::uint64_t{1} << log2_block) - 1) >> log2_block;
  const list_kernels::list_cut cut{log2_block, static_cast<std::uint32_t>(nodes), static_cast<std::uint32_t>(blocks),
                                   0};
  std::vector<std::uint64_t> splitters(blocks);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    splitters[block] = list_kernels::splitter_at(cut, static_cast<std::uint32_t>(block));
  }
  return sublist_lengths(splitters, nodes, usual_stride);
}
#endif

}  // namespace

void table_2(paper_run& run) {
  // Seconds of the C1060 for 1 M to 256 M nodes, with the scan of sublists on the host.
  constexpr double paper_seconds[] = {0.005592, 0.010718, 0.020342, 0.038470, 0.075690,
                                      0.149186, 0.296722, 0.574955, 1.180574};
  print_caption("Table 2. Time of each step by the length of the list, stride 1001",
                "4.28 to 5.33 ns for each node from 1 M to 256 M nodes, most of it in the walks along sublists (step "
                "3).");
  fmt::print(
      "  0.0 us: done inside another step. Splitters are a function of their block's number on CUDA; where\n"
      "  nodes need no packing, the head is found beside the walks.\n");
  for (session& session : run.sessions) {
    const bool is_cuda = session.ctx.backend() == backend_kind::cuda;
    for (const std::string_view variant :
         is_cuda ? std::vector<std::string_view>{"cuda.log", "cuda.sublist", "cuda.sublist_host_scan"}
                 : std::vector<std::string_view>{"cpu.sublist"}) {
      print_place(session, fmt::format("{}, nodes of 64 bits, sums of their values", variant));
      const table rows({"nodes", "1 head", "2 splitters", "3 walks", "4 sublists", "5 results", "total", "per node",
                        "C1060", "C1060 / total"});
      for (const std::uint64_t nodes : run.counts(session)) {
        const auto found = measure_steps(session, packed_sums(nodes, strided(usual_stride)), {.variant = variant});
        if (!found) continue;
        std::size_t row = 0;
        while (row + 1 < std::size(paper_seconds) && million << row < nodes) ++row;
        const bool has_paper = million << row == nodes;
        std::vector<std::string> cells{count_text(nodes)};
        for (const double step : found->steps) cells.push_back(time_text(step));
        cells.push_back(time_text(found->total));
        cells.push_back(fmt::format("{:.3g} ns", found->total / static_cast<double>(nodes) * 1e9));
        cells.push_back(has_paper ? time_text(paper_seconds[row]) : "-");
        cells.push_back(has_paper ? ratio_text(paper_seconds[row] / found->total) : "-");
        rows.row(cells);
      }
    }
  }
}

namespace {

// The walks along sublists by the number of sublists, and by the number of walkers: of CUDA alone, where a thread walks
// one sublist at a time.
#if SHEAF_HAS_CUDA
void measure_sublists(paper_run& run, session& session) {
  const std::uint64_t nodes = run.count(session, 64);
  // The host computes the loads of at most 8 M sublists, as many as the paper's nodes have in blocks of eight.
  const std::uint64_t times_the_paper = std::max<std::uint64_t>(1, nodes / (64 * million));
  const auto least_log2_block = static_cast<std::uint32_t>(3 + std::countr_zero(times_the_paper));
  const std::uint64_t multiprocessors = device::multiprocessors(session.ctx);
  const std::uint64_t walkers = multiprocessors * 512;
  for (const std::string_view variant : {"cuda.log", "cuda.sublist"}) {
    print_place(session, fmt::format("{}, {} nodes, at most {} walkers", variant, count_text(nodes), walkers));
    const table rows({"sublists", "nodes of each", "3 walks", "4 sublists", "total", "largest load, dealt", "drawn"});
    for (std::uint32_t log2_block = least_log2_block; nodes >> log2_block >= multiprocessors; ++log2_block) {
      const auto found = measure_steps(session, packed_sums(nodes, strided(usual_stride)),
                                       {.variant = variant, .log2_block = log2_block});
      if (!found) continue;
      const std::uint64_t sublists = nodes >> log2_block;
      const largest_load load =
          load_of(lengths_of_sublists(nodes, log2_block), std::min(walkers, sublists), multiprocessors);
      rows.row({count_text(sublists), std::to_string(1U << log2_block), time_text(found->steps[2]),
                time_text(found->steps[3]), time_text(found->total), fmt::format("{:.2f} x mean", load.dealt),
                fmt::format("{:.2f} x mean", load.drawn)});
    }
  }
}

void measure_walkers(paper_run& run, session& session) {
  const std::uint64_t nodes = run.count(session, 64);
  constexpr std::uint32_t block_threads = 256;
  for (const std::string_view variant : {"cuda.log", "cuda.sublist"}) {
    print_place(session, fmt::format("{}, {} nodes, blocks of {} threads", variant, count_text(nodes), block_threads));
    const table rows({"blocks", "walkers", "3 walks", "total", "per node"});
    for (std::uint64_t blocks = std::max<std::uint64_t>(1, device::multiprocessors(session.ctx) / 8);
         blocks <= device::multiprocessors(session.ctx) * 8; blocks *= 2) {
      const auto walkers = static_cast<std::uint32_t>(blocks * block_threads);
      const auto found =
          measure_steps(session, packed_sums(nodes, strided(usual_stride)), {.variant = variant, .walkers = walkers});
      if (!found) continue;
      rows.row({std::to_string(blocks), std::to_string(walkers), time_text(found->steps[2]), time_text(found->total),
                fmt::format("{:.3g} ns", found->total / static_cast<double>(nodes) * 1e9)});
    }
  }
}
#else
void measure_sublists(paper_run&, session&) {}
void measure_walkers(paper_run&, session&) {}
#endif

// Measures on CUDA, and says of other backends why not.
void on_cuda_alone(paper_run& run, void (*measure)(paper_run&, session&), const std::string& why_not) {
  for (session& s : run.sessions) s.ctx.backend() == backend_kind::cuda ? measure(run, s) : print_place(s, why_not);
}

}  // namespace

void figure_5(paper_run& run) {
  print_caption("Figure 5. Step 3 and the whole call by the number of sublists, stride 1001",
                "64 M nodes; the largest load of a multiprocessor and both times fall until 61,440 sublists, then step "
                "4 grows.");
  on_cuda_alone(run, measure_sublists, "only on CUDA: a thread of the CPU walks several sublists at once");
}

void figure_6(paper_run& run) {
  print_caption("Figure 6. Time by the number of blocks, stride 1001",
                "64 M nodes, 61,440 sublists, blocks of 64 threads: time falls in proportion until 30 blocks, one for "
                "each multiprocessor, and then stays.");
  on_cuda_alone(run, measure_walkers, "only on CUDA");
}

}  // namespace sheaf::bench::papers::wei2010
