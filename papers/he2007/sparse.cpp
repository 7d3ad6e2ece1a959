#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/context_array.hpp"
#include "apps/sheaf/nas.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "papers/he2007/figures.hpp"
#include "primitives/sparse/spmv.hpp"

// Section 4.3, figures 19 and 20: sparse matrix-vector products in two steps, a gather and sums of rows, within the
// conjugate gradient benchmark of NAS, whose systems are solved by 25 iterations each. The paper's GPU has f32 and its
// CPU f64, so both are measured.
namespace sheaf::bench::papers::he2007 {
namespace {

constexpr std::uint64_t iterations_of_a_system = 25;

/// The rounds' times of a call; a round has as many calls as last a millisecond.
timing time_of_call(const context& ctx, run_size size, const std::function<void()>& call) {
  using clock = std::chrono::steady_clock;
  const auto timed = [&](std::uint64_t calls) {
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) call();
    ctx.wait();
    return std::chrono::duration<double>(clock::now() - begin).count() / static_cast<double>(calls);
  };
  timed(1);
  const double first = timed(1);
  if (size == run_size::tiny) return {first, first, first, 1};
  const std::uint64_t rounds = size == run_size::small ? 3 : 9;
  constexpr double least_seconds = 1e-3;
  const auto calls = static_cast<std::uint64_t>(1 + least_seconds / std::max(first, 1e-7));
  std::vector<double> all;
  all.reserve(rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) all.push_back(timed(calls));
  std::ranges::sort(all);
  return {all[rounds / 2], all.front(), all.back(), calls * rounds};
}

/// Two operations for each nonzero.
std::string rate(double seconds, std::uint64_t nonzeros) {
  return fmt::format("{:.2f}", 2 * static_cast<double>(nonzeros) / seconds * 1e-9);
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
    context made = ctx.backend() == backend_kind::cuda ? context::cuda(ctx.device()) : context::cpu(ctx.threads());
    restore();
    return made;
  } catch (...) {
    restore();
    throw;
  }
}

/// Products with a matrix and solutions of its systems, in a session's memory.
template <class Value>
class measured_matrix {
 public:
  measured_matrix(paper_run& run, const session& session, int figure, const std::string& matrix,
                  const io::csr_matrix<double>& wide)
      : run_(run),
        session_(session),
        figure_(figure),
        matrix_name_(matrix),
        matrix_(io::with_values<Value>(wide)),
        in_host_(jobs::view_of(matrix_)),
        placed_(session.ctx, matrix_),
        ones_(matrix_.rows, 1),
        zeros_(matrix_.rows, 0),
        result_(zeros_),
        b_(session.ctx, ones_.data(), matrix_.rows),
        x_(session.ctx, result_.data(), matrix_.rows),
        from_(b_.data(), matrix_.rows, type),
        to_(const_cast<Value*>(x_.data()), matrix_.rows, type),
        two_step_(fmt::format("{}.two_step", name(session.ctx.backend()))) {}

  std::vector<std::string> cells() {
    const explanation why = explain_spmv(session_.ctx, placed_.view, from_, to_);
    const answer chosen = product_in(session_.ctx, "sheaf", {});
    std::vector<std::string> all{
        matrix_name_,
        type == value_type::f64 ? "f64" : "f32",
        count_text(matrix_.entries()),
        fmt::format("{:.0f}", static_cast<double>(matrix_.entries()) / static_cast<double>(matrix_.rows)),
        can_do_two_steps(session_.ctx) ? rate_of(product_in(session_.ctx, two_step_, two_step_)) : "-",
        two_step_by("direct"),
        two_step_by("multipass"),
        rate_of(chosen),
        std::string(why.choice() == nullptr ? "" : why.choice()->variant)};
    try {
      const answer solved = solution();
      const double products = chosen.seconds * static_cast<double>(iterations_of_a_system + 1);
      all.push_back(fmt::format("{:.3f} ms{}", solved.seconds * 1e3, solved.is_right ? "" : " WRONG"));
      all.push_back(percent_text(products / solved.seconds));
    } catch (const error& e) {
      if (e.code() != error_code::no_variant) throw;
      all.insert(all.end(), {"-", "-"});
    }
    return all;
  }

 private:
  static constexpr value_type type = value_type_of<Value>();

  struct answer {
    double seconds;
    bool is_right;
  };

  bool is_apart() const { return to_.data != result_.data(); }

  bool can_do_two_steps(const context& ctx) const {
    const auto estimates = explain_spmv(ctx, placed_.view, from_, to_).variants;
    return std::ranges::any_of(estimates,
                               [&](const variant_estimate& v) { return v.variant == two_step_ && v.applicable; });
  }

  std::string rate_of(const answer& a) const {
    return rate(a.seconds, matrix_.entries()) + (a.is_right ? "" : " WRONG");
  }

  answer note(const std::string& who, const timing& time, const std::optional<std::string>& mistake) {
    if (mistake)
      fmt::print("  # {}, {} by {}: {}\n", matrix_name_, type == value_type::f64 ? "f64" : "f32", who, *mistake);
    run_.input_results.push_back({.figure = fmt::format("he2007/{}", figure_),
                                  .input = fmt::format("{}, {}", matrix_name_, type == value_type::f64 ? "f64" : "f32"),
                                  .machine = session_.hardware.machine,
                                  .where = std::string(name(session_.ctx.backend())),
                                  .backend = session_.ctx.backend(),
                                  .who = who,
                                  .time = time,
                                  .verified = !mistake});
    return {time.median_seconds, !mistake};
  }

  answer product_in(const context& where, const std::string& who, std::string_view variant) {
    std::ranges::fill(result_, std::numeric_limits<Value>::quiet_NaN());
    if (is_apart()) copy_bytes(session_.ctx, to_.data, result_.data(), matrix_.rows * sizeof(Value));
    const timing time =
        time_of_call(where, session_.size, [&] { spmv(where, placed_.view, from_, to_, {.variant = variant}); });
    if (is_apart()) copy_bytes(session_.ctx, result_.data(), to_.data, matrix_.rows * sizeof(Value));
    return note("product by " + who, time, jobs::product_mistake(in_host_, ones_, result_, {}));
  }

  std::string two_step_by(const std::string& gather) {
    if (!can_do_two_steps(session_.ctx)) return "-";
    const context where = with_gather(session_.ctx, fmt::format("{}.{}", name(session_.ctx.backend()), gather));
    if (!can_do_two_steps(where)) return "-";
    return rate_of(product_in(where, fmt::format("{}, {}", two_step_, gather), two_step_));
  }

  /// 25 iterations from 0.
  answer solution() {
    conjugate_gradient_result solved;
    const timing time = time_of_call(session_.ctx, session_.size, [&] {
      copy_bytes(session_.ctx, to_.data, zeros_.data(), matrix_.rows * sizeof(Value));
      solved = conjugate_gradient(session_.ctx, placed_.view, from_, to_,
                                  {.tolerance = 0, .iteration_limit = iterations_of_a_system});
    });
    if (is_apart()) copy_bytes(session_.ctx, result_.data(), to_.data, matrix_.rows * sizeof(Value));
    std::optional<std::string> mistake = jobs::solution_mistake(in_host_, ones_, result_, solved.residual);
    if (solved.iterations != iterations_of_a_system) {
      mistake =
          fmt::format("{} after {} iterations, not {}", name(solved.reason), solved.iterations, iterations_of_a_system);
    } else if (!mistake && !(solved.residual <= solved.b_norm)) {  // which is that of the start
      mistake = fmt::format("|b - A x| is {}, and |b| is {}", solved.residual, solved.b_norm);
    }
    return note("conjugate gradient by " + solved.variant, time, mistake);
  }

  paper_run& run_;
  const session& session_;
  int figure_;
  const std::string& matrix_name_;
  io::csr_matrix<Value> matrix_;
  csr_view in_host_;
  placed_matrix<Value> placed_;
  std::vector<Value> ones_;
  std::vector<Value> zeros_;
  std::vector<Value> result_;  ///< on the CPU what x is
  placed_array<Value> b_;
  placed_array<Value> x_;
  const_values from_;
  values to_;
  std::string two_step_;
};

/// A matrix and its name.
using named_matrix = std::pair<std::string, std::function<io::csr_matrix<double>(int threads)>>;

void measure_matrices(paper_run& run, int figure, std::vector<named_matrix> (*matrices_at)(run_size)) {
  for (session& session : run.sessions) {
    if (primitives::spmv_variants().empty()) continue;
    print_place(
        session,
        "GFLOP/s of products, by two_step with the gather that the planner takes, a single-pass and a multi-pass "
        "one;\n  25 iterations of conjugate gradient, and the share that 26 products are of them");
    const table rows({"matrix", "values", "nonzeros", "a row", "two_step", "by direct", "by multipass", "choice",
                      "variant", "25 iterations", "products in it"});
    for (const auto& [matrix, make] : matrices_at(session.size)) {
      const io::csr_matrix<double> m = make(session.ctx.threads());
      rows.row(measured_matrix<float>(run, session, figure, matrix, m).cells());
      rows.row(measured_matrix<double>(run, session, figure, matrix, m).cells());
    }
  }
}

/// Those of the classes: the paper's are A and B, of 1.9 and 13.7 million nonzeros; C has 36.7.
std::vector<named_matrix> nas_matrices(run_size size) {
  const auto classes = [&]() -> std::vector<std::string_view> {
    switch (size) {
      case run_size::tiny: return {"S"};
      case run_size::small: return {"W", "A"};
      case run_size::device: return {"A", "B", "C"};
      default: return {"A", "B"};
    }
  };
  std::vector<named_matrix> matrices;
  for (const std::string_view name : classes()) {
    matrices.emplace_back(fmt::format("NAS, class {}", name),
                          [name](int threads) { return jobs::nas_matrix(jobs::nas_class_named(name), threads); });
  }
  return matrices;
}

/// Those in place of the paper's; a small run has the two of the fewest nonzeros.
std::vector<named_matrix> real_matrices(run_size size) {
  constexpr std::uint64_t most_small_nonzeros = 8 * million;
  std::vector<named_matrix> matrices;
  for (const matrix_kind& kind : stand_ins()) {
    if (size == run_size::small && kind.nonzeros > most_small_nonzeros) continue;
    matrices.emplace_back(kind.name, [&kind, is_tiny = size == run_size::tiny](int) { return kind.make(is_tiny); });
  }
  return matrices;
}

}  // namespace

void figure_19(paper_run& run) {
  print_caption("Figure 19. Conjugate gradient benchmark of NAS on the GPU and the CPU",
                "the vector fits the cache, so passes gain nothing; over six times as fast on the GPU, in f32, as on "
                "the CPU\n  in f64. Products are over 90 % of the time.");
  measure_matrices(run, 19, nas_matrices);
}

void figure_20(paper_run& run) {
  print_caption(
      "Figure 20. Conjugate gradient with real matrices on the GPU and the CPU",
      "multi-pass is moderately faster than single-pass, over six times as fast as the CPU. The matrices "
      "here are\n  made: of the rows of pkustk08, pkustk14, Stanford_Berkeley and nd24k, and of about as many "
      "nonzeros a row.");
  measure_matrices(run, 20, real_matrices);
}

}  // namespace sheaf::bench::papers::he2007
