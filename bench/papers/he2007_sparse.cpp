#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "bench/papers/he2007.hpp"
#include "bench/sparse/matrices.hpp"
#include "bench/sparse/placed_matrix.hpp"
#include "jobs/checks/spmv.hpp"
#include "jobs/nas/matrix.hpp"
#include "primitives/sparse/spmv.hpp"

// Section 4.3, figures 19 and 20: sparse matrix-vector products in two steps, a gather and sums of rows, within the
// conjugate gradient benchmark of NAS, whose systems are solved by 25 iterations each. The paper's GPU has f32 and its
// CPU f64, so both are measured.
namespace sheaf::bench::papers::he2007 {
namespace {

constexpr std::uint64_t iterations_of_a_system = 25;

/// The median of the rounds; a round has as many calls as last a millisecond.
double seconds_of(const context& ctx, bool is_quick, const std::function<void()>& call) {
  using clock = std::chrono::steady_clock;
  const auto timed = [&](std::uint64_t calls) {
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) call();
    ctx.wait();
    return std::chrono::duration<double>(clock::now() - begin).count() / static_cast<double>(calls);
  };
  timed(1);
  if (is_quick) return timed(1);
  constexpr int rounds = 9;
  constexpr double least_seconds = 1e-3;
  const auto calls = static_cast<std::uint64_t>(1 + least_seconds / std::max(timed(1), 1e-7));
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) all.push_back(timed(calls));
  std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
  return all[rounds / 2];
}

/// Two operations for each nonzero.
std::string rate(double seconds, std::uint64_t nonzeros) {
  return fmt::format("{:.2f}", 2 * static_cast<double>(nonzeros) / seconds * 1e-9);
}

template <class Value>
io::csr_matrix<Value> with_values(const io::csr_matrix<double>& m) {
  io::csr_matrix<Value> narrow;
  narrow.rows = m.rows;
  narrow.columns = m.columns;
  narrow.row_offsets = m.row_offsets;
  narrow.column_indices = m.column_indices;
  narrow.values.assign(m.values.begin(), m.values.end());
  return narrow;
}

/// A context of the same backend whose gathers are by this variant alone: "cpu.multipass". What forces variants is read
/// when a context is made.
context with_gather(const context& ctx, const std::string& variant) {
  constexpr const char* forces = "SHEAF_VARIANT";
  const char* const set = std::getenv(forces);
  const std::string before = set == nullptr ? "" : set;
  setenv(forces, ("gather:" + variant).c_str(), 1);
  const auto restore = [&] { set == nullptr ? unsetenv(forces) : setenv(forces, before.c_str(), 1); };
  try {
    const context made =
        ctx.backend() == backend_kind::cuda ? context::cuda(ctx.device()) : context::cpu(ctx.threads());
    restore();
    return made;
  } catch (...) {
    restore();
    throw;
  }
}

template <class Value>
void measure_matrix(const session& s, const std::string& matrix, const io::csr_matrix<double>& wide, bool is_quick,
                    const table& rows) {
  const context& ctx = s.ctx;
  const io::csr_matrix<Value> m = with_values<Value>(wide);
  const placed_matrix<Value> placed(ctx, m);
  const csr_view& a = placed.view;
  const std::vector<Value> ones(m.rows, 1);
  const std::vector<Value> zeros(m.rows, 0);
  const placed_array<Value> b(ctx, ones.data(), m.rows);
  std::vector<Value> result = zeros;
  const placed_array<Value> x(ctx, result.data(), m.rows);
  const value_type type = value_type_of<Value>();
  const const_values from(b.data(), m.rows, type);
  const values to(const_cast<Value*>(x.data()), m.rows, type);
  const csr_view in_host(m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values);
  const auto product_in = [&](const context& where, std::string_view variant) {
    std::fill(result.begin(), result.end(), std::numeric_limits<Value>::quiet_NaN());
    if (to.data != result.data()) copy_bytes(ctx, to.data, result.data(), m.rows * sizeof(Value));
    const double seconds = seconds_of(where, is_quick, [&] { spmv(where, a, from, to, {.variant = variant}); });
    if (to.data != result.data()) copy_bytes(ctx, result.data(), to.data, m.rows * sizeof(Value));
    if (const auto mistake = jobs::product_mistake(in_host, ones, result, {})) {
      throw error(error_code::internal, fmt::format("{}: a wrong product: {}", matrix, *mistake));
    }
    return seconds;
  };
  const std::string two_step = fmt::format("{}.two_step", name(ctx.backend()));
  const explanation why = explain_spmv(ctx, a, from, to);
  const bool has_two_step = std::any_of(why.variants.begin(), why.variants.end(), [&](const variant_estimate& v) {
    return v.variant == two_step && v.applicable;
  });
  const auto two_step_by = [&](std::string_view gather) {
    if (!has_two_step) return std::string("-");
    const context where = with_gather(ctx, fmt::format("{}.{}", name(ctx.backend()), gather));
    const auto estimates = explain_spmv(where, a, from, to).variants;
    const bool can_run = std::any_of(estimates.begin(), estimates.end(),
                                     [&](const variant_estimate& v) { return v.variant == two_step && v.applicable; });
    return can_run ? rate(product_in(where, two_step), m.entries()) : "-";
  };
  const double chosen = product_in(ctx, {});
  std::vector<std::string> cells{matrix,
                                 type == value_type::f64 ? "f64" : "f32",
                                 count_text(m.entries()),
                                 fmt::format("{:.0f}", static_cast<double>(m.entries()) / static_cast<double>(m.rows)),
                                 has_two_step ? rate(product_in(ctx, two_step), m.entries()) : "-",
                                 two_step_by("direct"),
                                 two_step_by("multipass"),
                                 rate(chosen, m.entries()),
                                 std::string(why.choice() == nullptr ? "" : why.choice()->variant)};
  try {
    const double solved = seconds_of(ctx, is_quick, [&] {
      copy_bytes(ctx, to.data, zeros.data(), m.rows * sizeof(Value));
      conjugate_gradient(ctx, a, from, to, {.tolerance = 0, .iteration_limit = iterations_of_a_system});
    });
    const double products = chosen * static_cast<double>(iterations_of_a_system + 1);
    cells.push_back(fmt::format("{:.3f} ms", solved * 1e3));
    cells.push_back(percent_text(products / solved));
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    cells.insert(cells.end(), {"-", "-"});
  }
  rows.row(cells);
}

/// A matrix and its name.
using named_matrix = std::pair<std::string, std::function<io::csr_matrix<double>(int threads)>>;

void measure_matrices(paper_run& run, const std::vector<named_matrix>& matrices) {
  for (session& s : run.sessions) {
    if (primitives::spmv_variants().empty()) continue;
    print_place(
        s,
        "GFLOP/s of products, by two_step with the gather that the planner takes, a single-pass and a multi-pass "
        "one;\n  25 iterations of conjugate gradient, and the share that 26 products are of them");
    const table rows({"matrix", "values", "nonzeros", "a row", "two_step", "by direct", "by multipass", "choice",
                      "variant", "25 iterations", "products in it"});
    for (const auto& [matrix, make] : matrices) {
      const io::csr_matrix<double> m = make(s.ctx.threads());
      measure_matrix<float>(s, matrix, m, run.request.quick, rows);
      if (s.ctx.backend() != backend_kind::opengl) measure_matrix<double>(s, matrix, m, run.request.quick, rows);
    }
  }
}

}  // namespace

void figure_19(paper_run& run) {
  print_caption("Figure 19. Conjugate gradient benchmark of NAS on the GPU and the CPU",
                "the vector fits the cache, so passes gain nothing; over six times as fast on the GPU, in f32, as on "
                "the CPU\n  in f64. Products are over 90 % of the time.");
  std::vector<named_matrix> matrices;
  for (const std::string_view name :
       run.request.quick ? std::vector<std::string_view>{"S"} : std::vector<std::string_view>{"A", "B"}) {
    matrices.emplace_back(fmt::format("NAS, class {}", name),
                          [name](int threads) { return jobs::nas_matrix(jobs::nas_class_named(name), threads); });
  }
  measure_matrices(run, matrices);
}

void figure_20(paper_run& run) {
  print_caption(
      "Figure 20. Conjugate gradient with real matrices on the GPU and the CPU",
      "multi-pass is moderately faster than single-pass, over six times as fast as the CPU. The matrices "
      "here are\n  made: of the rows of pkustk08, pkustk14, Stanford_Berkeley and nd24k, and of about as many "
      "nonzeros a row.");
  std::vector<named_matrix> matrices;
  for (const matrix_kind& kind : stand_ins()) {
    matrices.emplace_back(kind.name, [&kind, quick = run.request.quick](int) { return kind.make(quick); });
  }
  measure_matrices(run, matrices);
}

}  // namespace sheaf::bench::papers::he2007
