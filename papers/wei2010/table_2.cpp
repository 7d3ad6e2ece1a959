#include <iterator>

#include <fmt/format.h>

#include "papers/wei2010/steps.hpp"

// Table II, step 4 on the device and on the host (section 4.2), and the number of walkers and sublists by the paper's
// analysis beside that of the library's model (sections 3.3 and 4.1).
namespace sheaf::bench::papers::wei2010 {
namespace {

using sheaf::papers::wei2010::is_balanced;
using sheaf::papers::wei2010::most_balanced_walkers;
using sheaf::papers::wei2010::shape_by_lemma;
using sheaf::papers::wei2010::shape_of_table_2;

/// Seconds of the C1060 for 1 M to 256 M nodes, with the scan of sublists on the host.
std::optional<double> seconds_of_paper(std::uint64_t nodes) {
  constexpr double seconds[] = {0.005592, 0.010718, 0.020342, 0.038470, 0.075690,
                                0.149186, 0.296722, 0.574955, 1.180574};
  for (std::size_t row = 0; row < std::size(seconds); ++row) {
    if (million << row == nodes) return seconds[row];
  }
  return {};
}

/// The end of a row: the whole call, and the C1060's.
void add_totals(std::vector<std::string>& cells, std::uint64_t nodes, double total) {
  const std::optional<double> paper = seconds_of_paper(nodes);
  cells.push_back(time_text(total));
  cells.push_back(fmt::format("{:.3g} ns", total / static_cast<double>(nodes) * 1e9));
  cells.push_back(paper ? time_text(*paper) : "-");
  cells.push_back(paper ? ratio_text(*paper / total) : "-");
}

void print_steps_of_variant(paper_run& run, session& s, std::string_view variant) {
  print_place(s, fmt::format("{}, nodes of 64 bits, sums of their values", variant));
  const table rows({"nodes", "1 head", "2 splitters", "3 walks", "4 sublists", "5 results", "total", "per node",
                    "C1060", "C1060 / total"});
  for (const std::uint64_t nodes : run.counts(s)) {
    const auto found = measure_variant(run, s, table_number(2), nodes, {.variant = variant});
    if (!found) continue;
    std::vector<std::string> cells{count_text(nodes)};
    for (const double step : {found->head, found->splitters, found->walks, found->sublists, found->results}) {
      cells.push_back(time_text(step));
    }
    add_totals(cells, nodes, found->total);
    rows.row(cells);
  }
}

void print_steps_of_paper(paper_run& run, session& s, sublist_scan scan) {
  const bool copies = is_cuda(s) && scan == sublist_scan::on_host;
  const std::string who = is_cuda(s) ? fmt::format("a block for each multiprocessor, step 4 by one thread of the {}",
                                                   copies ? "host" : "device")
                                     : "one walker in each thread, step 4 by one thread";
  print_place(s, "the paper's steps, " + who);
  const table rows({"nodes", "walkers", "sublists", "1 head", "2 splitters", "3 walks", column("4 to host", copies),
                    "4 sublists", column("4 back", copies), "5 results", "total", "per node", "C1060",
                    "C1060 / total"});
  for (const std::uint64_t nodes : run.counts(s)) {
    const walk_shape shape = shape_of_table_2(nodes, machine_of(s));
    const auto found = measure_form(run, s, table_number(2), nodes, form_of(shape, nodes, scan));
    if (!found) continue;
    std::vector<std::string> cells{count_text(nodes), walkers_text(shape), fmt::to_string(found->sublist_count)};
    for (const double step : {found->head, found->splitters, found->walks, found->copy_to_host, found->sublists,
                              found->copy_back, found->results}) {
      cells.push_back(time_text(step));
    }
    add_totals(cells, nodes, found->total);
    rows.row(cells);
  }
}

// ---- step 4 ----

void print_step_4_row(const table& rows, const std::string& who, const std::optional<scan_seconds>& found, bool copies,
                      const std::string& paper) {
  if (!found) return;
  rows.row({who, fmt::to_string(found->sublist_count), copies ? time_text(found->copy_to_host) : "-",
            time_text(found->sublists), copies ? time_text(found->copy_back) : "-", time_text(found->step_4()),
            percent_text(found->step_4() / found->total), paper});
}

/// The variant with sublists as long as the paper's would be.
std::optional<scan_seconds> with_long_sublists(paper_run& run, session& s, std::uint64_t nodes,
                                               std::string_view variant) {
  const auto log2_block = static_cast<std::uint32_t>(std::bit_width(nodes / usual_sublists(nodes)) - 1);
  return measure_variant(run, s, table_number(2), nodes, {.variant = variant, .log2_block = log2_block});
}

void print_step_4(paper_run& run, session& s) {
  const std::uint64_t nodes = run.count(s, 64);
  walk_shape shape = shape_of_table_2(nodes, machine_of(s));
  print_place(s, fmt::format("step 4, {} nodes, where the list of sublists is scanned; the paper's in its sublists",
                             count_text(nodes)));
  const table rows({"step 4 by                    ", "sublists", column("to host", is_cuda(s)), "scan",
                    column("back", is_cuda(s)), "step 4", "of the call", "C1060"});
  const auto measured = [&](sublist_scan scan) {
    list_sums_form form = form_of(shape, nodes, scan);
    form.sublists = usual_sublists(nodes);
    return measure_form(run, s, table_number(2), nodes, form);
  };
  const char* const of_device = "56.72 ms, 17 %";
  const char* const of_host = "0.35 + 1.37 + 0.37 ms, 0.70 %";
  if (!is_cuda(s)) {
    print_step_4_row(rows, "one thread", measured(sublist_scan::by_one_thread), false, of_host);
    return print_step_4_row(rows, "cpu.sublist", with_long_sublists(run, s, nodes, "cpu.sublist"), false, "-");
  }
  print_step_4_row(rows, "one thread of the device", measured(sublist_scan::by_one_thread), false, of_device);
  print_step_4_row(rows, "one thread of the host", measured(sublist_scan::on_host), true, of_host);
  for (const std::string_view variant : {"cuda.sublist_host_scan", "cuda.sublist"}) {
    print_step_4_row(rows, std::string(variant), with_long_sublists(run, s, nodes, variant), false, "-");
  }
  const auto chosen = measure_variant(run, s, table_number(2), nodes, {.variant = "cuda.sublist"});
  print_step_4_row(rows, "cuda.sublist, its own", chosen, false, "-");
}

// ---- walkers and sublists ----

void print_shape_row(const table& rows, std::uint64_t nodes, const std::string& by,
                     const std::optional<scan_seconds>& found, double ours) {
  if (!found) return;
  const walk_shape& shape = found->shape;
  rows.row({count_text(nodes), fmt::format("{:.0f}", most_balanced_walkers(nodes)), by, walkers_text(shape),
            fmt::to_string(found->sublist_count),
            fmt::format("{:.1f}", static_cast<double>(found->sublist_count) / static_cast<double>(shape.walkers())),
            is_balanced(shape, nodes) ? "yes" : "no", time_text(found->walks), time_text(found->total),
            ours == 0 ? "-" : ratio_text(found->total / ours)});
}

/// Variants whose walkers and sublists a model chooses.
std::vector<std::string_view> variants_with_model(const session& s) {
  if (is_cuda(s)) return {"cuda.log", "cuda.sublist"};
  return {"cpu.sublist"};
}

void print_shapes(paper_run& run, session& s) {
  print_place(s, fmt::format("walkers and sublists by the paper's analysis, and by the library's model: {} x {}",
                             is_cuda(s) ? "blocks" : "threads", is_cuda(s) ? "threads" : "walkers of each"));
  fmt::print(
      "  lemma: as many walkers as it allows, fewer than sqrt(n / ln n), with ln n sublists each or the next power of\n"
      "  two. table II: {}, with up to 32 sublists each. Both in the paper's steps, as the row \"ours,\n"
      "  paper's steps\" is with the model's numbers; the last column is over the faster of our variants.\n",
      is_cuda(s) ? "a block of 64 for each multiprocessor" : "a walker in each thread");
  const table rows({"nodes", "lemma: below", "by                   ", "walkers", "sublists", "of each", "in lemma",
                    "3 walks", "total", "total / ours"});
  for (const std::uint64_t nodes : run.counts(s)) {
    std::vector<std::optional<scan_seconds>> found;
    double ours = 0;
    for (const std::string_view variant : variants_with_model(s)) {
      found.push_back(measure_variant(run, s, table_number(2), nodes, {.variant = variant}));
      if (found.back() && (ours == 0 || found.back()->total < ours)) ours = found.back()->total;
    }
    const auto print_shape = [&](const char* by, const list_sums_form& form) {
      print_shape_row(rows, nodes, by, measure_form(run, s, table_number(2), nodes, form), ours);
    };
    print_shape("lemma", form_of(shape_by_lemma(nodes, machine_of(s)), nodes));
    print_shape("table II", form_of(shape_of_table_2(nodes, machine_of(s)), nodes));
    if (const auto& model = found.back()) {
      print_shape("ours, paper's steps", {.blocks = model->shape.blocks,
                                          .threads = model->shape.threads,
                                          .sublists = std::clamp<std::uint64_t>(model->sublist_count, 1, nodes)});
    }
    for (std::size_t v = 0; v < found.size(); ++v) {
      print_shape_row(rows, nodes, std::string(variants_with_model(s)[v]), found[v], ours);
    }
  }
}

}  // namespace

void table_2(paper_run& run) {
  print_caption("Table 2. Time of each step by the length of the list, stride 1001",
                "4.28 to 5.33 ns for each node from 1 M to 256 M nodes, most of it in the walks along sublists (step "
                "3). 30 x 64 walkers, with 2 sublists each at 1 M and 32 from 16 M on.");
  fmt::print(
      "  0.0 us: done inside another step. Splitters are a function of their block's number on CUDA; where\n"
      "  nodes need no packing, the head is found beside the walks.\n");
  for (session& s : run.sessions) {
    for (const std::string_view variant :
         is_cuda(s) ? std::vector<std::string_view>{"cuda.log", "cuda.sublist", "cuda.sublist_host_scan"}
                    : std::vector<std::string_view>{"cpu.sublist"}) {
      print_steps_of_variant(run, s, variant);
    }
    if (is_cuda(s)) print_steps_of_paper(run, s, sublist_scan::on_host);
    print_steps_of_paper(run, s, sublist_scan::by_one_thread);
    print_step_4(run, s);
    print_shapes(run, s);
  }
}

}  // namespace sheaf::bench::papers::wei2010
