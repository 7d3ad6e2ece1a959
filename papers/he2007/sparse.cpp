#include <fmt/format.h>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/nas.hpp"
#include "papers/data_folder.hpp"
#include "papers/he2007/sparse_inputs.hpp"
#include "papers/he2007/sparse_system.hpp"
#include "primitives/sparse/spmv.hpp"

// Section 4.3, figures 19 and 20: sparse matrix-vector products in two steps, a gather and sums of rows, within the
// conjugate gradient benchmark of NAS, whose systems are solved by 25 iterations each. The paper's GPU has f32 and its
// CPU f64, so both are measured.
namespace sheaf::bench::papers::he2007 {
namespace {

/// A matrix that is made or read when its turn comes.
struct matrix_to_measure {
  sparse_input input;
  std::function<io::csr_matrix<double>(int threads)> make;
  std::string_view nas_class = {};  ///< "A"; empty of others
  /// Why the figure leaves a matrix out, once it is there, or empty.
  std::function<std::string(const io::csr_matrix<double>& matrix)> why_not = {};
};

/// Rows of tables that are printed behind the first one.
struct later_tables {
  std::vector<std::vector<std::string>> solves = {};
  std::vector<std::vector<std::string>> benchmarks = {};
};

void print_rows(const std::string& what, const std::vector<column>& columns,
                const std::vector<std::vector<std::string>>& all) {
  if (all.empty()) return;
  fmt::print("\n  {}\n", what);
  const table rows(columns);
  for (const std::vector<std::string>& cells : all) rows.row(cells);
}

template <class Value>
void measure_as(paper_run& run, const session& session, int figure, const matrix_to_measure& of,
                const io::csr_matrix<double>& matrix, const table& products, later_tables& later,
                std::vector<solve_time>& times) {
  try {
    const sparse_system<Value> system(run, session, figure, of.input, matrix);
    products.row(product_cells(system));
    if (matrix.rows == matrix.columns && of.input.is_solved) {
      if (auto cells = solve_cells(system, times); !cells.empty()) later.solves.push_back(std::move(cells));
    }
    if (!of.nas_class.empty()) later.benchmarks.push_back(benchmark_cells(system, of.nas_class, times));
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
    fmt::print("  {} skipped: {}\n", of.input.name, e.what());
  }
}

/// The matrix, or nothing, with a line that says why not.
std::optional<io::csr_matrix<double>> made_matrix(const session& session, matrix_to_measure& of) {
  try {
    io::csr_matrix<double> matrix = of.make(session.ctx.threads());
    const std::string why_not = of.why_not ? of.why_not(matrix) : std::string();
    if (why_not.empty()) return matrix;
    fmt::print("  {} left out: {}\n", of.input.name, why_not);
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
    fmt::print("  {} skipped: {}\n", of.input.name, e.what());
  }
  return std::nullopt;
}

void measure_matrices(paper_run& run, session& session, int figure, std::vector<matrix_to_measure> matrices,
                      std::vector<solve_time>& times) {
  print_place(session, "products in two steps, by the number of passes of the gather");
  fmt::print(
      "  GFLOP/s are those of the best number of passes, and of the planner's choice. \"by misses\" is what the 2007 "
      "model says\n  that its number of passes moves, over their time; the paper has no such figure for products.\n");
  session.arrays.release();  // of earlier figures
  const table products(product_columns());
  later_tables later;
  for (matrix_to_measure& of : matrices) {
    const auto matrix = made_matrix(session, of);
    if (!matrix) continue;
    if (!of.input.is_made && matrix->rows == matrix->columns) {
      const auto asymmetry = jobs::asymmetry_of(jobs::view_of(*matrix));
      of.input.is_solved = !asymmetry;
      if (asymmetry) fmt::print("  # {}: products alone: {}\n", of.input.name, *asymmetry);
    }
    measure_as<float>(run, session, figure, of, *matrix, products, later, times);
    measure_as<double>(run, session, figure, of, *matrix, products, later, times);
  }
  print_rows(
      "25 iterations of conjugate gradient; composed of calls, with the share of its products and their GFLOP/s: "
      "those that\n  the planner takes, and those in two steps with the model's number of passes",
      solve_columns(session), later.solves);
  print_rows("the benchmark of NAS, all its systems of 25 iterations; f32 is not official, and right to 1e-4",
             benchmark_columns(session), later.benchmarks);
}

/// Prints the times on the CPU beside those on CUDA, of what the run has solved on both.
void print_cpu_beside_cuda(const std::vector<solve_time>& times) {
  const std::vector<solve_ratio> ratios = solve_ratios(times);
  if (ratios.empty()) return;
  fmt::print(
      "\n  # conjugate gradient on the CPU beside CUDA; the G80 in f32, transfers included, was over 6 times as "
      "fast as the\n  # CPU in f64\n");
  const table rows(
      {"system", "CPU f64", "CUDA f32", "CPU / f32", "with transfers", "CPU / that", "CUDA f64", "f64 / f64"});
  const auto time = [](double seconds) { return seconds > 0 ? time_text(seconds) : "-"; };
  for (const solve_ratio& r : ratios) {
    const auto ratio = [&](double seconds) { return seconds > 0 ? ratio_text(r.cpu_f64 / seconds) : "-"; };
    rows.row({r.system, time(r.cpu_f64), time(r.cuda_f32), ratio(r.cuda_f32), time(r.cuda_f32_with_transfers),
              ratio(r.cuda_f32_with_transfers), time(r.cuda_f64), ratio(r.cuda_f64)});
  }
}

/// Those of the classes: the paper's are A and B, of 1.9 and 13.7 million nonzeros; C has 36.7.
std::vector<matrix_to_measure> nas_matrices(run_size size) {
  const auto classes = [&]() -> std::vector<std::string_view> {
    switch (size) {
      case run_size::tiny: return {"S"};
      case run_size::small: return {"W", "A"};
      case run_size::device: return {"A", "B", "C"};
      default: return {"A", "B"};
    }
  };
  std::vector<matrix_to_measure> all;
  for (const std::string_view name : classes()) {
    all.push_back({{.name = fmt::format("NAS, class {}", name)},
                   [name](int threads) { return jobs::nas_matrix(jobs::nas_class_named(name), threads); },
                   name});
  }
  return all;
}

/// A file's matrix.
matrix_to_measure matrix_in(const matrix_file& file, run_size size) {
  const auto read = [path = file.path](int threads) {
    return io::read_matrix_market<double>(path, {.threads = threads});
  };
  const auto why_not = [size, path = file.path](const io::csr_matrix<double>& m) -> std::string {
    if (m.rows != m.columns) return fmt::format("{}: {} x {}, not square", path, m.rows, m.columns);
    if (m.entries() == 0) return fmt::format("{}: no nonzeros", path);
    const std::uint64_t most = most_nonzeros_at(size);
    return m.entries() > most ? fmt::format("{}: {} nonzeros, more than the {} of this size", path, m.entries(), most)
                              : std::string();
  };
  return {{.name = file.name, .is_made = false}, read, {}, why_not};
}

/// The paper's four, which are files of the folder or made in their place; a small run has the two of the fewest
/// nonzeros. Then the other files of the folder.
std::vector<matrix_to_measure> real_matrices(const std::string& data, run_size size) {
  std::vector<matrix_file> files = matrix_files(data);
  std::vector<matrix_to_measure> all;
  for (const matrix_kind& kind : stand_ins()) {
    const auto file = std::ranges::find_if(files, [&](const matrix_file& f) { return kind.name == "like " + f.name; });
    const bool has_too_many = size == run_size::small && kind.nonzeros > most_nonzeros_at(size);
    if (file != files.end()) {
      if (!has_too_many) all.push_back(matrix_in(*file, size));
      files.erase(file);
    } else if (!has_too_many) {
      all.push_back(
          {{.name = kind.name}, [&kind, is_tiny = size == run_size::tiny](int) { return kind.make(is_tiny); }});
    }
  }
  for (const matrix_file& file : files) all.push_back(matrix_in(file, size));
  return all;
}

/// Matrices that are scaled to the last cache, and whose host and device hold them.
void add_scaled(const session& session, std::vector<matrix_to_measure>& all) {
  for (const scaled_shape& scaled : scaled_shapes(session.size, session.ctx.backend(), session.hardware.cache_bytes)) {
    const std::uint64_t host = host_bytes_of(scaled.shape);
    const std::uint64_t device = jobs::works_in_place(session.ctx) ? 0 : device_bytes_of(scaled.shape);
    if (!host_holds(host) || device > session.hardware.memory_bytes) {
      fmt::print("  {} skipped: it takes {} of the host's memory and {} of the device's\n", scaled.name,
                 size_text(host), size_text(device));
      continue;
    }
    matrix_to_measure& added = all.emplace_back();
    added.input.name = scaled.name;
    added.make = [shape = scaled.shape](int) { return scattered_matrix(shape); };
  }
}

}  // namespace

void figure_19(paper_run& run) {
  print_caption("Figure 19. Conjugate gradient benchmark of NAS on the GPU and the CPU",
                "the vector fits the cache, so passes gain nothing; over six times as fast on the GPU, in f32, as on "
                "the CPU\n  in f64, whose threads are around twice as fast as one. Products are over 90 % of the time. "
                "Classes A and B "
                "have 15 and\n  75 systems.");
  if (primitives::spmv_variants().empty()) return;
  std::vector<solve_time> times;
  for (session& s : run.sessions) measure_matrices(run, s, 19, nas_matrices(s.size), times);
  print_cpu_beside_cuda(times);
}

void figure_20(paper_run& run) {
  print_caption("Figure 20. Conjugate gradient with real matrices on the GPU and the CPU",
                "75 systems of 25 iterations, as class B; multi-pass is moderately faster than single-pass, over six "
                "times as fast\n  as the CPU. Here one system of 25 iterations, which has the same rate.");
  if (primitives::spmv_variants().empty()) return;
  fmt::print(
      "  Its matrices are pkustk08, pkustk14, Stanford_Berkeley and nd24k. Those that the folder of data does not have "
      "are made:\n  of as many rows, and of about as many nonzeros a row. Their vectors fit today's caches. Products "
      "by those that\n  are named by the length of their rows alone read x at random, an x larger than the last cache "
      "unless the name says\n  \"reduced\".\n");
  std::vector<solve_time> times;
  for (session& s : run.sessions) {
    const std::string data = data_folder(run.request.data, s.size != run_size::tiny);
    std::vector<matrix_to_measure> matrices = real_matrices(data, s.size);
    const bool has_files = std::ranges::any_of(matrices, [](const matrix_to_measure& m) { return !m.input.is_made; });
    if (!data.empty() && !has_files) fmt::print("  {}/matrices: no matrices, so all are made\n", data);
    if (!run.request.paper_sizes) add_scaled(s, matrices);
    measure_matrices(run, s, 20, std::move(matrices), times);
  }
  print_cpu_beside_cuda(times);
}

}  // namespace sheaf::bench::papers::he2007
