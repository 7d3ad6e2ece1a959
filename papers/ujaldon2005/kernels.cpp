#include <cstdio>

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

}  // namespace

void table_3(paper_run& run) {
  print_caption("Table 3. Matrices",
                "of the Harwell-Boeing collection, of whose symmetric ones the lower half counts.");
  const table rows({"matrix             ", "rows", "the paper's", "nonzeros", "the paper's", "fill"});
  for (const matrix_input& in : matrices_of_tables(run)) {
    const double fill = static_cast<double>(in.matrix->entries()) /
                        (static_cast<double>(in.matrix->rows) * static_cast<double>(in.matrix->columns));
    rows.row({in.name, fmt::to_string(in.matrix->rows), paper_text(in.of, &paper_input::size),
              fmt::to_string(in.matrix->entries()), paper_text(in.of, &paper_input::elements),
              fmt::format("{:.2f} %", fill * 100)});
    fmt::print("    {}\n", in.source);
  }
}

void table_4(paper_run& run) {
  print_caption("Table 4. Meshes", "of tetrahedra, with six edges at a node.");
  const table rows({"mesh               ", "nodes", "the paper's", "edges", "the paper's"});
  for (const mesh_input& in : meshes_of_tables(run)) {
    rows.row({in.name, fmt::to_string(in.edges->nodes), paper_text(in.of, &paper_input::size),
              fmt::to_string(in.edges->edges.size()), paper_text(in.of, &paper_input::elements)});
    fmt::print("    {}\n", in.source);
  }
}

void table_5(paper_run& run) {
  print_caption("Table 5. Sparse matrix-vector products, f32",
                "the GPU is 1.05 to 1.6 times as fast as the CPU, and loading pays after 26 to 499 runs.");
  fmt::print("{}\n", columns_of_times);
  for (const matrix_input& in : matrices_of_tables(run)) {
    fmt::print("\n  # {}: {} rows, {} nonzeros, {}\n", in.name, in.matrix->rows, in.matrix->entries(), in.source);
    std::vector<timed_call> calls = product_calls(run, in);
    print_times(run, table_number(5), in.name, in.of, calls);
  }
}

void table_6(paper_run& run) {
  print_caption("Table 6. The Euler kernel: forces of 3 components, f32",
                "the GPU is 2.2 to 4.25 times as fast as the CPU, and loading pays after 7 to 23 runs.");
  fmt::print("{}\n", columns_of_times);
  for (const mesh_input& in : meshes_of_tables(run)) {
    fmt::print("\n  # {}: {} nodes, {} edges, {}\n", in.name, in.edges->nodes, in.edges->edges.size(), in.source);
    std::vector<timed_call> calls = euler_calls(run, in);
    print_times(run, table_number(6), in.name, in.of, calls);
  }
}

}  // namespace sheaf::bench::papers::ujaldon2005
