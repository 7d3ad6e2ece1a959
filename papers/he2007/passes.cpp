#include <fmt/format.h>

#include "papers/he2007/figures.hpp"

// Figures 10 to 13: the speedup by multi-pass scatters, and the GPU beside the CPU.
namespace sheaf::bench::papers::he2007 {
namespace {

// Results of one pass, of the paper's number of passes and of the planner's choice; with several threads also of one
// pass on one thread.
struct comparison {
  result one_pass;
  result passes;
  result choice;
  std::optional<result> one_thread;
  std::uint64_t pass_count = 1;

  double gain() const { return one_pass.time.median_seconds / passes.time.median_seconds; }
  double gain_of_choice() const { return one_pass.time.median_seconds / choice.time.median_seconds; }
  double gain_of_threads() const {
    return one_thread ? one_thread->time.median_seconds / one_pass.time.median_seconds : 1;
  }
};

std::optional<comparison> compare(paper_run& run, session& session, int figure, const problem& problem,
                                  bool with_one_thread) {
  comparison comparison;
  comparison.pass_count = modelled_passes(session, problem);
  std::vector<contender> who{single_pass(session, problem), multi_pass(session, problem, comparison.pass_count),
                             chosen(session, problem)};
  if (with_one_thread && session.ctx.threads() > 1) who.push_back(single_pass(session, problem, 1));
  const std::vector<result> rows = run.measure(session, figure, problem, std::move(who));
  if (rows.empty()) return std::nullopt;
  comparison.one_pass = rows[0];
  comparison.passes = rows[1];
  comparison.choice = rows[2];
  if (rows.size() > 3) comparison.one_thread = rows[3];
  return comparison;
}

void by_segments(paper_run& run, session& session, std::uint64_t tuples, std::uint64_t passes, const char* why) {
  const auto segments = powers(1, session.size == run_size::tiny ? 16 : 512, 2);
  const problem p = at_random("scatter", tuples);
  std::vector<contender> who;
  who.reserve(segments.size());
  for (const std::uint64_t count : segments) who.push_back(multi_pass(session, p, passes, count));
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
  const table rows({"tuple", "tuples", "one pass", "effective", "passes", "multi-pass", "effective", "gain", "choice",
                    "effective", "gain", "variant"});
  spread gains;
  spread gains_of_choice;
  spread gains_of_threads;
  for (const problem& p : problems) {
    const std::optional<comparison> compared = compare(run, session, figure, p, true);
    if (!compared) continue;
    rows.row({fmt::format("{} B", p.record_bytes), fmt::to_string(p.count),
              time_text(compared->one_pass.time.median_seconds),
              bandwidth_text(effective_bandwidth(compared->one_pass)), fmt::to_string(compared->pass_count),
              time_text(compared->passes.time.median_seconds), bandwidth_text(effective_bandwidth(compared->passes)),
              ratio_text(compared->gain()), time_text(compared->choice.time.median_seconds),
              bandwidth_text(effective_bandwidth(compared->choice)), ratio_text(compared->gain_of_choice()),
              compared->choice.variant});
    gains.add(compared->gain());
    gains_of_choice.add(compared->gain_of_choice());
    if (compared->one_thread) gains_of_threads.add(compared->gain_of_threads());
  }
  if (gains.count() == 0) return;
  fmt::print("  over one pass: the paper's multi-pass {} to {}, our choice {} to {}\n", ratio_text(gains.least()),
             ratio_text(gains.most()), ratio_text(gains_of_choice.least()), ratio_text(gains_of_choice.most()));
  if (gains_of_threads.count() == 0) return;
  fmt::print("  {} threads over one, one pass: {} to {}; in the paper 1-2x on Intel and 2-4x on AMD\n",
             session.ctx.threads(), ratio_text(gains_of_threads.least()), ratio_text(gains_of_threads.most()));
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
    const std::uint64_t best = run.sweep_passes(s, size.count).best_passes;
    by_segments(run, s, size.count, best, "the best of figure 9");
    if (best != paper_passes) by_segments(run, s, size.count, paper_passes, "the best in the paper");
  });
}

void figure_11(paper_run& run) {
  print_caption(
      "Figure 11. Multi-pass scatter by number of partitions",
      "128 MB; one pass is best up to 8 partitions, beyond that multi-pass gains up to 3x; the model finds the "
      "number of passes.");
  run.for_each_fixed_size([&](session& session, const fixed_size& size) {
    const auto partitions = powers(1, session.size == run_size::tiny ? 256 : 65536, 4);
    const table rows({"partitions", "one pass", "passes", "multi-pass", "gain", "choice", "gain", "variant"});
    spread gains;
    spread gains_of_choice;
    std::uint64_t most_in_one_pass = 0;
    for (const std::uint64_t count : partitions) {
      const std::optional<comparison> compared = compare(run, session, 11, to_partitions(count, size.count), false);
      if (!compared) continue;
      rows.row({fmt::to_string(count), time_text(compared->one_pass.time.median_seconds),
                fmt::to_string(compared->pass_count), time_text(compared->passes.time.median_seconds),
                ratio_text(compared->gain()), time_text(compared->choice.time.median_seconds),
                ratio_text(compared->gain_of_choice()), compared->choice.variant});
      gains.add(compared->gain());
      gains_of_choice.add(compared->gain_of_choice());
      if (compared->pass_count == 1) most_in_one_pass = count;
    }
    if (gains.count() == 0) return;
    fmt::print("  over one pass: the paper's multi-pass {} to {}, our choice {} to {}; the 2007 model chooses one ",
               ratio_text(gains.least()), ratio_text(gains.most()), ratio_text(gains_of_choice.least()),
               ratio_text(gains_of_choice.most()));
    fmt::print("pass {}\n", most_in_one_pass == 0 ? "nowhere" : fmt::format("up to {} partitions", most_in_one_pass));
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
