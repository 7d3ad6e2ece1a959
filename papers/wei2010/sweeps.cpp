#include <fmt/format.h>

#include "papers/wei2010/loads.hpp"
#include "papers/wei2010/steps.hpp"

#if SHEAF_HAS_CUDA
#include <sheaf/cuda/detail/list_arguments.hpp>
#endif

// Figures 5 and 6: time and loads by the number of sublists, of blocks and of threads of a block.
namespace sheaf::bench::papers::wei2010 {
namespace {

std::string per_node_text(double total, std::uint64_t nodes) {
  return fmt::format("{:.3g} ns", total / static_cast<double>(nodes) * 1e9);
}

std::string load_text(double over_mean) { return fmt::format("{:.2f} x mean", over_mean); }

// The host computes the loads of at most 8 M sublists, as many as the paper's nodes have in blocks of eight.
std::uint64_t least_sublist_nodes(std::uint64_t nodes) {
  return 8 * std::max<std::uint64_t>(1, nodes / (64 * million));
}

/// The paper's steps by the number of sublists, with loads as they are counted and as they follow from the splitters.
void sweep_sublists_of_paper(paper_run& run, session& s, const walk_shape& walkers, sublist_supply supply) {
  const std::uint64_t nodes = run.count(s, 64);
  const std::uint64_t multiprocessors = machine_of(s).multiprocessors;
  const bool is_dealt = supply == sublist_supply::dealt;
  print_place(s, fmt::format("the paper's steps, {} nodes, {} walkers, sublists {}", count_text(nodes),
                             walkers_text(walkers), is_dealt ? "dealt to them" : "drawn by them from a counter"));
  const table rows({"sublists", "nodes of each", "3 walks", "4 sublists", "total", "largest load", "measured       ",
                    "computed       "});
  const std::uint64_t factor = is_cuda(s) ? 2 : 4;
  for (std::uint64_t sublists = std::min(walkers.walkers(), nodes);
       sublists == std::min(walkers.walkers(), nodes) || nodes / sublists >= least_sublist_nodes(nodes);
       sublists *= factor) {
    const list_sums_form form{
        .blocks = walkers.blocks, .threads = walkers.threads, .sublists = sublists, .supply = supply};
    const auto found = measure_form(run, s, 5, nodes, form, true);
    if (!found) continue;
    const largest_load computed =
        load_of(lengths_of_form(nodes, sublists, usual_stride), walkers.walkers(), multiprocessors);
    rows.row({count_text(sublists), fmt::to_string(nodes / sublists), time_text(found->walks),
              time_text(found->step_4()), time_text(found->total), fmt::to_string(std::ranges::max(found->loads)),
              load_text(over_mean(found->loads)), load_text(is_dealt ? computed.dealt : computed.drawn)});
  }
}

/// With `each` walkers in blocks of `threads`, as many for each multiprocessor.
walk_shape walkers_for_each(const session& s, std::uint64_t each, std::uint64_t threads) {
  return {machine_of(s).multiprocessors * each / threads, threads, 1};
}

/// The paper's steps by the number of blocks, and by the threads of a block.
void sweep_walkers_of_paper(paper_run& run, session& s, const std::string& what,
                            const std::vector<walk_shape>& shapes) {
  const std::uint64_t nodes = run.count(s, 64);
  print_place(
      s, fmt::format("the paper's steps, {} nodes, {} sublists, {}", count_text(nodes), usual_sublists(nodes), what));
  const table rows({"walkers", "sublists each", "3 walks", "total", "per node", "largest load"});
  for (const walk_shape& shape : shapes) {
    const list_sums_form form{.blocks = shape.blocks, .threads = shape.threads, .sublists = usual_sublists(nodes)};
    const auto found = measure_form(run, s, 6, nodes, form, true);
    if (!found) continue;
    rows.row({walkers_text(shape),
              fmt::format("{:.1f}", static_cast<double>(form.sublists) / static_cast<double>(form.walkers())),
              time_text(found->walks), time_text(found->total), per_node_text(found->total, nodes),
              load_text(over_mean(found->loads))});
  }
}

/// 1, 2, 4, ... below `last`, then `last` and its multiples by 2, 4, ... up to `most`.
std::vector<std::uint64_t> doubled_to(std::uint64_t last, std::uint64_t most) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t number = 1; number < last; number *= 2) all.push_back(number);
  for (std::uint64_t number = last; number <= most; number *= 2) all.push_back(number);
  return all;
}

void sweep_blocks_and_threads(paper_run& run, session& s) {
  const std::uint64_t multiprocessors = machine_of(s).multiprocessors;
  std::vector<walk_shape> by_blocks;
  for (const std::uint64_t blocks : doubled_to(multiprocessors, is_cuda(s) ? 8 * multiprocessors : multiprocessors)) {
    by_blocks.push_back({blocks, 64, 1});
  }
  std::vector<walk_shape> by_threads;
  for (std::uint64_t threads = is_cuda(s) ? 32 : 1; threads <= (is_cuda(s) ? 1024U : 256U); threads *= 2) {
    by_threads.push_back({multiprocessors, threads, 1});
  }
  sweep_walkers_of_paper(run, s, is_cuda(s) ? "blocks of 64 threads" : "threads of 64 walkers, which take turns",
                         by_blocks);
  sweep_walkers_of_paper(run, s, is_cuda(s) ? "a block for each multiprocessor" : "all threads, walkers of each",
                         by_threads);
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

/// The library's walks on CUDA, whose walkers draw sublists: a thread walks one at a time.
void sweep_sublists_of_variants(paper_run& run, session& s) {
  const std::uint64_t nodes = run.count(s, 64);
  const auto least_log2_block = static_cast<std::uint32_t>(std::countr_zero(least_sublist_nodes(nodes)));
  const std::uint64_t multiprocessors = machine_of(s).multiprocessors;
  const std::uint64_t walkers = multiprocessors * 512;
  for (const std::string_view variant : {"cuda.log", "cuda.sublist"}) {
    print_place(s, fmt::format("{}, {} nodes, at most {} walkers", variant, count_text(nodes), walkers));
    const table rows({"sublists", "nodes of each", "3 walks", "4 sublists", "total", "largest load, computed"});
    for (std::uint32_t log2_block = least_log2_block; nodes >> log2_block >= multiprocessors; ++log2_block) {
      const auto found = measure_variant(run, s, 5, nodes, {.variant = variant, .log2_block = log2_block});
      if (!found) continue;
      const std::uint64_t sublists = nodes >> log2_block;
      const largest_load load =
          load_of(lengths_of_sublists(nodes, log2_block), std::min(walkers, sublists), multiprocessors);
      rows.row({count_text(sublists), std::to_string(1U << log2_block), time_text(found->walks),
                time_text(found->sublists), time_text(found->total), load_text(load.drawn)});
    }
  }
}

void sweep_walkers_of_variants(paper_run& run, session& s) {
  const std::uint64_t nodes = run.count(s, 64);
  for (const std::string_view variant : {"cuda.log", "cuda.sublist"}) {
    print_place(
        s, fmt::format("{}, {} nodes, blocks of {} threads", variant, count_text(nodes), list_kernels::list_threads));
    const table rows({"blocks", "walkers", "3 walks", "total", "per node"});
    const std::uint64_t multiprocessors = machine_of(s).multiprocessors;
    for (std::uint64_t blocks = std::max<std::uint64_t>(1, multiprocessors / 8); blocks <= multiprocessors * 8;
         blocks *= 2) {
      const auto walkers = static_cast<std::uint32_t>(blocks * list_kernels::list_threads);
      const auto found = measure_variant(run, s, 6, nodes, {.variant = variant, .walkers = walkers});
      if (!found) continue;
      rows.row({std::to_string(blocks), std::to_string(walkers), time_text(found->walks), time_text(found->total),
                per_node_text(found->total, nodes)});
    }
  }
}
#else
void sweep_sublists_of_variants(paper_run&, session&) {}
void sweep_walkers_of_variants(paper_run&, session&) {}
#endif

}  // namespace

void figure_5(paper_run& run) {
  print_caption("Figure 5. Step 3 and the whole call by the number of sublists, stride 1001",
                "64 M nodes; the largest load of a multiprocessor and both times fall until 61,440 sublists, then step "
                "4 grows.");
  fmt::print(
      "  Loads are the nodes that a multiprocessor, or a thread of a CPU, walks over. They are counted where the "
      "nodes\n"
      "  are walked over, and computed from the places of the splitters, for blocks dealt to multiprocessors in "
      "turn.\n");
  for (session& s : run.sessions) {
    if (is_cuda(s)) {
      sweep_sublists_of_paper(run, s, walkers_for_each(s, 64, 64), sublist_supply::dealt);
      sweep_sublists_of_paper(run, s, walkers_for_each(s, 64, 64), sublist_supply::drawn);
      sweep_sublists_of_paper(run, s, walkers_for_each(s, 512, 256), sublist_supply::drawn);
      sweep_sublists_of_variants(run, s);
    } else {
      sweep_sublists_of_paper(run, s, walkers_for_each(s, 1, 1), sublist_supply::dealt);
      sweep_sublists_of_paper(run, s, walkers_for_each(s, 128, 128), sublist_supply::dealt);
      sweep_sublists_of_paper(run, s, walkers_for_each(s, 128, 128), sublist_supply::drawn);
    }
  }
}

void figure_6(paper_run& run) {
  print_caption("Figure 6. Time by the number of blocks, and of threads of a block, stride 1001",
                "64 M nodes, 61,440 sublists, blocks of 64 threads: time falls in proportion until 30 blocks, one for "
                "each multiprocessor, and then stays.");
  for (session& s : run.sessions) {
    sweep_blocks_and_threads(run, s);
    if (is_cuda(s)) sweep_walkers_of_variants(run, s);
  }
}

}  // namespace sheaf::bench::papers::wei2010
