#include <sheaf/spmv.hpp>

#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/ranks/systems.hpp"
#include "apps/sheaf/subcommands/files/vector_file.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "core/context_state.hpp"
#include "lab/description/sparse/problem.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// The subcommand spmv, which multiplies matrices of MatrixMarket files.
namespace sheaf::cli {
namespace {

constexpr const char* spmv_footer =
    "MATRIX is a MatrixMarket file (.mtx), gzip or not: coordinate or array; real, integer or pattern, whose values\n"
    "are 1; general, symmetric or skew-symmetric, with entries on either side of the diagonal. Entries at the same\n"
    "place are added, and zeros of arrays are dropped. X is an .npy or .npz array of f4 or f8, or a MatrixMarket\n"
    "file of one column or one row. It has one number for each column (with --transposed: row); without it, all are\n"
    "1. --y is read in the same way, but only with --beta. The result has the --value-type. With f32, finite numbers\n"
    "that are larger than f32 can hold are refused. Without --variant, --runs prepares the matrix for them.\n\n"
    "Example: row sums of a matrix\n"
    "  printf '%%%%MatrixMarket matrix coordinate real general\\n2 3 3\\n1 1 1.5\\n1 3 2\\n2 2 -1\\n' > a.mtx\n"
    "  sheaf spmv a.mtx -o sums.npy --verify\n"
    "y = 2 A x - y, with the time of 100 products\n"
    "  python3 -c \"import numpy as np; np.save('x.npy', np.array([1.0, 2, 3]))\"\n"
    "  python3 -c \"import numpy as np; np.save('y.npy', np.ones(2))\"\n"
    "  sheaf spmv a.mtx x.npy -o out.npy --alpha 2 --beta -1 --y y.npy --runs 100";

struct spmv_command {
  common_options common;
  std::string matrix;
  std::string x;
  std::string y;
  std::string output;
  double alpha = 1;
  double beta = 0;
  bool transposed = false;
  reduction_order order = reduction_order::deterministic;  ///< of the sums of a transposed product
  bool narrow = false;

  /// Whether the matrix is prepared for runs: unless the caller names the variant of the products.
  bool is_prepared() const { return common.runs > 0 && !common.forces_variant(); }
};

/// What a matrix looks like.
struct matrix_facts {
  std::uint64_t least = 0;  ///< entries of a row
  std::uint64_t most = 0;
  double mean = 0;
  std::uint64_t bandwidth = 0;  ///< the largest distance of an entry from the diagonal
};

template <class Value>
matrix_facts facts_of(const io::csr_matrix<Value>& a) {
  matrix_facts facts;
  if (a.rows == 0) return facts;
  facts.least = std::numeric_limits<std::uint64_t>::max();
  facts.mean = static_cast<double>(a.entries()) / static_cast<double>(a.rows);
  std::visit(
      [&](const auto& columns) {
        for (std::uint64_t row = 0; row < a.rows; ++row) {
          const std::uint64_t begin = a.row_offsets[row];
          const std::uint64_t end = a.row_offsets[row + 1];
          facts.least = std::min(facts.least, end - begin);
          facts.most = std::max(facts.most, end - begin);
          if (begin == end) continue;
          // Columns ascend within a row.
          for (const std::uint64_t column : {std::uint64_t{columns[begin]}, std::uint64_t{columns[end - 1]}}) {
            facts.bandwidth = std::max(facts.bandwidth, column > row ? column - row : row - column);
          }
        }
      },
      a.column_indices);
  return facts;
}

/// What the products took.
struct timing {
  run_times times;
  std::optional<spmv_preparation> prepared;
  std::string variant;
  double predicted_seconds = 0;  ///< of one product
};

/// The plan of a product, and that of a preparation, if there is one.
struct spmv_plans {
  explanation product;
  std::optional<explanation> preparation;

  const explanation& shown() const { return preparation ? *preparation : product; }
};

nlohmann::json json_of(const spmv_command& command, const context& ctx, const csr_view& a, const matrix_facts& facts,
                       const spmv_plans& plans, const timing& timing) {
  nlohmann::json variants = nlohmann::json::array();
  for (const variant_estimate& v : plans.shown().variants) {
    nlohmann::json one{{"variant", v.variant}, {"chosen", v.chosen}};
    if (v.applicable) one["predicted_seconds"] = v.seconds;
    if (!v.reason.empty()) one["reason"] = v.reason;
    variants.push_back(std::move(one));
  }
  nlohmann::json report = report_of("spmv", ctx);
  report.update({{"matrix", command.matrix},
                 {"rows", a.rows},
                 {"columns", a.columns},
                 {"nonzeros", a.values.count},
                 {"row_nonzeros", {{"least", facts.least}, {"mean", facts.mean}, {"most", facts.most}}},
                 {"bandwidth", facts.bandwidth},
                 {"transposed", command.transposed},
                 {"order", primitives::text_of(command.order, primitives::reduction_orders)},
                 {"value_type", command.narrow ? "f32" : "f64"},
                 {"variant", timing.variant},
                 {"variants", std::move(variants)},
                 {"seconds", timing.times.least},
                 {"predicted_seconds", timing.predicted_seconds},
                 {"verified", command.common.verify},
                 {"output", command.output}});
  add_runs(report, command.common, timing.times);
  if (command.common.runs > 0) {
    report["preparation_seconds"] = timing.prepared ? timing.prepared->preparation_seconds : 0;
    report["pays_after_runs"] = timing.prepared ? timing.prepared->pays_after_runs : 0;
  }
  if (timing.prepared) {
    report["preparation"] = {
        {"variant", timing.prepared->variant},         {"product", timing.prepared->product},
        {"kept_bytes", timing.prepared->kept_bytes},   {"timed", timing.prepared->timed},
        {"run_seconds", timing.prepared->run_seconds}, {"unprepared_seconds", timing.prepared->unprepared_seconds}};
  }
  return report;
}

void print_preparation(const spmv_preparation& preparation) {
  const std::string gain =
      preparation.pays_after_runs > 0
          ? fmt::format("pays after {} run{}", preparation.pays_after_runs, preparation.pays_after_runs == 1 ? "" : "s")
          : "saves no time";
  fmt::print(stderr, "prepared: {} in {}, whose runs are {}, {}; {} bytes kept\n", preparation.variant,
             seconds_text(preparation.preparation_seconds), preparation.product, gain, preparation.kept_bytes);
}

// What --verbose says: of the matrix, of its preparation, and of each variant.
void print_details(const spmv_command& command, const matrix_facts& f, const explanation& plan, const timing& timing) {
  if (!command.common.verbose) return;
  fmt::print(stderr, "{}: rows of {} to {} nonzeros, {:.1f} in the mean; bandwidth {}\n",
             shown_file(stderr, command.matrix), f.least, f.most, f.mean, f.bandwidth);
  if (timing.prepared) print_preparation(*timing.prepared);
  for (const variant_estimate& estimate : plan.variants) {
    if (!estimate.chosen) {
      fmt::print(stderr, "{}: {}: {}\n", plan.primitive, estimate.variant, estimate.reason);
    } else if (timing.prepared && timing.prepared->variant != estimate.variant) {
      fmt::print(stderr, "{}: {}: predicted {}, the cheapest, and not taken because its timed runs were slower\n",
                 plan.primitive, estimate.variant, seconds_text(estimate.seconds));
    } else {
      fmt::print(stderr, "{}: {}: predicted {}{}, taken\n", plan.primitive, estimate.variant,
                 seconds_text(estimate.seconds),
                 timing.prepared ? fmt::format(" with {} runs", command.common.runs) : "");
    }
  }
}

void print_line(const spmv_command& command, const csr_view& a, const timing& timing) {
  const double per_second = 2 * static_cast<double>(a.values.count) / std::max(timing.times.least, 1e-12);
  fmt::print("spmv: {} x {} with {} nonzeros, {} in {}, {:.3g} GFLOP/s{}{}\n", a.rows, a.columns, a.values.count,
             timing.variant, seconds_text(timing.times.least), per_second / 1e9,
             runs_text(command.common, timing.times), command.common.verify ? "; verified" : "");
}

// What a product is made of, in host memory.
template <class Value>
struct spmv_inputs {
  io::csr_matrix<Value> matrix;
  std::vector<Value> x;
  std::vector<Value> before;  ///< what --beta multiplies, if it is not 0
  io::held_memory held;
};

template <class Value>
io::csr_matrix<Value> read_matrix(const spmv_command& command) {
  // The product, and a vector of ones. One that is read is compared with memory then, or is no longer than its file.
  const std::uint64_t x_bytes = command.x.empty() ? sizeof(Value) : 0;
  return io::read_matrix_market<Value>(command.matrix,
                                       {.threads = command.common.host_threads(),
                                        .bytes_of_a_row = command.transposed ? x_bytes : sizeof(Value),
                                        .bytes_of_a_column = command.transposed ? sizeof(Value) : x_bytes});
}

// How many numbers a vector has, and of what.
using vector_length = std::pair<std::uint64_t, const char*>;

template <class Value>
vector_length length_of(const io::csr_matrix<Value>& a, bool is_by_rows) {
  return is_by_rows ? vector_length(a.rows, "rows") : vector_length(a.columns, "columns");
}

// The matrix, its vectors, and copies of them on a device.
template <class Value>
io::held_memory hold_buffers(const spmv_command& command, const context& ctx, const io::csr_matrix<Value>& matrix) {
  const std::uint64_t x_bytes = bytes_of(length_of(matrix, command.transposed).first, sizeof(Value));
  const std::uint64_t y_bytes = bytes_of(length_of(matrix, !command.transposed).first, sizeof(Value));
  io::held_memory held({{"the matrix", matrix.held_bytes()},
                        {"X", x_bytes},
                        {"the result", y_bytes},
                        {"--y", command.beta == 0 ? 0 : y_bytes},
                        {"copies on the device", bytes_on_device(ctx, matrix.held_bytes() + x_bytes + y_bytes)}});
  command.common.limit_scratch(ctx);
  return held;
}

template <class Value>
spmv_inputs<Value> read_inputs(const spmv_command& command, const context& ctx) {
  const int threads = command.common.host_threads();
  spmv_inputs<Value> in{read_matrix<Value>(command), {}, {}, {}};
  in.held = hold_buffers(command, ctx, in.matrix);
  const auto [x_count, x_of] = length_of(in.matrix, command.transposed);
  in.x = read_matrix_vector<Value>(command.x, x_count, x_of, command.matrix, threads);
  if (command.beta == 0) return in;
  const auto [y_count, y_of] = length_of(in.matrix, !command.transposed);
  in.before = read_matrix_vector<Value>(command.y, y_count, y_of, command.matrix, threads);
  return in;
}

// The plans of a product, and of the preparation where it is asked for.
primitives::problem_spec problem_of(const spmv_command& command, const csr_view& a) {
  primitives::problem_spec problem{.primitive = "spmv",
                                   .record_bytes = bytes(a.values.type),
                                   .index = a.column_indices.type,
                                   .count = a.values.count,
                                   .value = a.values.type,
                                   .table = a.rows};
  auto& matrix = problem.part<primitives::sparse_part>();
  matrix.columns = a.columns;
  matrix.offset = a.row_begins.type;
  matrix.is_transposed = command.transposed;
  matrix.is_unordered = command.order == reduction_order::unordered;
  return problem;
}

// @param a  may be a shape without arrays
planned_call plan_of(const spmv_command& command, const context& ctx, const csr_view& a) {
  const spmv_options options{.alpha = command.alpha,
                             .beta = command.beta,
                             .transposed = command.transposed,
                             .order = command.order,
                             .variant = command.common.variant()};
  const std::uint64_t x_count = command.transposed ? a.rows : a.columns;
  const std::uint64_t y_count = command.transposed ? a.columns : a.rows;
  return {call_words_of(problem_of(command, a)),
          explain_spmv(ctx, a, {nullptr, x_count, a.values.type}, {nullptr, y_count, a.values.type}, options)};
}

// @param order  of the columns, as the preparation finds it
planned_call plan_of_preparation(const spmv_command& command, const context& ctx, const csr_view& a,
                                 const access_pattern& order) {
  primitives::problem_spec problem = problem_of(command, a);
  problem.access = order;
  call_words words = call_words_of(problem);
  words.primitive = primitives::prepare_spmv_call;
  words.text += fmt::format(", {} runs", command.common.runs);
  words.facts.push_back({"runs", command.common.runs});
  return {std::move(words),
          explain_prepare_spmv(ctx, a, command.common.runs,
                               {.transposed = command.transposed, .order = command.order, .pattern = order})};
}

// What a run is by the plan of a preparation: its own product, or that of spmv.
std::string planned_product(const explanation& plan) {
  const variant_estimate* const choice = plan.choice();
  if (choice == nullptr) return "nothing";
  if (choice->variant != "kept") return choice->variant;
  for (const decided_value& decided : choice->decided) {
    if (std::string_view(decided.what) == "product") return std::get<std::string>(decided.value);
  }
  return choice->variant;
}

template <class Value>
void print_spmv_plan(const spmv_command& command, const context& ctx) {
  const int threads = command.common.host_threads();
  const io::csr_matrix<Value> matrix = read_matrix<Value>(command);
  const io::held_memory held = hold_buffers(command, ctx, matrix);
  std::vector<std::string> read{command.matrix};
  const auto look_at = [&](const std::string& path, const vector_length& length) {
    if (path.empty()) return;
    const bool whole = look_at_matrix_vector<Value>(path, length.first, length.second, command.matrix, threads);
    if (whole || !read_when_opened({path}).empty()) read.push_back(path);
  };
  look_at(command.x, length_of(matrix, command.transposed));
  if (command.beta != 0) look_at(command.y, length_of(matrix, !command.transposed));
  planned_call product = plan_of(command, ctx, jobs::shape_of(matrix));
  if (!command.is_prepared()) {
    return print_plan(command.common, ctx, work_of("spmv", std::move(product), std::move(read)));
  }
  const context_matrix a(ctx, matrix);
  const access_pattern order = primitives::order_that_a_preparation_finds(ctx, a.view, command.transposed);
  planned_work work =
      work_of("spmv", plan_of_preparation(command, ctx, jobs::shape_of(matrix), order), std::move(read));
  work.variant = planned_product(work.calls.front().plan);
  work.predicted_seconds = predicted_run_seconds(work.calls.front().plan);
  work.calls.push_back(std::move(product));
  work.remarks.emplace_back(
      "a preparation that turns out not to suit the matrix, or whose runs are slower than spmv, is not used");
  print_plan(command.common, ctx, work);
}

// The products that are asked for, in the context's memory.
struct products {
  const spmv_command& command;
  const context& ctx;
  const csr_view& a;
  const_values x;
  values y;
  const void* before;  ///< y, on the host, before each product; null where its values do not matter
  spmv_options options;

  void set_y() const {
    if (before != nullptr) copy_bytes(ctx, y.data, before, y.count * bytes(y.type));
  }
  timing run(spmv_plans& plans) const {
    timing timing;
    timing.variant = chosen_variant(plans.product);
    timing.predicted_seconds = predicted_seconds(plans.product);
    std::optional<prepared_spmv> prepared;
    io::held_memory kept;
    if (command.is_prepared()) {
      start_threads(ctx);
      const io::progress_step step("preparing the matrix");
      prepared.emplace(
          prepare_spmv(ctx, a, command.common.runs, {.transposed = command.transposed, .order = command.order}));
      timing.prepared = prepared->report();
      kept = io::held_memory("what the preparation keeps", timing.prepared->kept_bytes);
      command.common.limit_scratch(ctx);
      timing.variant = timing.prepared->variant == "kept" ? timing.prepared->product : timing.prepared->variant;
      plans.preparation = plan_of_preparation(command, ctx, a, timing.prepared->order).plan;
      timing.predicted_seconds = predicted_run_seconds(*plans.preparation);
    }
    timing.times = timed_runs(
        ctx, command.matrix, command.common.runs,
        [&] { prepared ? prepared->run(x, y, command.alpha, command.beta) : spmv(ctx, a, x, y, options); },
        plans.product, [&] { set_y(); });
    return timing;
  }
};

template <class Value>
void require_factors(const spmv_command& o) {
  for (const auto& [option, factor] : {std::pair("--alpha", o.alpha), std::pair("--beta", o.beta)}) {
    static_cast<void>(narrowed<Value>(factor, error_code::bad_argument, [name = option] { return name; }));
  }
}

template <class Value>
void require_product(const spmv_command& o, const spmv_inputs<Value>& in, const_values found) {
  const std::vector<double> before(in.before.begin(), in.before.end());
  const jobs::product_terms terms{o.alpha, o.beta, before.data(), o.transposed, o.common.host_threads()};
  require_right(jobs::product_mistake(jobs::view_of(in.matrix), in.x, found, terms));
}

// On ranks.
void run_divided(const spmv_command& o) {
  const refused_option options[] = {{"--transposed", o.transposed}};
  refuse_on_ranks(options);
  spmv_on_ranks({o.common, o.matrix, o.x, o.y, o.output, o.alpha, o.beta, o.narrow});
}

template <class Value>
void run_typed(const spmv_command& command) {
  require_factors<Value>(command);
  if (is_divided(command.common)) return run_divided(command);
  const context ctx = command.common.make_context();
  require_f32_where_needed(ctx, command.narrow);
  require_output(command.output, {command.matrix, command.x, command.y});
  if (command.common.plans_only) return print_spmv_plan<Value>(command, ctx);
  const spmv_inputs<Value> in = read_inputs<Value>(command, ctx);

  const context_matrix a(ctx, in.matrix);
  const context_input x_in(ctx, in.x.data(), in.x.size() * sizeof(Value));
  const std::uint64_t count = command.transposed ? in.matrix.columns : in.matrix.rows;
  const value_type type = value_type_of<Value>();
  const const_values x(x_in.data(), in.x.size(), type);
  const spmv_options options{.alpha = command.alpha,
                             .beta = command.beta,
                             .transposed = command.transposed,
                             .order = command.order,
                             .variant = command.common.variant()};
  spmv_plans plans{plan_of(command, ctx, a.view).plan, {}};
  command.common.require_scratch(plans.product);

  record_output out(command.output, numbers_header(float_descr(sizeof(Value)), count), count, sizeof(Value));
  const context_output y(ctx, out);
  const products work{command, ctx, a.view, x, {y.data(), count, type}, command.beta == 0 ? nullptr : in.before.data(),
                      options};
  const timing timing = work.run(plans);
  y.fetch();
  if (command.common.verify) require_product(command, in, {out.rows().data, count, type});
  out.commit();
  if (command.common.quiet) return;
  const matrix_facts facts = facts_of(in.matrix);
  print_details(command, facts, plans.shown(), timing);
  if (command.common.json) return print_json(json_of(command, ctx, a.view, facts, plans, timing));
  print_line(command, a.view, timing);
}

void run(const spmv_command& o) {
  if (o.beta != 0 && o.y.empty()) primitives::refuse("--beta {} multiplies a vector, which --y names", o.beta);
  o.narrow ? run_typed<float>(o) : run_typed<double>(o);
}

}  // namespace

void add_spmv(CLI::App& app) {
  const auto command = std::make_shared<spmv_command>();
  CLI::App* subcommand = app.add_subcommand("spmv", "Multiply a sparse matrix by a vector");
  add_input(*subcommand, "MATRIX", command->matrix, "A MatrixMarket file, gzip or not")->required();
  add_input(*subcommand, "X", command->x, "The vector: .npy or .npz of f4 or f8, or .mtx; ones unless given");
  add_output(*subcommand, command->output)->required();
  CLI::Option* const transposed =
      subcommand->add_flag("--transposed", command->transposed, "Multiply by the transposed matrix");
  add_order(*subcommand, command->order, transposed);
  add_real(*subcommand, "--alpha", command->alpha, "What the product is multiplied by");
  add_real(*subcommand, "--beta", command->beta, "What --y is multiplied by before it is added");
  subcommand->add_option("--y", command->y, "What is added: .npy or .npz of f4 or f8, or .mtx")->type_name("FILE");
  add_value_type(*subcommand, command->narrow,
                 "Type in which the matrix is read and multiplied; --backend opengl needs f32");
  command->common.add_variant_to(*subcommand, "spmv");
  command->common.add_runs_to(*subcommand, "Prepare the matrix, multiply this many times, and report the times");
  command->common.add_to(*subcommand, "Check the answer by long sums, within what rounding allows");
  command->common.add_devices_to(*subcommand);
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(spmv_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
