#include <sheaf/conjugate_gradient.hpp>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/ranks/systems.hpp"
#include "apps/sheaf/subcommands/files/vector_file.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "apps/sheaf/subcommands/system_plan.hpp"

// The subcommand solve: linear systems with matrices of MatrixMarket files.
namespace sheaf::cli {
namespace {

constexpr const char* solve_footer =
    "MATRIX is a MatrixMarket file (.mtx), gzip or not, of a symmetric positive definite matrix. The file is\n"
    "general, or symmetric with entries on either side of the diagonal. B is an .npy or .npz array of f4 or f8, or a\n"
    "MatrixMarket file of one column or one row. It has one number for each row; without it, all are 1. X has the\n"
    "--value-type. The iteration ends where |B - A X| is at most the larger of --tolerance times |B| and --absolute.\n"
    "If it does not get there, X is the best that was found, and the exit code is 7. With f32, finite numbers that\n"
    "are larger than f32 can hold are refused.\n\n"
    "Example: a chain of springs\n"
    "  printf '%%%%MatrixMarket matrix coordinate real symmetric\\n3 3 5\\n' > a.mtx\n"
    "  printf '1 1 2\\n2 1 -1\\n2 2 2\\n3 2 -1\\n3 3 2\\n' >> a.mtx\n"
    "  sheaf solve a.mtx -o x.npy --jacobi --verify --history residuals.csv";

struct solve_command {
  common_options common;
  std::string matrix;
  std::string b;
  std::string output;
  std::string history;
  double tolerance = conjugate_gradient_options{}.tolerance;
  double absolute = 0;
  std::uint64_t limit = conjugate_gradient_options::automatic_limit;
  bool has_jacobi = false;
  bool narrow = false;
};

/// A norm over |b|, and itself where that is 0. NaN has no sign.
double relative(double norm, double b_norm) { return std::abs(b_norm == 0 ? norm : norm / b_norm); }

std::string csv_of(const std::vector<double>& history, double b_norm) {
  std::string text = "iteration,residual,relative_residual\n";
  for (std::size_t i = 0; i < history.size(); ++i) {
    text += fmt::format("{},{},{}\n", i, std::abs(history[i]), relative(history[i], b_norm));
  }
  return text;
}

double relative_of(const conjugate_gradient_result& r) { return relative(r.residual, r.b_norm); }

/// JSON has no NaN and no infinity.
nlohmann::json json_number(double number) { return std::isfinite(number) ? nlohmann::json(number) : nlohmann::json(); }

/// What came of a system.
struct solution {
  conjugate_gradient_result result;
  explanation plan;  ///< of an iteration
  std::vector<double> history;
  run_times times;
};

// Of a solution on any number of processes. @param report  what it begins with
void add_result(nlohmann::json& report, const solve_command& command, std::uint64_t rows, std::uint64_t nonzeros,
                const conjugate_gradient_result& result, double seconds) {
  report.update({{"matrix", command.matrix},
                 {"rows", rows},
                 {"nonzeros", nonzeros},
                 {"value_type", command.narrow ? "f32" : "f64"},
                 {"preconditioner", command.has_jacobi ? "jacobi" : "none"},
                 {"variant", result.variant},
                 {"reason", name(result.reason)},
                 {"converged", result.converged()},
                 {"iterations", result.iterations},
                 {"residual", json_number(result.residual)},
                 {"relative_residual", json_number(relative_of(result))},
                 {"target", json_number(result.target)},
                 {"seconds", seconds},
                 {"verified", command.common.verify},
                 {"output", command.output}});
  if (!command.history.empty()) report["history"] = command.history;
}

nlohmann::json json_of(const solve_command& command, const context& ctx, const csr_view& a, const solution& found) {
  const conjugate_gradient_result& result = found.result;
  nlohmann::json report = report_of("solve", ctx);
  add_result(report, command, a.rows, a.values.count, result, found.times.least);
  report["predicted_seconds"] = predicted_seconds(found.plan) * static_cast<double>(result.iterations);
  report["predicted_iteration_seconds"] = predicted_seconds(found.plan);
  add_runs(report, command.common, found.times);
  return report;
}

// @param where  behind the variant. @param rest  behind the times
void print_lines(const solve_command& o, std::uint64_t rows, std::uint64_t nonzeros,
                 const conjugate_gradient_result& result, double seconds, const std::string& where,
                 const std::string& rest) {
  const double of_iteration = seconds / static_cast<double>(std::max<std::uint64_t>(1, result.iterations));
  fmt::print("{}: {} rows, {} nonzeros\n", shown_file(stdout, o.matrix), rows, nonzeros);
  fmt::print("solve: {} after {} iterations, |b - A x| = {:.3g}, {:.3g} of |b|{}\n", name(result.reason),
             result.iterations, std::abs(result.residual), relative_of(result), o.common.verify ? "; verified" : "");
  fmt::print("  {}{} in {}, {} an iteration{}\n", result.variant.empty() ? "nothing" : result.variant, where,
             seconds_text(seconds), seconds_text(of_iteration), rest);
}

// @param diagonal_mistake  that jacobi met, where it did
std::string complaint_of(const solve_command& command, const conjugate_gradient_result& result,
                         const std::optional<std::string>& diagonal_mistake) {
  const std::string where = fmt::format("{}: not converged: ", io::shown_input(command.matrix));
  const bool is_known = !std::isnan(result.residual) && !std::isnan(result.target);
  const std::string residual =
      is_known ? fmt::format("{:.3g}, not {:.3g}", result.residual, result.target) : std::string("not known");
  const std::string rest =
      fmt::format("|b - A x| is {}; {} has the best x that was found", residual, io::shown_output(command.output));
  switch (result.reason) {
    case stop_reason::not_positive_definite:
      if (diagonal_mistake) {
        return fmt::format("{}the matrix is not positive definite: {}; {}", where, *diagonal_mistake, rest);
      }
      return fmt::format("{}the matrix is not positive definite, which iteration {} found; {}", where,
                         result.iterations + 1, rest);
    case stop_reason::breakdown:
      return fmt::format("{}iteration {} met a sum that is NaN, infinite, or too small to tell from 0; {}", where,
                         result.iterations + 1, rest);
    case stop_reason::stagnated:
      return fmt::format("{}rounding keeps the residual from falling further after {} iterations; {}", where,
                         result.iterations, rest);
    default: return fmt::format("{}{} iterations are done; {}", where, result.iterations, rest);
  }
}

void require_outputs(const solve_command& o) {
  require_output(o.output, {o.matrix, o.b});
  if (o.history.empty()) return;
  require_output(o.history, {o.matrix, o.b}, "--history", true);
  if (!o.output.empty() && io::name_one_file(o.history, o.output))
    primitives::refuse("--history {} is the output {}", o.history, o.output);
}

template <class Value>
io::csr_matrix<Value> read_matrix(const solve_command& o) {
  auto read = io::read_matrix_market<Value>(o.matrix, {.threads = o.common.host_threads()});
  if (read.rows != read.columns) io::fail(o.matrix, "the matrix is {} x {}, not square", read.rows, read.columns);
  if (const auto asymmetry = jobs::asymmetry_of(jobs::view_of(read))) io::fail(o.matrix, "{}", *asymmetry);
  return read;
}

conjugate_gradient_options options_of(const solve_command& command) {
  return {.tolerance = command.tolerance,
          .absolute_tolerance = command.absolute,
          .iteration_limit = command.limit,
          .preconditioner = command.has_jacobi ? preconditioner::jacobi : preconditioner::none,
          .variant = command.common.variant()};
}

// @param a  may be a shape without arrays
planned_call plan_of(const solve_command& command, const context& ctx, const csr_view& a) {
  const const_values b(nullptr, a.rows, a.values.type);
  return {words_of_system(a, command.has_jacobi, access_pattern::unknown()),
          explain_conjugate_gradient(ctx, a, b, {nullptr, a.rows, a.values.type}, options_of(command))};
}

template <class Value>
void print_solve_plan(const solve_command& command, const context& ctx, const io::csr_matrix<Value>& matrix) {
  std::vector<std::string> read{command.matrix};
  const bool whole =
      look_at_matrix_vector<Value>(command.b, matrix.rows, "rows", command.matrix, command.common.host_threads());
  if (whole || !read_when_opened({command.b}).empty()) read.push_back(command.b);
  print_plan(command.common, ctx,
             work_of_system("solve", plan_of(command, ctx, jobs::shape_of(matrix)), std::move(read)));
}

// @param reset  gives x the values from which a run begins
solution solved(const solve_command& command, const context& ctx, const csr_view& a, const_values b, values x,
                const std::function<void()>& reset) {
  solution found;
  conjugate_gradient_options options = options_of(command);
  if (!command.history.empty()) options.history = &found.history;
  found.plan = plan_of(command, ctx, a).plan;
  const auto solve = [&] { found.result = conjugate_gradient(ctx, a, b, x, options); };
  if (command.common.runs > 1) {
    found.times = timed_runs(ctx, command.matrix, command.common.runs, solve, found.plan, reset);
    return found;
  }
  io::progress_step step("solving");
  if (io::shows_progress()) {
    constexpr std::uint64_t of_a_gpu = 64;  // between which it need not wait for the host
    if (ctx.backend() != backend_kind::cpu) options.progress_interval = of_a_gpu;
    options.progress = [&, done = std::uint64_t{0}](const conjugate_gradient_progress& p) mutable {
      step.add(p.iterations - done);
      done = p.iterations;
      if (step.wants_words()) step.say(fmt::format("residual {:.3g} of {:.3g}", p.residual, p.target));
      return true;
    };
  }
  reset();
  const double seconds = timed(ctx, command.matrix, solve);
  found.times = {seconds, seconds, seconds};
  return found;
}

/// Both files appear, or none.
void write_outputs(record_output& out, std::optional<io::output_file>& history_file, const solution& found) {
  std::vector<io::output_file*> files{&out.finish()};
  if (history_file) {
    const std::string text = csv_of(found.history, found.result.b_norm);
    history_file->write(text.data(), text.size());
    history_file->finish();
    files.push_back(&*history_file);
  }
  io::output_file::commit_all(files);
}

// On ranks.
void run_divided(const solve_command& command) {
  const solved_on_ranks found = solve_on_ranks(
      {command.common, command.matrix, command.b, command.output, command.history, options_of(command), command.narrow,
       [&] { require_outputs(command); }, [](const auto& history, double norm) { return csv_of(history, norm); }});
  if (!found.is_first) return;
  const bool is_quiet = command.common.quiet;
  nlohmann::json report = report_of_ranks("solve", found.all);
  add_result(report, command, found.rows, found.nonzeros, found.result, found.seconds);
  if (!is_quiet && !command.common.json) {
    print_lines(command, found.rows, found.nonzeros, found.result, found.seconds, " on " + text_of_ranks(found.all),
                "");
  }
  if (!found.result.converged()) {
    const auto mistake = found.diagonal_mistake.empty() ? std::nullopt : std::optional(found.diagonal_mistake);
    throw not_converged(complaint_of(command, found.result, mistake), std::move(report));
  }
  if (!is_quiet && command.common.json) print_json(std::move(report));
}

template <class Value>
void run_typed(const solve_command& command) {
  if (is_divided(command.common)) return run_divided(command);
  const context ctx = command.common.make_system_context();
  require_outputs(command);
  const io::csr_matrix<Value> matrix = read_matrix<Value>(command);
  const std::uint64_t vector_bytes = bytes_of(matrix.rows, sizeof(Value));
  const io::held_memory held({{"the matrix", matrix.held_bytes()},
                              {"B", vector_bytes},
                              {"the result", vector_bytes},
                              {"the zeros that it begins with", vector_bytes},
                              {"copies on the device", bytes_on_device(ctx, matrix.held_bytes() + 2 * vector_bytes)}});
  command.common.limit_scratch(ctx);
  if (command.common.plans_only) return print_solve_plan(command, ctx, matrix);
  command.common.require_scratch(plan_of(command, ctx, jobs::shape_of(matrix)).plan);
  const std::uint64_t n = matrix.rows;
  const std::vector<Value> b =
      read_matrix_vector<Value>(command.b, n, "rows", command.matrix, command.common.host_threads());

  const context_matrix a(ctx, matrix);
  const context_input b_in(ctx, b.data(), n * sizeof(Value));
  record_output out(command.output, numbers_header(float_descr(sizeof(Value)), n), n, sizeof(Value));
  std::optional<io::output_file> history_file;
  if (!command.history.empty()) history_file.emplace(io::place_of_output(command.history), 0);
  const context_output x(ctx, out);
  const std::vector<Value> start(n, 0);
  constexpr value_type type = value_type_of<Value>();
  const solution found = solved(command, ctx, a.view, {b_in.data(), n, type}, {x.data(), n, type},
                                [&] { copy_bytes(ctx, x.data(), start.data(), n * sizeof(Value)); });
  x.fetch();
  if (command.common.verify) {
    const const_values answer(out.rows().data, n, type);
    require_right(jobs::solution_mistake(jobs::view_of(matrix), b, answer, found.result.residual));
  }
  write_outputs(out, history_file, found);
  if (!command.common.quiet) print_variants(command.common, found.plan);
  nlohmann::json report = json_of(command, ctx, a.view, found);
  if (!command.common.quiet && !command.common.json) {
    print_lines(command, n, matrix.entries(), found.result, found.times.least, "",
                runs_text(command.common, found.times));
  }
  if (!found.result.converged()) {
    const bool blames_diagonal = command.has_jacobi && found.result.reason == stop_reason::not_positive_definite;
    const auto mistake = blames_diagonal ? jobs::diagonal_mistake(jobs::view_of(matrix)) : std::nullopt;
    throw not_converged(complaint_of(command, found.result, mistake), std::move(report));
  }
  if (!command.common.quiet && command.common.json) print_json(std::move(report));
}

}  // namespace

void add_solve(CLI::App& app) {
  const auto command = std::make_shared<solve_command>();
  CLI::App* subcommand = app.add_subcommand("solve", "Solve a linear system by conjugate gradient");
  add_input(*subcommand, "MATRIX", command->matrix, "A MatrixMarket file, gzip or not")->required();
  add_input(*subcommand, "B", command->b, "The right-hand side: .npy or .npz of f4 or f8, or .mtx; ones unless given");
  add_output(*subcommand, command->output, "Where X goes, whole or not at all")->required();
  add_real(*subcommand, "--tolerance", command->tolerance, "Residual to reach, relative to |B|")
      ->default_str(fmt::format("{}", command->tolerance));
  add_real(*subcommand, "--absolute", command->absolute, "Residual to reach, where that is larger");
  add_number(*subcommand, "--iterations", 0, conjugate_gradient_options::automatic_limit - 1, command->limit,
             "Most iterations; ten times the rows, but at least 100, unless given");
  subcommand->add_flag("--jacobi", command->has_jacobi, "Scale residuals by the inverse of the diagonal");
  add_value_type(*subcommand, command->narrow, "Type in which the matrix is read and the system solved");
  command->common.add_variant_to(*subcommand, "conjugate_gradient");
  command->common.add_runs_to(*subcommand, "Solve the system this many times, from 0 on, and report the times");
  subcommand->add_option("--history", command->history, "A file for the residual of each iteration")
      ->type_name("FILE.csv");
  command->common.add_plan_to(*subcommand);
  command->common.add_to(*subcommand, "Check the residual by long sums, within what rounding allows");
  command->common.add_devices_to(*subcommand);
  common_options::add_temporary_to(*subcommand);
  subcommand->footer(solve_footer);
  subcommand->callback([command] { command->narrow ? run_typed<float>(*command) : run_typed<double>(*command); });
}

}  // namespace sheaf::cli
