#include "apps/sheaf/command.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/nas.hpp"
#include "apps/sheaf/ranks/systems.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "apps/sheaf/subcommands/system_plan.hpp"

// The subcommand npb-cg: the conjugate gradient benchmark of the NAS Parallel Benchmarks.
namespace sheaf::cli {
namespace {

constexpr const char* npb_cg_footer =
    "The matrix is made by the benchmark's own recurrence of random numbers, which is not timed. One iteration is\n"
    "done before the timed ones. Mop/s counts operations as the benchmark does. The exit code is 4 if zeta is not\n"
    "the official value to 1e-10, relative. The benchmark prescribes f64: with --value-type f32 it is not the\n"
    "official one, and zeta may be off by 1e-4, relative.\n\n"
    "Example: a second's work for one core\n"
    "  sheaf npb-cg A --threads 1";

struct npb_command {
  common_options common;
  std::string name;
  std::string matrix;
  bool narrow = false;

  std::string verdict(bool is_right) const {
    if (!is_right) return "UNSUCCESSFUL";
    return narrow ? "UNOFFICIAL" : "SUCCESSFUL";
  }
};

/// The matrix that is solved with: the negative of the benchmark's.
io::csr_matrix<double> matrix_of(const npb_command& o, const jobs::nas_class& of) {
  if (o.matrix.empty()) {
    const io::progress_step step("making the matrix");
    return jobs::nas_matrix(of, o.common.host_threads());
  }
  auto read = io::read_matrix_market<double>(o.matrix, {.threads = o.common.host_threads()});
  if (read.rows != of.rows || read.columns != of.rows) {
    io::fail(o.matrix, "{} rows and {} columns, but class {} has {} of both", read.rows, read.columns, of.name,
             of.rows);
  }
  for (double& value : read.values) value = -value;
  return read;
}

// @param a  may be a shape without arrays
planned_call plan_of(const npb_command& command, const context& ctx, const csr_view& a) {
  return {words_of_system(a, false, access_pattern::random()), jobs::explain_nas(ctx, a, command.common.variant())};
}

// The shape of the matrix that the command solves with. That of the benchmark is known.
csr_view shape_of(const npb_command& command, std::uint64_t rows, std::uint64_t nonzeros, index_type column_type) {
  return {rows,
          rows,
          {nullptr, rows + 1, index_type::u64},
          {nullptr, nonzeros, column_type},
          {nullptr, nonzeros, command.narrow ? value_type::f32 : value_type::f64}};
}

// Iterations of conjugate gradient in all that is timed.
double iterations_of(const jobs::nas_class& of) {
  return static_cast<double>(of.iterations * jobs::nas_steps_of_a_system);
}

// The matrix, a copy of it in f32, the vectors, and copies of what runs on a device.
io::held_memory hold_buffers(const npb_command& command, const context& ctx, const jobs::nas_class& of,
                             std::uint64_t nonzeros) {
  const std::uint64_t value_bytes = command.narrow ? sizeof(float) : sizeof(double);
  const auto matrix_bytes = [&](std::uint64_t width) {
    return (of.rows + 1) * sizeof(std::uint64_t) + nonzeros * (sizeof(std::uint32_t) + width);
  };
  const std::uint64_t vector_bytes = 2 * of.rows * value_bytes;
  io::held_memory held({{"the matrix", matrix_bytes(sizeof(double))},
                        {"the matrix in f32", command.narrow ? matrix_bytes(value_bytes) : 0},
                        {"vectors", vector_bytes},
                        {"copies on the device", bytes_on_device(ctx, matrix_bytes(value_bytes) + vector_bytes)}});
  command.common.limit_scratch(ctx);
  return held;
}

planned_work benchmark_work(const npb_command& command, const context& ctx, const jobs::nas_class& of) {
  if (command.matrix.empty()) {
    const csr_view a = shape_of(command, of.rows, of.nonzeros, index_type::u32);
    return work_of_system("npb-cg", plan_of(command, ctx, a), {});
  }
  const io::csr_matrix<double> matrix = matrix_of(command, of);
  const csr_view a = shape_of(command, of.rows, matrix.entries(), matrix.columns_of_entries().type);
  return work_of_system("npb-cg", plan_of(command, ctx, a), {command.matrix});
}

void print_nas_plan(const npb_command& command, const context& ctx, const jobs::nas_class& of) {
  planned_work work = benchmark_work(command, ctx, of);
  work.predicted_seconds *= iterations_of(of);
  work.is_predicted = true;
  print_plan(command.common, ctx, work);
}

// What came of it. @param report  what it begins with. @param where  "2 threads". @throws verification_failed
void print_answer(const npb_command& command, const jobs::nas_class& of, std::uint64_t nonzeros,
                  const jobs::nas_answer& answer, const std::string& where, nlohmann::json report) {
  const std::string verdict = command.verdict(answer.is_right);
  report.update({{"class", of.name},
                 {"rows", of.rows},
                 {"nonzeros", nonzeros},
                 {"value_type", command.narrow ? "f32" : "f64"},
                 {"iterations", of.iterations},
                 {"variant", answer.variant},
                 {"reason", name(answer.reason)},
                 {"residual", answer.residual},
                 {"zeta", answer.zeta},
                 {"official_zeta", of.zeta},
                 {"verification", verdict},
                 {"seconds", answer.seconds},
                 {"mop_per_second", answer.mop_per_second}});
  if (!command.common.quiet && !command.common.json) {
    fmt::print("NAS CG, class {}: {} rows, {} nonzeros, {} iterations of 25 steps{}\n", of.name, of.rows, nonzeros,
               of.iterations, command.narrow ? " in f32" : "");
    fmt::print("zeta {:.13f}, official {:.13f}\nVERIFICATION {}\n", answer.zeta, of.zeta, verdict);
    fmt::print("{} in {}, {:.1f} Mop/s, {}\n", answer.variant, seconds_text(answer.seconds), answer.mop_per_second,
               where);
  }
  if (!answer.is_right) {
    std::string mistake = fmt::format("zeta is {:.13f}, not {:.13f}", answer.zeta, of.zeta);
    if (command.narrow) mistake += fmt::format(" to {:.0e}", jobs::nas_precision<float>);
    if (answer.reason != stop_reason::limit) {
      mistake += fmt::format("; a system ended before its 25 steps: {}", name(answer.reason));
    }
    throw verification_failed(mistake, std::move(report));
  }
  if (!command.common.quiet && command.common.json) print_json(std::move(report));
}

// On ranks.
void run_divided(const npb_command& command) {
  const jobs::nas_class& of = jobs::nas_class_named(command.name);
  const npb_on_ranks found = run_npb_on_ranks({command.common, of, command.matrix, command.narrow});
  if (!found.is_first) return;
  print_answer(command, of, found.nonzeros, found.answer, text_of_ranks(found.all),
               report_of_ranks("npb-cg", found.all));
}

void run(const npb_command& command) {
  if (is_divided(command.common)) return run_divided(command);
  const context ctx = command.common.make_system_context();
  const jobs::nas_class& of = jobs::nas_class_named(command.name);
  const io::held_memory held = hold_buffers(command, ctx, of, of.nonzeros);  // before any are made
  if (command.common.plans_only) return print_nas_plan(command, ctx, of);
  io::csr_matrix<double> matrix = matrix_of(command, of);
  const std::uint64_t nonzeros = matrix.entries();
  const explanation plan =
      plan_of(command, ctx, shape_of(command, of.rows, nonzeros, matrix.columns_of_entries().type)).plan;
  command.common.require_scratch(plan);
  jobs::nas_options options{.variant = command.common.variant()};
  jobs::nas_answer answer;
  {
    io::progress_step step("iterations", io::progress_unit::items, static_cast<double>(of.iterations));
    options.progress = [&, done = std::uint64_t{0}](std::uint64_t iteration, double residual, double zeta) mutable {
      step.add(iteration - std::exchange(done, iteration));
      if (step.wants_words()) step.say(fmt::format("residual {:.3g}, zeta {:.13f}", residual, zeta));
    };
    answer = command.narrow ? jobs::run_nas(ctx, of, io::with_values<float>(std::exchange(matrix, {})), options)
                            : jobs::run_nas(ctx, of, matrix, options);
  }
  if (!command.common.quiet) print_variants(command.common, plan);
  nlohmann::json report = report_of("npb-cg", ctx);
  report["predicted_seconds"] = predicted_seconds(plan) * iterations_of(of);
  report["predicted_iteration_seconds"] = predicted_seconds(plan);
  const std::string where = fmt::format("{} thread{}", ctx.threads(), ctx.threads() == 1 ? "" : "s");
  print_answer(command, of, nonzeros, answer, where, std::move(report));
}

}  // namespace

void add_npb_cg(CLI::App& app) {
  const auto command = std::make_shared<npb_command>();
  CLI::App* subcommand =
      app.add_subcommand("npb-cg", "Run the conjugate gradient benchmark of the NAS Parallel Benchmarks");
  subcommand->add_option("CLASS", command->name, "Size of the benchmark: S, W, A, B or C")
      ->required()
      ->check(CLI::IsMember({"S", "W", "A", "B", "C"}))
      ->type_name("");
  subcommand
      ->add_option("--matrix", command->matrix,
                   "The benchmark's matrix as another program made it: a MatrixMarket file")
      ->type_name("FILE");
  add_value_type(*subcommand, command->narrow, "Type in which it runs; f32 is not the official benchmark");
  command->common.add_variant_to(*subcommand, "conjugate_gradient");
  command->common.add_to(*subcommand);
  command->common.add_devices_to(*subcommand);
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(npb_cg_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
