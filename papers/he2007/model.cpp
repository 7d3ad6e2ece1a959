#include <fmt/format.h>

#include "papers/he2007/figures.hpp"
#include "plan/he2007.hpp"

// Figures 1 and 6 to 9: bandwidths of gather and scatter, and the accuracy of the predictions.
namespace sheaf::bench::papers::he2007 {
namespace {

constexpr std::string_view gather_and_scatter[] = {"gather", "scatter"};

// Accuracies of the 2007 model and of our plans over one table, which are also added to those of all figures.
struct accuracies {
  spread paper;
  spread ours;

  void add(const result& r) {
    if (r.he2007_seconds > 0) paper.add(r.he2007_accuracy());
    if (r.predicted_seconds > 0) ours.add(r.accuracy());
  }
  void print(paper_run& run, const char* found) const {
    fmt::print("  accuracy of the 2007 model {}, of our plans {}; of the model on the G80 {}\n", paper.percent_text(),
               ours.percent_text(), found);
    run.paper_accuracy.add(paper);
    run.our_accuracy.add(ours);
  }
};

// Appends the predictions of both models and their accuracies to a row.
std::vector<std::string> with_models(std::vector<std::string> cells, const result& result) {
  const auto add = [&](double predicted, double accuracy) {
    cells.push_back(predicted > 0 ? time_text(predicted) : "-");
    cells.push_back(predicted > 0 ? percent_text(accuracy) : "-");
  };
  add(result.he2007_seconds, result.he2007_accuracy());
  add(result.predicted_seconds, result.accuracy());
  return cells;
}

std::vector<column> with_model_columns(std::vector<column> columns) {
  columns.insert(columns.end(), {"2007 model", "accuracy", "our plan", "accuracy"});
  return columns;
}

// Figures 6 and 7: from 1 MB of tuples to the paper's largest size, and on to sizes that today's devices hold.
void by_data_size(paper_run& run, session& session, int figure,
                  problem (*problem_of)(std::string_view, std::uint64_t, std::uint64_t), const char* found) {
  const auto counts = run.counts(session, powers(megabyte / tuple_bytes, 4096 * megabyte / tuple_bytes, 2),
                                 [&](std::uint64_t count) { return problem_of("scatter", count, tuple_bytes); });
  print_place(session, "time by size of the data");
  const table rows(with_model_columns({"data", "call", "variant", "time", "effective"}));
  accuracies model_accuracies;
  for (const std::string_view what : gather_and_scatter) {
    for (const std::uint64_t count : counts) {
      const problem problem = problem_of(what, count, tuple_bytes);
      for (const result& result : run.measure(session, figure, problem, {run.single_pass(session, problem)})) {
        rows.row(with_models({size_text(count * tuple_bytes), std::string(what), result.variant,
                              time_text(result.time.median_seconds), bandwidth_text(effective_bandwidth(result))},
                             result));
        model_accuracies.add(result);
      }
    }
  }
  model_accuracies.print(run, found);
}

// What Eq. 1 makes B_seq from, before the figure that shows how well it does.
void print_sequential_bandwidth(paper_run& run, const session& session) {
  const std::span<const plan::he2007::timed_scan> scans = run.scans_of(session);
  print_place(session, "B_seq, from copies; bytes read and bytes written count");
  const table rows({"array", "copy", "bandwidth"});
  for (const plan::he2007::timed_scan& scan : scans) {
    const auto bytes = static_cast<std::uint64_t>(scan.bytes) / 2;
    rows.row({size_text(bytes), time_text(scan.seconds), bandwidth_text(scan.bytes / scan.seconds)});
    run.input_results.push_back({.figure = fmt::format("{}/6", run.paper),
                                 .input = fmt::format("array of {} bytes", bytes),
                                 .machine = session.hardware.machine,
                                 .where = std::string(sheaf::name(session.ctx.backend())),
                                 .backend = session.ctx.backend(),
                                 .who = "scan: a copy in order",
                                 .time = {scan.seconds, scan.seconds, scan.seconds, 1},
                                 .verified = true});
  }
  fmt::print("  B_seq by equation 1 from {} copies: {}; the profile's copy: {}; 63.9 GB/s in the paper\n", scans.size(),
             bandwidth_text(run.model_of(session).sequential_bytes_per_second),
             bandwidth_text(session.ctx.profile().copy_bytes_per_second));
  print_letters(run, session);
}

problem sequential_tuples(std::string_view what, std::uint64_t count, std::uint64_t) { return sequential(what, count); }

}  // namespace

void figure_1(paper_run& run) {
  print_caption(
      "Figure 1. Gather and scatter, sequential against random locations",
      "128 MB of 8-byte tuples; sequential over 60 GB/s, counting the tuples of both sides and the index, of\n"
      "  69.2 GB/s for a scan; random far below.");
  run.for_each_fixed_size([&](session& session, const fixed_size& size) {
    const table rows({"call", "locations", "variant", "time", "effective", "with index", "of B_seq", "slowdown"});
    for (const std::string_view what : gather_and_scatter) {
      double sequential_seconds = 0;
      for (const problem& p : {sequential(what, size.count), at_random(what, size.count)}) {
        for (const result& result : run.measure(session, 1, p, {run.single_pass(session, p)})) {
          const double seconds = result.time.median_seconds;
          if (sequential_seconds == 0) sequential_seconds = seconds;
          rows.row({std::string(what), primitives::name(p.pattern), result.variant, time_text(seconds),
                    bandwidth_text(effective_bandwidth(result)), bandwidth_text(total_bandwidth(result)),
                    percent_text(total_bandwidth(result) / run.model_of(session).sequential_bytes_per_second),
                    ratio_text(seconds / sequential_seconds)});
        }
      }
    }
  });
}

void figure_6(paper_run& run) {
  print_caption("Figure 6. Sequential gather and scatter, one pass, by data size",
                "B_seq 63.9 GB/s; accuracy over 87 % on average, 70 to 99 %.");
  for (session& s : run.sessions) {
    print_sequential_bandwidth(run, s);
    by_data_size(run, s, 6, sequential_tuples, "over 87 % (70 to 99)");
  }
}

void figure_7(paper_run& run) {
  print_caption("Figure 7. Random gather and scatter, one pass, by data size",
                "accuracy over 90 % on average, 62 to 98 %.");
  for (session& s : run.sessions) by_data_size(run, s, 7, at_random, "over 90 % (62 to 98)");
}

void figure_8(paper_run& run) {
  print_caption("Figure 8. One-pass scatter by number of partitions",
                "128 MB; time jumps beyond 32 partitions, the threads of a warp; accuracy over 82 %, 70 to 99 %.");
  print_draw();
  for (const session& s : run.sessions) print_letters(run, s);
  run.for_each_fixed_size([&](session& session, const fixed_size& size) {
    const table rows(with_model_columns({"partitions", "variant", "time", "effective", "to 1"}));
    accuracies model_accuracies;
    double first_seconds = 0;
    for (const std::uint64_t count : swept_partitions(session.size)) {
      const problem p = to_partitions(count, size.count);
      for (const result& result : run.measure(session, 8, p, {run.single_pass(session, p)})) {
        if (first_seconds == 0) first_seconds = result.time.median_seconds;
        rows.row(with_models(
            {fmt::to_string(count), result.variant, time_text(result.time.median_seconds),
             bandwidth_text(effective_bandwidth(result)), ratio_text(result.time.median_seconds / first_seconds)},
            result));
        model_accuracies.add(result);
      }
    }
    model_accuracies.print(run, "over 82 % (70 to 99)");
  });
}

namespace {

// Why a row of the sweep is worth a look: "the model's, best".
std::string marks_of(std::uint64_t passes, const times_by_passes& times) {
  std::string marks;
  const auto mark = [&](bool is_so, std::string_view text) {
    if (is_so) marks += fmt::format("{}{}", marks.empty() ? "" : ", ", text);
  };
  mark(passes == times.modelled, "the model's");
  mark(passes == paper_passes, "the paper's");
  mark(passes == times.best(), "best");
  return marks.empty() ? "-" : marks;
}

}  // namespace

void figure_9(paper_run& run) {
  print_caption("Figure 9. Random multi-pass scatter by number of passes",
                "128 MB; best with 16 passes; accuracy 86 %, 70 to 99 %.");
  run.for_each_fixed_size([&](session& session, const fixed_size& size) {
    const problem problem = at_random("scatter", size.count);
    const pass_sweep& sweep = run.sweep_passes(session, size.count);
    if (sweep.rows.empty()) return;
    std::vector<column> columns = with_model_columns({"passes", "time", "effective", "one pass / it"});
    columns.emplace_back("number of passes");
    const table rows(columns);
    accuracies model_accuracies;
    const auto add_row = [&](const std::string& what, const result& r, const std::string& marks) {
      std::vector<std::string> cells =
          with_models({what, time_text(r.time.median_seconds), bandwidth_text(effective_bandwidth(r)),
                       ratio_text(sweep.times.of(1) / r.time.median_seconds)},
                      r);
      cells.push_back(marks);
      rows.row(cells);
    };
    add_row(sweep.single.variant, sweep.single, "-");
    for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
      add_row(fmt::to_string(sweep.passes[i]), sweep.rows[i], marks_of(sweep.passes[i], sweep.times));
      model_accuracies.add(sweep.rows[i]);
    }
    fmt::print("  passes: best measured {}, chosen by the 2007 model {}, by our plan {}; 16 in the paper{}\n",
               sweep.times.best(), sweep.times.modelled, planned_passes(session, problem),
               sweep.times.one_pass_wins() ? "; one pass wins" : "");
    model_accuracies.print(run, "86 % (70 to 99)");
  });
}

}  // namespace sheaf::bench::papers::he2007
