#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/nas.hpp"
#include "core/context_state.hpp"
#include "lab/harness/platform.hpp"
#include "lab/harness/sparse/command.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "lab/harness/sparse/placed_matrix.hpp"
#include "lab/peers/sparse/cublas_solver.hpp"
#include "lab/peers/sparse/eigen_solver.hpp"

namespace sheaf::bench {
namespace {

struct solver {
  enum class judgement : std::uint8_t { peer, ours, reference };

  std::string who;
  std::function<std::uint64_t()> run;  ///< from x = 0; returns the number of iterations
  judgement judged_as = judgement::peer;
  double seconds = std::numeric_limits<double>::infinity();  ///< the least of all rounds
};

/// Runs the solvers in turn, so that what else the machine does falls on all of them alike.
void time_all(std::vector<solver>& all, double seconds) {
  constexpr int least_rounds = 3;
  using clock = std::chrono::steady_clock;
  const auto since = [](clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  };
  const auto begin = clock::now();
  for (int round = 0; round < least_rounds || since(begin) < seconds; ++round) {
    for (solver& s : all) {
      const auto start = clock::now();
      s.run();
      s.seconds = std::min(s.seconds, since(start));
    }
  }
}

/// |b - A x| over |b|, in long sums.
double relative_residual(const io::csr_matrix<double>& m, const std::vector<double>& b, const std::vector<double>& x) {
  const auto& columns = std::get<std::vector<std::uint32_t>>(m.column_indices);
  long double squared = 0;
  long double of_b = 0;
  for (std::uint64_t row = 0; row < m.rows; ++row) {
    long double rest = b[row];
    for (std::uint64_t p = m.row_offsets[row]; p < m.row_offsets[row + 1]; ++p) {
      rest -= static_cast<long double>(m.values[p]) * x[columns[p]];
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

/// Solves and prints a system by all solvers of the place. Returns whether every answer is right.
bool run_system(const context& ctx, double seconds, const system_terms& of) {
  const io::csr_matrix<double>& m = of.matrix;
  const bool is_on_host = ctx.backend() == backend_kind::cpu;
  const placed_matrix<double> placed(ctx, m);
  const csr_view& a = placed.view;
  std::vector<double> found(m.rows);
  const placed_array<double> placed_b(ctx, of.b.data(), m.rows);
  const placed_array<double> placed_x(ctx, found.data(), m.rows);
  const const_values b(placed_b.data(), m.rows, value_type::f64);
  const values x(const_cast<double*>(placed_x.data()), m.rows, value_type::f64);
  const csr_view in_host(m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values);
  std::vector<solver> all;
  const auto terms_of = [&](std::string_view variant) {
    return conjugate_gradient_options{.tolerance = of.tolerance,
                                      .iteration_limit = of.limit,
                                      .preconditioner = of.has_jacobi ? preconditioner::jacobi : preconditioner::none,
                                      .pattern = of.pattern,
                                      .keeps_last = !of.is_judged,  // as the peers do
                                      .variant = variant};
  };
  const auto solve_by_reference = [&](std::vector<double>& solution) {
    return conjugate_gradient(context::cpu(1), in_host, of.b, solution, terms_of("reference.serial")).iterations;
  };
  if (of.is_judged) {
    all.push_back({"reference.serial",
                   [&] {
                     std::vector<double> of_reference(m.rows);
                     const std::uint64_t iterations = solve_by_reference(of_reference);
                     copy_bytes(ctx, x.data, of_reference.data(), m.rows * sizeof(double));
                     return iterations;
                   },
                   solver::judgement::reference});
  }
  const auto add_ours = [&](const context& where, std::string who, std::string variant) {
    all.push_back({std::move(who),
                   [&, where, variant = std::move(variant)] {
                     where.state().fill(x.data, 0, m.rows * sizeof(double));
                     return conjugate_gradient(where, a, b, x, terms_of(variant)).iterations;
                   },
                   solver::judgement::ours});
  };
  const std::uint64_t peer_limit =
      of.limit == conjugate_gradient_options::automatic_limit ? 10 * std::max<std::uint64_t>(10, m.rows) : of.limit;
  const auto peer_terms = [&](int threads) {
    return peers::solver_terms{of.has_jacobi, of.tolerance, peer_limit, threads};
  };
  if (is_on_host) {
    add_ours(ctx, fmt::format("sheaf, {} threads", ctx.threads()), {});
    add_ours(ctx, fmt::format("cpu.separate, {} threads", ctx.threads()), "cpu.separate");
    if (ctx.threads() > 1) add_ours(context::cpu(1), "sheaf, 1 thread", {});
  } else {
    add_ours(ctx, "sheaf", {});
    for (const variant_estimate& estimate : explain_conjugate_gradient(ctx, a, b, x, terms_of({})).variants) {
      const bool is_ours = std::string_view(estimate.variant).starts_with("cuda.") && estimate.applicable;
      if (is_ours) add_ours(ctx, estimate.variant, estimate.variant);
    }
    for (peers::named_solver& peer : peers::cublas_solvers(ctx, a, b, x, peer_terms(1))) {
      all.push_back({std::move(peer.who), std::move(peer.run)});
    }
  }
  std::vector<int> peer_threads;
  if (is_on_host) peer_threads.push_back(1);
  if (is_on_host && ctx.threads() > 1) peer_threads.push_back(ctx.threads());
  for (const int threads : peer_threads) {
    if (auto peer = peers::eigen_solver(a, b, x, peer_terms(threads))) {
      all.push_back({fmt::format("eigen, {} thread{}", threads, threads == 1 ? "" : "s"), std::move(peer)});
    }
  }
  time_all(all, seconds);
  fmt::print("{}: {} rows, {} nonzeros\n", of.name, m.rows, m.entries());
  bool all_right = true;
  double expected = 0;
  if (!of.is_judged) {
    std::vector<double> of_reference(m.rows);
    solve_by_reference(of_reference);
    expected = relative_residual(m, of.b, of_reference);
  }
  std::uint64_t reference_iterations = 0;
  for (const solver& s : all) {
    std::fill(found.begin(), found.end(), std::numeric_limits<double>::quiet_NaN());
    if (!is_on_host) copy_bytes(ctx, x.data, found.data(), m.rows * sizeof(double));
    const std::uint64_t iterations = std::max<std::uint64_t>(1, s.run());
    if (!is_on_host) copy_bytes(ctx, found.data(), x.data, m.rows * sizeof(double));
    const double residual = relative_residual(m, of.b, found);
    if (s.judged_as == solver::judgement::reference) reference_iterations = iterations;
    std::string verdict = "ok";
    std::string beside;
    if (of.is_judged) {
      const double ratio = static_cast<double>(iterations) / static_cast<double>(reference_iterations);
      const bool is_near = ratio >= 0.8 && ratio <= 1.2;
      beside = fmt::format(" ({:.2f} of the reference's)", ratio);
      // A peer ends by the residual of its recurrence, and is not judged.
      if (!(residual <= of.tolerance)) verdict = "residual above the tolerance";
      if (!is_near) verdict += ", other iterations";
      if (s.judged_as != solver::judgement::peer) all_right = all_right && residual <= of.tolerance && is_near;
    } else {
      // After as many steps, rounding alone tells solvers apart. Where residuals are all rounding, it is a few digits.
      // NaN is no number that is small enough.
      const bool is_right = residual <= std::max({10 * expected, 10 * of.tolerance, 1e-12});
      if (!is_right) verdict = "WRONG";
      all_right = all_right && is_right;
    }
    fmt::print("  {:<32} {:9.3f} ms, {:5} iterations{}, {:8.4f} ms each, residual {:.2e} of |b|  {}\n", s.who,
               s.seconds * 1e3, iterations, beside, s.seconds * 1e3 / static_cast<double>(iterations), residual,
               verdict);
  }
  return all_right;
}

bool run_matrix(const context& ctx, const solve_request& request, const std::string& name,
                const io::csr_matrix<double>& m, access_pattern pattern = access_pattern::unknown()) {
  return run_system(
      ctx, request.seconds,
      {name, m, std::vector<double>(m.rows, 1), request.tolerance, request.limit, request.has_jacobi, false, pattern});
}

/// A file's matrix, if conjugate gradient takes it.
io::csr_matrix<double> read_system(const std::string& file) {
  io::csr_matrix<double> m = io::read_matrix_market<double>(file);
  if (m.rows != m.columns) {
    throw error(error_code::bad_input,
                fmt::format("{}: the matrix has {} rows and {} columns, not as many", file, m.rows, m.columns));
  }
  if (m.rows == 0) throw error(error_code::bad_input, fmt::format("{}: the matrix has no rows", file));
  if (const auto asymmetry = jobs::asymmetry_of({m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values})) {
    throw error(error_code::bad_input, fmt::format("{}: {}", file, *asymmetry));
  }
  return m;
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
      const io::csr_matrix<double> m = read_system(file.string());
      std::vector<double> b(m.rows);
      spmv(context::cpu(1), {m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values},
           std::vector<double>(m.columns, 1), b);
      all_right = run_system(ctx, request.seconds,
                             {name, m, std::move(b), request.tolerance, conjugate_gradient_options::automatic_limit,
                              true, true}) &&
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
    io::csr_matrix<double> m = kind.make(quick);
    const auto& columns = std::get<std::vector<std::uint32_t>>(m.column_indices);
    for (std::uint64_t row = 0; row < m.rows; ++row) {
      for (std::uint64_t p = m.row_offsets[row]; p < m.row_offsets[row + 1]; ++p)
        m.values[p] = columns[p] == row ? 6 : -1;
    }
    return m;
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
    if (std::find(request.classes.begin(), request.classes.end(), name) == request.classes.end()) continue;
    const io::csr_matrix<double> m = jobs::nas_matrix(jobs::nas_class_named(name), ctx.threads());
    all_right =
        run_matrix(ctx, request, fmt::format("NAS CG, class {}", name), m, access_pattern::random()) && all_right;
  }
  return all_right;
}

}  // namespace sheaf::bench
