#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/nas.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/platform.hpp"
#include "lab/harness/requests.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "lab/harness/timed_call.hpp"
#include "lab/peers/sparse/cublas_solver.hpp"
#include "lab/peers/sparse/eigen.hpp"

namespace sheaf::bench {
namespace {

struct solver {
  enum class judgement : std::uint8_t { peer, ours, reference };

  std::string who;
  std::function<std::uint64_t()> run;  ///< from x = 0; returns the number of iterations
  judgement judged_as = judgement::peer;
  double seconds = std::numeric_limits<double>::infinity();  ///< the least of all rounds
};

/// |b - A x| over |b|, in long sums.
double relative_residual(const io::csr_matrix<double>& matrix, const std::vector<double>& b,
                         const std::vector<double>& x) {
  const auto& columns = std::get<std::vector<std::uint32_t>>(matrix.column_indices);
  long double squared = 0;
  long double of_b = 0;
  for (std::uint64_t row = 0; row < matrix.rows; ++row) {
    long double rest = b[row];
    for (std::uint64_t p = matrix.row_offsets[row]; p < matrix.row_offsets[row + 1]; ++p) {
      rest -= static_cast<long double>(matrix.values[p]) * x[columns[p]];
    }
    squared += rest * rest;
    of_b += static_cast<long double>(b[row]) * b[row];
  }
  return static_cast<double>(std::sqrt(squared / of_b));
}

/// A system to be solved, and to what end.
struct system_terms {
  std::string name;
  const io::csr_matrix<double>& matrix;
  std::vector<double> b;
  double tolerance;
  std::uint64_t limit;
  bool has_jacobi;
  /// Each row has to reach the tolerance, in about as many iterations as the serial reference, which is the first. Else
  /// each has to come as far as the reference does, which is not timed.
  bool is_judged;
  access_pattern pattern = access_pattern::unknown();  ///< of the columns, as far as a caller would know
};

/// A system in the memory of a context, and its solvers, which refer to it.
class placed_system {
 public:
  placed_system(const context& ctx, const system_terms& of)
      : ctx_(ctx),
        of_(of),
        in_host_(of.matrix.rows, of.matrix.columns, of.matrix.row_offsets, of.matrix.columns_of_entries(),
                 of.matrix.values),
        placed_(ctx, of.matrix),
        placed_b_(ctx, of.b.data(), of.b.size()),
        x_(ctx, of.matrix.rows) {}

  bool is_on_host() const { return ctx_.backend() == backend_kind::cpu; }
  /// By the serial reference, on any backend.
  std::vector<double> reference_solution(std::uint64_t* iterations = nullptr) const {
    std::vector<double> solution(in_host_.rows);
    const auto found = conjugate_gradient(context::cpu(1), in_host_, of_.b, solution, terms_of("reference.serial"));
    if (iterations != nullptr) *iterations = found.iterations;
    return solution;
  }
  /// The solution of a solver.
  const std::vector<double>& solved_by(const solver& s, std::uint64_t& iterations) {
    x_.wipe();
    iterations = std::max<std::uint64_t>(1, s.run());
    return x_.read();
  }

  void add_reference(std::vector<solver>& all) const {
    const auto run = [this] {
      std::uint64_t iterations = 0;
      const std::vector<double> solution = reference_solution(&iterations);
      copy_bytes(ctx_, x_.view().data, solution.data(), solution.size() * sizeof(double));
      return iterations;
    };
    all.push_back({"reference.serial", run, solver::judgement::reference});
  }

  void add_ours(std::vector<solver>& all) const {
    const auto add = [&](const context& where, std::string who, const std::string& variant) {
      const auto run = [this, where, variant] {
        where.state().fill(x_.view().data, 0, x_.view().count * sizeof(double));
        return conjugate_gradient(where, placed_.view, b(), x_.view(), terms_of(variant)).iterations;
      };
      all.push_back({std::move(who), run, solver::judgement::ours});
    };
    if (is_on_host()) {
      add(ctx_, fmt::format("sheaf, {} threads", ctx_.threads()), {});
      add(ctx_, fmt::format("cpu.separate, {} threads", ctx_.threads()), "cpu.separate");
      if (ctx_.threads() > 1) add(context::cpu(1), "sheaf, 1 thread", {});
      return;
    }
    add(ctx_, "sheaf", {});
    for (const variant_estimate& estimate :
         explain_conjugate_gradient(ctx_, placed_.view, b(), x_.view(), terms_of({})).variants) {
      const bool is_ours = std::string_view(estimate.variant).starts_with("cuda.") && estimate.applicable;
      if (is_ours) add(ctx_, estimate.variant, estimate.variant);
    }
  }

  void add_peers(std::vector<solver>& all) const {
    const std::uint64_t limit = of_.limit == conjugate_gradient_options::automatic_limit
                                    ? 10 * std::max<std::uint64_t>(10, in_host_.rows)
                                    : of_.limit;
    const auto terms = [&](int threads) { return peers::solver_terms{of_.has_jacobi, of_.tolerance, limit, threads}; };
    if (!is_on_host()) {
      for (peers::named_solver& peer : peers::cublas_solvers(ctx_, placed_.view, b(), x_.view(), terms(1))) {
        all.push_back({std::move(peer.who), std::move(peer.run)});
      }
      return;
    }
    std::vector<int> peer_threads{1};
    if (ctx_.threads() > 1) peer_threads.push_back(ctx_.threads());
    for (const int threads : peer_threads) {
      if (auto peer = peers::eigen_solver(placed_.view, b(), x_.view(), terms(threads))) {
        all.push_back({fmt::format("eigen, {} thread{}", threads, threads == 1 ? "" : "s"), std::move(peer)});
      }
    }
  }

 private:
  const_values b() const { return {placed_b_.data(), of_.b.size(), value_type::f64}; }
  conjugate_gradient_options terms_of(std::string_view variant) const {
    return {.tolerance = of_.tolerance,
            .iteration_limit = of_.limit,
            .preconditioner = of_.has_jacobi ? preconditioner::jacobi : preconditioner::none,
            .pattern = of_.pattern,
            .keeps_last = !of_.is_judged,  // as the peers do
            .variant = variant};
  }

  context ctx_;
  const system_terms& of_;
  csr_view in_host_;
  placed_matrix<double> placed_;
  placed_array<double> placed_b_;
  placed_result<double> x_;
};

/// What a row says of a solution, and whether it is right.
struct verdict {
  std::string text = "ok";
  std::string beside = {};
  bool is_right = true;
};

/// Beside the reference, which ends at the same tolerance.
verdict judged(const system_terms& of, const solver& solver, double residual, double iterations,
               double iterations_of_reference) {
  const double ratio = iterations / iterations_of_reference;
  const bool is_near = ratio >= 0.8 && ratio <= 1.2;
  verdict verdict{.beside = fmt::format(" ({:.2f} of the reference's)", ratio)};
  // A peer ends by the residual of its recurrence, and is not judged.
  if (!(residual <= of.tolerance)) verdict.text = "residual above the tolerance";
  if (!is_near) verdict.text = verdict.text == "ok" ? "other iterations" : verdict.text + ", other iterations";
  verdict.is_right = solver.judged_as == solver::judgement::peer || (residual <= of.tolerance && is_near);
  return verdict;
}

/// After equally many steps, solvers differ by rounding alone. Where residuals are all rounding, these differ by a few
/// digits. NaN is not small enough.
verdict compared(const system_terms& of, double residual, double expected) {
  // A reference that met a breakdown at once has x = 0, whose residual is |b|.
  if (std::isnan(expected) || expected == 1) return {"not solved, nor by the reference", {}, false};
  const bool is_right = residual <= std::max({10 * expected, 10 * of.tolerance, 1e-12});
  return {is_right ? "ok" : "WRONG", {}, is_right};
}

/// Prints a row for each solver. Returns whether every answer is right.
bool print_rows(placed_system& system, const system_terms& of, const std::vector<solver>& all) {
  const double expected = of.is_judged ? 0 : relative_residual(of.matrix, of.b, system.reference_solution());
  std::uint64_t iterations_of_reference = 0;
  bool all_right = true;
  for (const solver& solver : all) {
    std::uint64_t iterations = 0;
    const double residual = relative_residual(of.matrix, of.b, system.solved_by(solver, iterations));
    if (solver.judged_as == solver::judgement::reference) iterations_of_reference = iterations;
    const verdict verdict = of.is_judged ? judged(of, solver, residual, static_cast<double>(iterations),
                                                  static_cast<double>(iterations_of_reference))
                                         : compared(of, residual, expected);
    all_right = all_right && verdict.is_right;
    fmt::print("  {:<32} {:9.3f} ms, {:5} iterations{}, {:8.4f} ms each, residual {:.2e} of |b|  {}\n", solver.who,
               solver.seconds * 1e3, iterations, verdict.beside, solver.seconds * 1e3 / static_cast<double>(iterations),
               residual, verdict.text);
  }
  return all_right;
}

/// Solves and prints a system by all solvers of the place. Returns whether every answer is right.
bool run_system(const context& ctx, double seconds, const system_terms& of) {
  placed_system system(ctx, of);
  std::vector<solver> all;
  if (of.is_judged) system.add_reference(all);
  system.add_ours(all);
  system.add_peers(all);
  keep_least_seconds(all, seconds, [](const solver& s) {
    const double begin = now();
    s.run();
    return now() - begin;
  });
  fmt::print("{}: {} rows, {} nonzeros\n", of.name, of.matrix.rows, of.matrix.entries());
  return print_rows(system, of, all);
}

bool run_matrix(const context& ctx, const solve_request& request, const std::string& name,
                const io::csr_matrix<double>& m, access_pattern pattern = access_pattern::unknown()) {
  return run_system(
      ctx, request.seconds,
      {name, m, std::vector<double>(m.rows, 1), request.tolerance, request.limit, request.has_jacobi, false, pattern});
}

/// A file's matrix, if conjugate gradient takes it.
io::csr_matrix<double> read_system(const std::string& file) {
  io::csr_matrix<double> matrix = io::read_matrix_market<double>(file);
  if (matrix.rows != matrix.columns) {
    throw error(error_code::bad_input,
                fmt::format("{}: the matrix is {} x {}, not square", file, matrix.rows, matrix.columns));
  }
  if (matrix.rows == 0) throw error(error_code::bad_input, fmt::format("{}: the matrix has no rows", file));
  if (const auto asymmetry = jobs::asymmetry_of(
          {matrix.rows, matrix.columns, matrix.row_offsets, matrix.columns_of_entries(), matrix.values})) {
    throw error(error_code::bad_input, fmt::format("{}: {}", file, *asymmetry));
  }
  return matrix;
}

/// Of what is in the folder, the matrices that are symmetric positive definite.
bool run_real(const context& ctx, const solve_request& request) {
  const char* const named = std::getenv("SHEAF_DATA_DIR");
  const std::string data = !request.data.empty() || named == nullptr ? request.data : named;
  if (data.empty())
    throw error(error_code::bad_input, "solve --real: neither --data nor SHEAF_DATA_DIR names a folder");
  const std::filesystem::path folder = std::filesystem::path(data) / "matrices";
  bool all_right = true;
  int found = 0;
  for (const char* const name : {"494_bus", "1138_bus", "bcsstk13", "bcsstk15", "bcsstk16", "ex9", "msc01050"}) {
    for (const char* const ending : {".mtx", ".mtx.gz"}) {
      const std::filesystem::path file = folder / (std::string(name) + ending);
      if (!std::filesystem::is_regular_file(file)) continue;
      ++found;
      const io::csr_matrix<double> matrix = read_system(file.string());
      std::vector<double> b(matrix.rows);
      spmv(context::cpu(1),
           {matrix.rows, matrix.columns, matrix.row_offsets, matrix.columns_of_entries(), matrix.values},
           std::vector<double>(matrix.columns, 1), b);
      all_right = run_system(ctx, request.seconds,
                             {name, matrix, std::move(b), request.tolerance,
                              conjugate_gradient_options::automatic_limit, true, true}) &&
                  all_right;
      break;
    }
  }
  if (found == 0) {
    throw error(error_code::bad_input, fmt::format("solve --real: {}: none of the matrices is there", folder.string()));
  }
  return all_right;
}

/// The Laplacian of a grid of 10^6 points.
io::csr_matrix<double> laplacian(bool quick) {
  for (const matrix_kind& kind : matrix_kinds()) {
    if (kind.name != "7-point grid") continue;
    io::csr_matrix<double> matrix = kind.make(quick);
    const auto& columns = std::get<std::vector<std::uint32_t>>(matrix.column_indices);
    for (std::uint64_t row = 0; row < matrix.rows; ++row) {
      for (std::uint64_t p = matrix.row_offsets[row]; p < matrix.row_offsets[row + 1]; ++p)
        matrix.values[p] = columns[p] == row ? 6 : -1;
    }
    return matrix;
  }
  throw error(error_code::internal, "solve: no grid among the matrices");
}

}  // namespace

bool run_solve(const context& ctx, const solve_request& request) {
  if (request.is_real) {
    fmt::print("conjugate gradient of real systems, Jacobi, b = A * 1, tolerance {}, {}\n", request.tolerance,
               platform_of(ctx).machine);
    return run_real(ctx, request);
  }
  fmt::print("conjugate gradient, {}, tolerance {}, at most {} iterations, {}\n",
             request.has_jacobi ? "Jacobi" : "no preconditioner", request.tolerance, request.limit,
             platform_of(ctx).machine);
  bool all_right = true;
  for (const std::string& file : request.files) {
    all_right = run_matrix(ctx, request, file, read_system(file)) && all_right;
  }
  if (!request.files.empty()) return all_right;
  all_right = run_matrix(ctx, request, "7-point grid", laplacian(request.quick));
  for (const char* const name : {"S", "W", "A", "B", "C"}) {
    if (std::ranges::find(request.classes, name) == request.classes.end()) continue;
    const io::csr_matrix<double> m = jobs::nas_matrix(jobs::nas_class_named(name), ctx.threads());
    all_right =
        run_matrix(ctx, request, fmt::format("NAS CG, class {}", name), m, access_pattern::random()) && all_right;
  }
  return all_right;
}

}  // namespace sheaf::bench
