#include <fmt/format.h>

#include "papers/he2007/figures.hpp"

// Figures 10 to 13: the speedup by multi-pass scatters, and the GPU beside the CPU.
namespace sheaf::bench::papers::he2007 {
namespace {

/// One problem by all that the figures compare: the fastest form that knows one pass only, the paper's multi-pass form
/// with every number of passes of the sweep, and the planner's choice; with several threads also one pass on one
/// thread.
struct comparison {
  result single;
  times_by_passes passes;
  result best;  ///< of the sweep
  result choice;
  std::optional<result> one_thread;

  double gain_of_choice() const { return single.time.median_seconds / choice.time.median_seconds; }
  double gain_of_threads() const {
    return one_thread ? one_thread->time.median_seconds / single.time.median_seconds : 1;
  }
};

std::optional<comparison> compare(paper_run& run, session& session, int figure, const problem& problem,
                                  bool with_one_thread) {
  comparison found;
  found.passes.modelled = run.modelled_passes(session, problem);
  const std::vector<std::uint64_t> sweep = swept_passes(session, found.passes.modelled);
  std::vector<contender> who{run.single_pass(session, problem), chosen(session, problem)};
  who.back().he2007_seconds = run.modelled_seconds(session, problem, 1);
  for (const std::uint64_t passes : sweep) who.push_back(run.multi_pass(session, problem, passes));
  const std::size_t end_of_sweep = who.size();
  if (with_one_thread && has_one_thread_beside(session)) who.push_back(run.single_pass(session, problem, 1));
  const std::vector<result> rows = run.measure(session, figure, problem, std::move(who));
  if (rows.empty()) return std::nullopt;
  found.single = rows[0];
  found.choice = rows[1];
  for (std::size_t i = 0; i < sweep.size(); ++i) found.passes.seconds[sweep[i]] = rows[i + 2].time.median_seconds;
  const auto best = std::ranges::find(sweep, found.passes.best());
  found.best = rows[static_cast<std::size_t>(best - sweep.begin()) + 2];
  if (rows.size() > end_of_sweep) found.one_thread = rows.back();
  return found;
}

/// The gains over all rows of a table.
struct gains {
  spread of_best;     ///< best number of passes over one pass of the same form
  spread of_model;    ///< the model's number over one pass
  spread of_choice;   ///< our choice over the fastest form of one pass
  spread of_threads;  ///< all threads over one
  std::uint64_t won_by_one_pass = 0;
  std::uint64_t modelled_as_one_pass = 0;

  void add(const comparison& compared) {
    of_best.add(compared.passes.gain_of(compared.passes.best()));
    of_model.add(compared.passes.gain_of(compared.passes.modelled));
    of_choice.add(compared.gain_of_choice());
    if (compared.one_thread) of_threads.add(compared.gain_of_threads());
    won_by_one_pass += compared.passes.one_pass_wins() ? 1 : 0;
    modelled_as_one_pass += compared.passes.modelled == 1 ? 1 : 0;
  }

  void print(const session& session) const {
    if (of_best.count() == 0) return;
    const auto range = [](const spread& s) {
      return fmt::format("{} to {}", ratio_text(s.least()), ratio_text(s.most()));
    };
    fmt::print("  the paper's form, over its own one pass: the best number of passes {}, the 2007 model's {}\n",
               range(of_best), range(of_model));
    fmt::print(
        "  one pass wins in {} of {} rows, and the model chooses it in {}; our choice over the fastest in one pass "
        "{}\n",
        won_by_one_pass, of_best.count(), modelled_as_one_pass, range(of_choice));
    if (of_threads.count() == 0) return;
    fmt::print("  {} threads over one, one pass: {}; in the paper 1-2x on Intel and 2-4x on AMD\n",
               session.ctx.threads(), range(of_threads));
  }
};

// The columns of a comparison: the fastest form of one pass, the paper's by passes, and our choice.
std::vector<column> comparison_columns(std::vector<column> columns) {
  columns.insert(columns.end(), {"fastest in one", "effective"});
  for (column& c : times_by_passes::columns()) columns.push_back(std::move(c));
  columns.insert(columns.end(), {"effective", "choice", "effective", "gain", "variant"});
  return columns;
}

std::vector<std::string> with_comparison(std::vector<std::string> cells, const comparison& compared) {
  cells.insert(cells.end(), {time_of(&compared.single), bandwidth_text(effective_bandwidth(compared.single))});
  for (std::string& cell : compared.passes.cells()) cells.push_back(std::move(cell));
  cells.insert(cells.end(), {bandwidth_text(effective_bandwidth(compared.best)), time_of(&compared.choice),
                             bandwidth_text(effective_bandwidth(compared.choice)),
                             ratio_text(compared.gain_of_choice()), compared.choice.variant});
  return cells;
}

void by_segments(paper_run& run, session& session, std::uint64_t tuples, std::uint64_t passes, const char* why) {
  const auto segments = powers(1, session.size == run_size::tiny ? 16 : 512, 2);
  const problem p = at_random("scatter", tuples);
  std::vector<contender> who;
  who.reserve(segments.size());
  for (const std::uint64_t count : segments) who.push_back(run.multi_pass(session, p, passes, count));
  const std::vector<result> measured_rows = run.measure(session, 10, p, std::move(who));
  if (measured_rows.empty()) return;
  fmt::print("  passes: {}, {}\n", passes, why);
  const table rows({"segments", "segment", "time", "effective", "to one"});
  for (std::size_t i = 0; i < measured_rows.size(); ++i) {
    const result& r = measured_rows[i];
    rows.row({fmt::to_string(segments[i]), size_text(tuples * tuple_bytes / segments[i]),
              time_text(r.time.median_seconds), bandwidth_text(effective_bandwidth(r)),
              ratio_text(r.time.median_seconds / measured_rows.front().time.median_seconds)});
  }
}

// Prints the rows of figures 12 and 13 for one machine.
void print_comparisons(paper_run& run, session& session, int figure, const std::string& what,
                       std::span<const problem> problems) {
  print_place(session, what);
  std::vector<column> columns = comparison_columns({"tuple", "tuples"});
  columns.emplace_back("1 thread", has_one_thread_beside(session));
  const table rows(columns);
  gains gains;
  for (const problem& p : problems) {
    const std::optional<comparison> compared = compare(run, session, figure, p, true);
    if (!compared) continue;
    std::vector<std::string> cells =
        with_comparison({fmt::format("{} B", p.record_bytes), fmt::to_string(p.count)}, *compared);
    cells.push_back(time_of(compared->one_thread ? &*compared->one_thread : nullptr));
    rows.row(cells);
    gains.add(*compared);
  }
  gains.print(session);
}

// Prints our choice on the CPU beside our choice on CUDA, if the run measured both.
void print_cpu_beside_cuda(const paper_run& run, int figure) {
  const auto of_figure = [&](const result& r, backend_kind backend) {
    return r.backend == backend && r.who == "sheaf" && r.figure == fmt::format("he2007/{}", figure);
  };
  std::optional<table> rows;
  for (const result& cpu : run.results) {
    if (!of_figure(cpu, backend_kind::cpu)) continue;
    for (const result& cuda : run.results) {
      if (!of_figure(cuda, backend_kind::cuda) || name(cuda.problem) != name(cpu.problem)) continue;
      if (!rows) {
        fmt::print("\n  # our choice on the CPU beside CUDA; the G80 was 7-13x faster than Intel's, 2-4x than AMD's\n");
        rows.emplace(std::vector<column>{"tuple", "tuples", "CPU", "CUDA", "CPU / CUDA"});
      }
      rows->row({fmt::format("{} B", cpu.problem.record_bytes), fmt::to_string(cpu.problem.count),
                 time_text(cpu.time.median_seconds), time_text(cuda.time.median_seconds),
                 ratio_text(cpu.time.median_seconds / cuda.time.median_seconds)});
    }
  }
}

}  // namespace

void figure_10(paper_run& run) {
  print_caption("Figure 10. Random multi-pass scatter, the input cut into segments",
                "128 MB; each segment has all its passes before the next begins; more segments, more time.");
  run.for_each_fixed_size([&](session& s, const fixed_size& size) {
    const std::uint64_t best = run.sweep_passes(s, size.count).times.best();
    by_segments(run, s, size.count, best, "the best of figure 9");
    if (best != paper_passes) by_segments(run, s, size.count, paper_passes, "the best in the paper");
  });
}

void figure_11(paper_run& run) {
  print_caption(
      "Figure 11. Multi-pass scatter by number of partitions",
      "128 MB; one pass is best up to 8 partitions, beyond that multi-pass gains up to 3x; the model finds the "
      "number of passes.");
  print_draw();
  for (const session& s : run.sessions) print_letters(run, s);
  run.for_each_fixed_size([&](session& session, const fixed_size& size) {
    const table rows(comparison_columns({"partitions"}));
    gains gains;
    for (const std::uint64_t count : swept_partitions(session.size)) {
      const std::optional<comparison> compared = compare(run, session, 11, to_partitions(count, size.count), false);
      if (!compared) continue;
      rows.row(with_comparison({fmt::to_string(count)}, *compared));
      gains.add(*compared);
    }
    gains.print(session);
  });
}

void figure_12(paper_run& run) {
  print_caption(
      "Figure 12. Random scatter by tuple size",
      "16 M tuples of 2 to 16 bytes; effective bandwidth grows with the tuple; multi-pass gains 2-4x on the GPU "
      "and little on\n  CPUs; the GPU is 7-13x faster than Intel's CPU and 2-4x than AMD's.");
  for (session& session : run.sessions) {
    for (const fixed_size& size : run.fixed_sizes(session)) {
      std::vector<problem> problems;
      for (const std::uint64_t bytes : powers(1, widest_tuple_bytes, 2)) {
        problems.push_back(at_random("scatter", size.count, bytes));
      }
      print_comparisons(run, session, 12, fmt::format("{} tuples; in 8 bytes, {}", size.count, size.note), problems);
    }
  }
  print_cpu_beside_cuda(run, 12);
}

void figure_13(paper_run& run) {
  print_caption("Figure 13. Random scatter of 8-byte tuples by their number",
                "effective bandwidth is stable as the data grows; GPU over CPUs as in figure 12.");
  for (session& s : run.sessions) {
    const auto at = [](std::uint64_t count) { return at_random("scatter", count); };
    std::vector<problem> problems;
    for (const std::uint64_t count : run.counts(s, powers(million, 64 * million, 2), at)) problems.push_back(at(count));
    print_comparisons(run, s, 13, "time by number of tuples", problems);
  }
  print_cpu_beside_cuda(run, 13);
}

}  // namespace sheaf::bench::papers::he2007
