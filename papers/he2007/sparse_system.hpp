#pragma once

#include <optional>

#include "apps/sheaf/context_array.hpp"
#include "lab/harness/placed.hpp"
#include "papers/he2007/figures.hpp"
#include "papers/he2007/product_bytes.hpp"
#include "papers/he2007/solve_ratios.hpp"

// What figures 19 and 20 measure of a matrix: products, systems of 25 iterations, and the benchmark of NAS.
namespace sheaf::bench::papers::he2007 {

constexpr std::uint64_t iterations_of_a_system = 25;

/// A matrix of a figure.
struct sparse_input {
  std::string name;       ///< "NAS, class A"
  bool is_made = true;    ///< by a rule that makes systems of it well conditioned
  bool is_solved = true;  ///< symmetric, so that conjugate gradient may solve its systems
};

/// A matrix with values of one type in a session's memory, with b = 1.
template <class Value>
class sparse_system {
 public:
  sparse_system(paper_run& of_run, const papers::session& on, int figure, const sparse_input& of_input,
                const io::csr_matrix<double>& wide)
      : run(of_run),
        session(on),
        input(of_input),
        matrix(io::with_values<Value>(wide)),
        in_host(jobs::view_of(matrix)),
        placed(on.ctx, matrix),
        ones(std::max(matrix.rows, matrix.columns), 1),
        placed_ones(on.ctx, ones.data(), ones.size()),
        result(on.ctx, matrix.rows),
        figure_(figure) {}
  sparse_system(const sparse_system&) = delete;  // views name its members
  sparse_system& operator=(const sparse_system&) = delete;

  static constexpr value_type type = value_type_of<Value>();
  static constexpr const char* type_name = type == value_type::f64 ? "f64" : "f32";

  const csr_view& a() const { return placed.view; }
  const_values v() const { return {placed_ones.data(), matrix.columns, type}; }
  const_values b() const { return {placed_ones.data(), matrix.rows, type}; }
  values to() const { return result.view(); }
  int threads() const { return context::cpu().threads(); }
  product_sizes sizes() const {
    return {matrix.rows,
            matrix.columns,
            matrix.entries(),
            sizeof(Value),
            bytes(a().column_indices.type),
            bytes(a().row_begins.type)};
  }

  /// Records a time, and prints what is wrong with the answer, if anything. Returns the median.
  double note(const std::string& who, const timing& time, const std::optional<std::string>& mistake,
              double loading_seconds = 0, double largest_error = -1) const {
    if (mistake) fmt::print("  # {}, {} by {}: WRONG: {}\n", input.name, type_name, who, *mistake);
    run.input_results.push_back({.figure = fmt::format("he2007/{}", figure_),
                                 .input = fmt::format("{}, {}", input.name, type_name),
                                 .machine = session.hardware.machine,
                                 .where = std::string(name(session.ctx.backend())),
                                 .backend = session.ctx.backend(),
                                 .who = who,
                                 .loading_seconds = loading_seconds,
                                 .time = time,
                                 .largest_error = largest_error,
                                 .verified = !mistake});
    return time.median_seconds;
  }
  void say(const std::string& who, std::string_view why) const {
    fmt::print("  # {}, {}: {} left out: {}\n", input.name, type_name, who, why);
  }

  paper_run& run;
  const papers::session& session;
  const sparse_input& input;
  io::csr_matrix<Value> matrix;
  csr_view in_host;
  placed_matrix<Value> placed;
  std::vector<Value> ones;
  placed_array<Value> placed_ones;
  mutable placed_result<Value> result;

 private:
  int figure_;
};

/// Calls measure(), whose error says why something is left out where nothing can do it or memory does not suffice.
/// Returns whether it was measured.
template <class System, class Measure>
bool measured_or_left_out(const System& system, const std::string& who, Measure measure) {
  try {
    measure();
    return true;
  } catch (const error& e) {
    if (e.code() != error_code::no_variant && e.code() != error_code::out_of_memory) throw;
    system.say(who, e.what());
    return false;
  }
}

/// The rounds' times of a call; a round has as many calls as last a millisecond.
timing time_of_call(const session& session, const std::function<void()>& call);
/// Billions of operations a second: two for each nonzero of each product.
std::string product_rate(double seconds, std::uint64_t nonzeros, std::uint64_t products = 1);

/// The first column of tables, as wide as the names.
column matrix_column();

std::vector<column> product_columns();
template <class Value>
std::vector<std::string> product_cells(const sparse_system<Value>& system);

std::vector<column> solve_columns(const session& session);
/// None for a matrix of a file whose systems end before all iterations, because it is not positive definite; a line
/// says so.
template <class Value>
std::vector<std::string> solve_cells(const sparse_system<Value>& system, std::vector<solve_time>& times);

/// The benchmark of NAS as a whole: all its systems, and what becomes of zeta.
std::vector<column> benchmark_columns(const session& session);
template <class Value>
std::vector<std::string> benchmark_cells(const sparse_system<Value>& system, std::string_view class_name,
                                         std::vector<solve_time>& times);

}  // namespace sheaf::bench::papers::he2007
