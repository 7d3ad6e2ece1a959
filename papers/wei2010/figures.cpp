#include "papers/wei2010/figures.hpp"

#include <fmt/format.h>

#include "lab/description/linked_list/problem.hpp"
#include "papers/wei2010/analysis.hpp"

namespace sheaf::bench::papers {
namespace wei2010 {
namespace {

// The kinds of lists that section 4 has. A stride of one less than the nodes comes in both ways: without wrapping
// around, and with it, as the paper's, which goes back by one node each time.
std::vector<primitives::input_pattern> kinds(std::uint64_t nodes) {
  const primitives::input_pattern wrapping{primitives::pattern_kind::reverse};
  return {in_order(), strided(16), strided(128), strided(usual_stride), strided(nodes - 1), wrapping, at_random()};
}

struct list_times {
  std::vector<result> rank;
  std::vector<result> scan;
};

list_times measure_both(paper_run& run, session& s, int figure, std::uint64_t nodes,
                        const primitives::input_pattern& order) {
  return {run.measure_choice(s, figure, ranks(nodes, order)), run.measure_choice(s, figure, packed_sums(nodes, order))};
}

problem sums_in_order(std::uint64_t nodes) { return packed_sums(nodes, in_order()); }

// Time of the slowest list over the fastest.
std::string spread_text(const spread& seconds) {
  return seconds.count() == 0 ? "-" : fmt::format("{:.0f} %", (seconds.most() / seconds.least() - 1) * 100);
}

}  // namespace

std::vector<std::uint64_t> paper_run::counts(const session& s) const {
  return study::counts(s, sheaf::papers::wei2010::lengths_of_lists(), sums_in_order);
}

std::uint64_t paper_run::count(const session& s, std::uint64_t millions) const {
  return study::count(s, millions * million, sums_in_order);
}

primitives::input_pattern strided(std::uint64_t stride) { return {primitives::pattern_kind::strided, stride}; }
primitives::input_pattern in_order() { return {primitives::pattern_kind::identity}; }
primitives::input_pattern at_random() { return {primitives::pattern_kind::permutation}; }

problem packed_sums(std::uint64_t nodes, const primitives::input_pattern& order) {
  const problem problem{.primitive = "list_scan",
                        .pattern = order,
                        .record_bytes = 4,
                        .index = index_type::i32,
                        .count = nodes,
                        .value = value_type::u32};
  return problem.with(primitives::list_part{.is_packed = true});
}

problem ranks(std::uint64_t nodes, const primitives::input_pattern& order) {
  return {.primitive = "list_rank", .pattern = order, .record_bytes = 4, .index = index_type::i32, .count = nodes};
}

std::string per_node(const result* r) {
  if (r == nullptr) return "-";
  return fmt::format("{:.3g} ns", r->time.median_seconds / static_cast<double>(r->problem.count) * 1e9);
}

void figure_4(paper_run& run) {
  print_caption("Figure 4. Lists of several kinds",
                "64 M nodes; ordered lists a little faster, strides above 100 as slow as random lists; at most 10 % "
                "apart.");
  for (session& session : run.sessions) {
    const std::uint64_t nodes = run.count(session, 64);
    print_place(session, fmt::format("{} nodes", count_text(nodes)));
    fmt::print(
        "  strided:{} does not wrap around: 0, n/2, 1, n/2 + 1, ... A stride of n - 1 that wraps around is reverse.\n",
        nodes - 1);
    const table rows({"order", "scan", "per node", "variant", "rank", "per node", "variant"});
    spread scans;
    for (const primitives::input_pattern& order : kinds(nodes)) {
      const auto [rank, scan] = measure_both(run, session, 4, nodes, order);
      const result* const sums = find(scan, "sheaf");
      const result* const ranked = find(rank, "sheaf");
      if (sums != nullptr) scans.add(sums->time.median_seconds);
      rows.row({primitives::name(order), time_of(sums), per_node(sums), variant_of(sums), time_of(ranked),
                per_node(ranked), variant_of(ranked)});
    }
    fmt::print("  scans, the slowest list over the fastest: {} more\n", spread_text(scans));
  }
}

void figure_7(paper_run& run) {
  print_caption("Figure 7. Lists of 1 M to 256 M nodes, and to 1024 M where memory allows",
                "time is linear in the number of nodes.");
  for (session& session : run.sessions) {
    for (const primitives::input_pattern& order : {in_order(), strided(usual_stride), at_random()}) {
      print_place(session, fmt::format("order {}", primitives::name(order)));
      const table rows({"nodes", "scan", "per node", "variant", "rank", "per node", "variant"});
      for (const std::uint64_t nodes : run.counts(session)) {
        const auto [rank, scan] = measure_both(run, session, 7, nodes, order);
        const result* const sums = find(scan, "sheaf");
        const result* const ranked = find(rank, "sheaf");
        if (sums == nullptr && ranked == nullptr) continue;
        rows.row({count_text(nodes), time_of(sums), per_node(sums), variant_of(sums), time_of(ranked), per_node(ranked),
                  variant_of(ranked)});
      }
    }
  }
}

namespace {

// The scan of as many values in the order of the array, by the fastest that this backend and build have.
const result* array_scan_of(const std::vector<result>& found) {
  for (const char* const who : {"cub.array_scan", "tbb.parallel_scan", "std.inclusive_scan"}) {
    if (const result* const scan = find(found, who)) return scan;
  }
  return nullptr;
}

}  // namespace

void figure_11(paper_run& run) {
  print_caption("Figure 11. Machines, a random list of 8 M nodes",
                "the C1060 is faster than 8 cores of Clovertown, than a Cell, and than 8 MTA-2 processors.");
  for (session& session : run.sessions) {
    const std::uint64_t nodes = run.count(session, 8);
    print_place(session, fmt::format("{} nodes", count_text(nodes)));
    const table rows(
        {"what", "time", "per node", "variant", "walk of one CPU thread", "walk / time", "array scan", "list / array"});
    const auto rank = run.measure_with_peers(session, 11, ranks(nodes, at_random()));
    const auto scan = run.measure_with_peers(session, 11, packed_sums(nodes, at_random()));
    for (const auto& [what, found] : {std::pair{"rank", &rank}, std::pair{"scan", &scan}}) {
      const result* const ours = find(*found, "sheaf");
      const result* const walk = find(*found, "serial_walk");
      const result* const array = array_scan_of(*found);
      rows.row({what, time_of(ours), per_node(ours), variant_of(ours), time_of(walk), ratio_of(walk, ours),
                time_of(array), ratio_of(ours, array)});
    }
  }
}

void figure_12(paper_run& run) {
  print_caption("Figure 12. An ordered list of 64 M nodes beside the scan of an array",
                "the list takes 7 to 8 times as long as the array on the same C1060, whatever the size.");
  for (session& s : run.sessions) {
    print_place(s, "sums of 32-bit values, of which the list's lie beside its successors");
    const bool is_cpu = s.ctx.backend() == backend_kind::cpu;
    const table rows({"nodes", "list", "per node", "variant", "array scan", "list / array",
                      column("array scan of one thread", is_cpu), "walk of one CPU thread"});
    for (const std::uint64_t nodes : run.counts(s)) {
      const auto found = run.measure_with_peers(s, 12, packed_sums(nodes, in_order()));
      const result* const ours = find(found, "sheaf");
      if (ours == nullptr) continue;
      const result* const array = array_scan_of(found);
      rows.row({count_text(nodes), time_of(ours), per_node(ours), variant_of(ours), time_of(array),
                ratio_of(ours, array), time_of(find(found, "std.inclusive_scan")),
                time_of(find(found, "serial_walk"))});
    }
  }
}

namespace {

constexpr figure<paper_run> figures[] = {{table_number(2), table_2},
                                         {4, figure_4},
                                         {5, figure_5},
                                         {6, figure_6},
                                         {7, figure_7},
                                         {table_number(3), table_3},
                                         {table_number(4), table_4},
                                         {11, figure_11},
                                         {12, figure_12}};

findings print(std::span<const context>, sessions& all_sessions, const papers::request& request) {
  paper_run run{{"wei2010", all_sessions, request}};
  print_figures(run,
                "\nWei, JaJa: Optimization of Linked List Prefix Computations on Multithreaded GPUs, "
                "UMIACS-TR-2010-08\n"
                "  M is 2^20. \"-\" where this backend or build has no such contender.\n",
                figures);
  return {std::move(run.results), std::move(run.input_results)};
}

}  // namespace
}  // namespace wei2010

paper wei2010_paper() { return {"wei2010", numbers_of(wei2010::figures), false, wei2010::print}; }

}  // namespace sheaf::bench::papers
