#include <cstdio>
#include <map>

#include <fmt/format.h>

#include "lab/harness/edges/calls.hpp"
#include "lab/harness/sparse/calls.hpp"
#include "papers/ujaldon2005/figures.hpp"

// Tables 3 to 6: the two kernels, products by sparse matrices and the Euler kernel.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

std::string who_of(const timed_call& c) { return (c.is_prepared ? "prepared " : "") + c.who; }

void print_row(std::string_view where, std::string_view who, std::string_view loading, std::string_view time,
               std::string_view runs_a_second, std::string_view gain, std::string_view amortised) {
  fmt::print("  {:<16} {:<40} {:>11} {:>11} {:>11} {:>9} {:>10}\n", where, who, loading, time, runs_a_second, gain,
             amortised);
  std::fflush(stdout);
}

std::string rate_text(double seconds) { return fmt::format("{:.0f}", 1 / std::max(seconds, 1e-9)); }

void print_paper(const paper_input& of) {
  for (const recorded_times& t : of.times) {
    print_row(fmt::format("the paper, {}", t.year), "CPU", "", time_text(t.cpu_milliseconds * 1e-3),
              rate_text(t.cpu_milliseconds * 1e-3), "1.00x", "");
    print_row("", "GPU", time_text(t.loading_milliseconds * 1e-3), time_text(t.gpu_milliseconds * 1e-3),
              fmt::to_string(t.runs_per_second), gain_text(t.gain), fmt::to_string(t.runs_to_amortise));
  }
}

/// Section 5.1, "Type of memory": the same vertices from the host's memory in every run, beside those that stay on the
/// device, and beside a call that builds them first.
void print_memory(const std::vector<timed_call>& calls) {
  const auto find = [&](const timed_call& kept, const std::string& who, bool is_prepared) {
    return std::ranges::find_if(calls, [&](const timed_call& c) {
      return c.where == kept.where && c.who == who && c.is_prepared == is_prepared;
    });
  };
  for (const timed_call& kept : calls) {
    const auto sent = find(kept, kept.who + sent_vertices, true);
    const auto whole = find(kept, kept.who, false);
    if (!kept.is_prepared || sent == calls.end() || whole == calls.end()) continue;
    const double seconds = kept.time.median_seconds;
    fmt::print("  {}: vertices from the host's memory in each run {}, from the device's {}: {} (the paper: 4x); ",
               kept.who, time_text(sent->time.median_seconds), time_text(seconds),
               gain_text(sent->time.median_seconds / seconds));
    fmt::print("built in each run {}\n", time_text(whole->time.median_seconds));
  }
}

/// Calls of one input; the first is the plain loop on one thread.
void print_times(paper_run& run, int table, const std::string& input, const paper_input* of,
                 std::vector<timed_call>& calls) {
  run.measure(table, input, calls);
  const double plain = calls.front().time.median_seconds;
  print_row("where", "call", "loading", "run", "runs/s", "gain", "amortised");
  for (const timed_call& call : calls) {
    const double seconds = call.time.median_seconds;
    const bool is_loaded = call.loading_seconds > 0;
    print_row(call.where, who_of(call), is_loaded ? time_text(call.loading_seconds) : "", time_text(seconds),
              rate_text(seconds), gain_text(plain / seconds),
              is_loaded ? runs_text(runs_to_amortise(call.loading_seconds, seconds, plain)) : "");
  }
  if (of != nullptr) print_paper(*of);
  print_memory(calls);
}

/// Mean gains over the plain loop of one thread, over those inputs that are the paper's or stand for them: of the
/// fastest call of each place, and on a pipeline of the form that the paper measures.
class mean_gains {
 public:
  /// @param form  "opengl.texture"
  explicit mean_gains(std::string form) : form_(std::move(form)) {}

  /// @param calls  of one input, measured; the first is the plain loop
  void add(const paper_input* of, std::span<const timed_call> calls) {
    if (of == nullptr) return;
    of_.push_back(of);
    place_of_loop_ = calls.front().where;
    const double plain = calls.front().time.median_seconds;
    std::map<std::string, const timed_call*> fastest;
    for (const timed_call& c : calls.subspan(1)) {
      const timed_call*& best = fastest[c.where];
      if (best == nullptr || c.time.median_seconds < best->time.median_seconds) best = &c;
      if (c.is_prepared && c.who == form_) add_gain(c.where, "prepared " + form_, c, plain);
    }
    for (const auto& [where, call] : fastest) add_gain(where, "the fastest", *call, plain);
  }

  void print() const {
    if (of_.empty()) return;
    fmt::print("\n  # arithmetic means over {} inputs, the paper's or stand-ins\n", of_.size());
    print_line("where", "call", "mean gain", "least", "most", "amortised");
    for (const row& r : rows_) {
      print_line(r.where, r.who, gain_text(r.gains.mean()), gain_text(r.gains.least()), gain_text(r.gains.most()),
                 r.gains.count() == r.runs.count() ? fmt::format("{:.0f}", r.runs.mean()) : "-");
    }
    for (std::size_t year = 0; year < of_.front()->times.size(); ++year) {
      spread gains;
      spread runs;
      for (const paper_input* of : of_) {
        gains.add(of->times[year].gain);
        runs.add(of->times[year].runs_to_amortise);
      }
      print_line(fmt::format("the paper, {}", of_.front()->times[year].year), "GPU",
                 fmt::format("{:.2f}x", gains.mean()), fmt::format("{:.2f}x", gains.least()),
                 fmt::format("{:.2f}x", gains.most()), fmt::format("{:.0f}", runs.mean()));
    }
  }

  /// "opengl 0.1x by prepared opengl.texture; opengl 0.2x by the fastest". Of one thread only where nothing else ran.
  std::string text() const {
    const bool has_others = std::ranges::any_of(rows_, [&](const row& r) { return r.where != place_of_loop_; });
    std::string all;
    for (const row& r : rows_) {
      if (has_others && r.where == place_of_loop_) continue;
      all += fmt::format("{}{} {} by {}", all.empty() ? "" : "; ", r.where, gain_text(r.gains.mean()), r.who);
    }
    return all;
  }

 private:
  struct row {
    std::string where;
    std::string who;
    spread gains = {};
    spread runs = {};  ///< that make up for loading, of those calls that ever do
  };

  void add_gain(const std::string& where, const std::string& who, const timed_call& call, double plain) {
    const auto found = std::ranges::find_if(rows_, [&](const row& r) { return r.where == where && r.who == who; });
    row& to = found == rows_.end() ? rows_.emplace_back(row{where, who}) : *found;
    to.gains.add(plain / call.time.median_seconds);
    if (call.loading_seconds == 0) return;
    const auto runs = runs_to_amortise(call.loading_seconds, call.time.median_seconds, plain);
    if (runs) to.runs.add(static_cast<double>(*runs));
  }
  static void print_line(std::string_view where, std::string_view who, std::string_view mean, std::string_view least,
                         std::string_view most, std::string_view amortised) {
    fmt::print("  {:<16} {:<40} {:>11} {:>11} {:>11} {:>10}\n", where, who, mean, least, most, amortised);
  }

  std::string form_;
  std::string place_of_loop_;
  std::vector<const paper_input*> of_;
  std::vector<row> rows_;
};

constexpr const char* columns_of_times =
    "  gain: over the plain loop on one thread; amortised: runs that make up for loading, beside that loop.";

std::vector<timed_call> product_calls(const paper_run& run, const matrix_input& in) {
  std::vector<timed_call> calls;
  add_plain_product<float>(run.one_thread().name, in.matrix, calls);
  for (const machine_place& p : run.places) {
    add_product_calls<float>(p.place, in.matrix, calls);
#if SHEAF_HAS_OPENGL
    if (p.place.ctx.backend() == backend_kind::opengl) add_sent_products(p.place, in, calls);
#endif
  }
  return calls;
}

std::vector<timed_call> euler_calls(const paper_run& run, const mesh_input& in) {
  std::vector<timed_call> calls;
  const auto judged = judge_edges<float>(in.edges, {});
  add_plain_edges<float>(run.one_thread().name, judged, calls);
  for (const machine_place& p : run.places) {
    add_edge_calls<float>(p.place, judged, calls);
#if SHEAF_HAS_OPENGL
    if (p.place.ctx.backend() == backend_kind::opengl) add_sent_edges(p.place, in, calls);
#endif
  }
  return calls;
}

bool has_large(const paper_run& run) { return run.request.large || run.size() == run_size::device; }

std::vector<matrix_input> matrices_of_tables(paper_run& run) {
  std::vector<matrix_input> all = run.matrices();
  if (has_large(run)) all.push_back(large_matrix(run));
  return all;
}

std::vector<mesh_input> meshes_of_tables(paper_run& run) {
  std::vector<mesh_input> all = run.meshes();
  if (has_large(run)) all.push_back(large_mesh(run));
  return all;
}

/// A number of the paper's, or none.
std::string paper_text(const paper_input* of, std::uint64_t paper_input::*number) {
  return of == nullptr ? std::string("-") : fmt::to_string(of->*number);
}

std::string percents_text(double share) { return fmt::format("{:.2f} %", share * 100); }

std::string kilobytes_text(std::uint64_t bytes) {
  const double kilobytes = static_cast<double>(bytes) / 1024;
  return kilobytes < 10 ? fmt::format("{:.2f}", kilobytes) : fmt::format("{:.0f}", kilobytes);
}

/// What a pipeline uploads of an input, if the run has one.
template <class Input>
std::optional<uploaded_bytes> uploads_in([[maybe_unused]] const paper_run& run, [[maybe_unused]] const Input& in) {
#if SHEAF_HAS_OPENGL
  for (const machine_place& p : run.places) {
    if (p.place.ctx.backend() == backend_kind::opengl) return uploads_of(p.place, in);
  }
#endif
  return std::nullopt;
}

/// The rows of tables 3 and 4 that say how large an input is in a file and on the device, in kilobytes of 1024 bytes.
template <class Input>
void print_sizes(const paper_run& run, const std::vector<Input>& inputs) {
  const bool has_opengl = std::ranges::any_of(
      run.places, [](const machine_place& p) { return p.place.ctx.backend() == backend_kind::opengl; });
  fmt::print("\n");
  const table rows({"kilobytes          ", "file", "the paper's", column("vertices", has_opengl),
                    has_opengl ? "the paper's" : "the paper's vertices", column("texture", has_opengl),
                    has_opengl ? "the paper's" : "the paper's texture"});
  for (const Input& in : inputs) {
    const std::optional<uploaded_bytes> uploads = uploads_in(run, in);
    rows.row({in.name, in.file_bytes == 0 ? "-" : kilobytes_text(in.file_bytes),
              paper_text(in.of, &paper_input::file_kilobytes), uploads ? kilobytes_text(uploads->vertices) : "-",
              paper_text(in.of, &paper_input::vertex_kilobytes), uploads ? kilobytes_text(uploads->texture) : "-",
              paper_text(in.of, &paper_input::texture_kilobytes)});
  }
}

}  // namespace

void table_3(paper_run& run) {
  print_caption("Table 3. Matrices",
                "of the Harwell-Boeing collection, of whose symmetric ones the lower half counts.");
  const table rows({"matrix             ", "rows", "the paper's", "nonzeros", "the paper's", "fill", "the paper's"});
  const std::vector<matrix_input> inputs = matrices_of_tables(run);
  const auto fill_of = [](std::uint64_t entries, std::uint64_t height, std::uint64_t width) {
    return percents_text(static_cast<double>(entries) / (static_cast<double>(height) * static_cast<double>(width)));
  };
  for (const matrix_input& in : inputs) {
    rows.row({in.name, fmt::to_string(in.matrix->rows), paper_text(in.of, &paper_input::size),
              fmt::to_string(in.matrix->entries()), paper_text(in.of, &paper_input::elements),
              fill_of(in.matrix->entries(), in.matrix->rows, in.matrix->columns),
              in.of == nullptr ? "-" : fill_of(in.of->elements, in.of->size, in.of->size)});
    fmt::print("    {}\n", in.source);
  }
  print_sizes(run, inputs);
  fmt::print(
      "  A vertex has 12 bytes here: row, column and value of a nonzero; the paper's has 32: two texture coordinates,\n"
      "  three colors and three positions. The texture is x, one float for each column.\n");
}

void table_4(paper_run& run) {
  print_caption("Table 4. Meshes", "of tetrahedra, with six edges at a node.");
  const table rows(
      {"mesh               ", "nodes", "the paper's", "edges", "the paper's", "edges / node", "the paper's"});
  const std::vector<mesh_input> inputs = meshes_of_tables(run);
  const auto ratio = [](std::uint64_t edges, std::uint64_t nodes) {
    return fmt::format("{:.2f}", static_cast<double>(edges) / static_cast<double>(nodes));
  };
  for (const mesh_input& in : inputs) {
    rows.row({in.name, fmt::to_string(in.edges->nodes), paper_text(in.of, &paper_input::size),
              fmt::to_string(in.edges->edges.size()), paper_text(in.of, &paper_input::elements),
              ratio(in.edges->edges.size(), in.edges->nodes),
              in.of == nullptr ? "-" : ratio(in.of->elements, in.of->size)});
    fmt::print("    {}\n", in.source);
  }
  print_sizes(run, inputs);
  fmt::print(
      "  An edge has 8 bytes here, its two nodes, which both rendering passes read; the paper's sizes are about those\n"
      "  of two vertices of 32 bytes. The texture is the nodes' positions, three floats each.\n");
}

void table_5(paper_run& run) {
  print_caption("Table 5. Sparse matrix-vector products, f32",
                "the GPU is 1.05 to 1.6 times as fast as the CPU, and loading pays after 26 to 499 runs.");
  fmt::print("{}\n", columns_of_times);
  mean_gains means("opengl.texture");
  for (const matrix_input& in : matrices_of_tables(run)) {
    fmt::print("\n  # {}: {} rows, {} nonzeros, {}\n", in.name, in.matrix->rows, in.matrix->entries(), in.source);
    std::vector<timed_call> calls = product_calls(run, in);
    print_times(run, table_number(5), in.name, in.of, calls);
    means.add(in.of, calls);
  }
  means.print();
  fmt::print("  The paper says 1.5x on average (sections 5.1 and 8), which is its mean of 2005.\n");
  run.conclusions.push_back({"products: mean gain over one CPU thread", "1.5x", means.text()});
}

void table_6(paper_run& run) {
  print_caption("Table 6. The Euler kernel: forces of 3 components, f32",
                "the GPU is 2.2 to 4.25 times as fast as the CPU, and loading pays after 7 to 23 runs.");
  fmt::print("{}\n", columns_of_times);
  mean_gains means("opengl.points");
  for (const mesh_input& in : meshes_of_tables(run)) {
    fmt::print("\n  # {}: {} nodes, {} edges, {}\n", in.name, in.edges->nodes, in.edges->edges.size(), in.source);
    std::vector<timed_call> calls = euler_calls(run, in);
    print_times(run, table_number(6), in.name, in.of, calls);
    means.add(in.of, calls);
  }
  means.print();
  fmt::print(
      "  The paper says 2.7x on average (sections 5.2 and 8), which is its mean of 2005, and over 4x at most.\n");
  run.conclusions.push_back({"forces: mean gain over one CPU thread", "2.7x, over 4x", means.text()});
#if SHEAF_HAS_OPENGL
  for (const machine_place& device : run.places) {
    if (device.place.ctx.backend() == backend_kind::opengl) vector_processing(run, device);
  }
#endif
}

}  // namespace sheaf::bench::papers::ujaldon2005
