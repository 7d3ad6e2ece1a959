#include <sheaf/spmv.hpp>

#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/subcommands/files/vector_file.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "core/context_state.hpp"
#include "primitives/views.hpp"

// The subcommand spmv, which multiplies matrices of MatrixMarket files.
namespace sheaf::cli {
namespace {

constexpr const char* spmv_footer =
    "MATRIX is a MatrixMarket file (.mtx), gzip or not: coordinate or array; real, integer or pattern, whose values\n"
    "are 1; general, symmetric or skew-symmetric, with entries on either side of the diagonal. Entries at the same\n"
    "place are added, and zeros of arrays are dropped. X is an .npy or .npz array of f4 or f8, or a MatrixMarket\n"
    "file of one column or one row. It has one number for each column (with --transpose: row); without it, all are\n"
    "1. --y is read in the same way, but only with --beta. The result has f8, or f4 with --f32. With --f32, finite\n"
    "numbers that are larger than f32 can hold are refused.\n\n"
    "Example: row sums of a matrix\n"
    "  printf '%%%%MatrixMarket matrix coordinate real general\\n2 3 3\\n1 1 1.5\\n1 3 2\\n2 2 -1\\n' > a.mtx\n"
    "  sheaf spmv a.mtx -o sums.npy --verify\n"
    "y = 2 A x - y, with the time of 100 products\n"
    "  python3 -c \"import numpy as np; np.save('x.npy', np.array([1.0, 2, 3])); np.save('y.npy', np.ones(2))\"\n"
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
  bool narrow = false;
  std::uint64_t runs = 0;  ///< 0: one product, unprepared
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
  matrix_facts f;
  if (a.rows == 0) return f;
  f.least = std::numeric_limits<std::uint64_t>::max();
  f.mean = static_cast<double>(a.entries()) / static_cast<double>(a.rows);
  std::visit(
      [&](const auto& columns) {
        for (std::uint64_t row = 0; row < a.rows; ++row) {
          const std::uint64_t begin = a.row_offsets[row];
          const std::uint64_t end = a.row_offsets[row + 1];
          f.least = std::min(f.least, end - begin);
          f.most = std::max(f.most, end - begin);
          if (begin == end) continue;
          // Columns ascend within a row.
          for (const std::uint64_t column : {std::uint64_t{columns[begin]}, std::uint64_t{columns[end - 1]}}) {
            f.bandwidth = std::max(f.bandwidth, column > row ? column - row : row - column);
          }
        }
      },
      a.column_indices);
  return f;
}

/// What the products took.
struct timing {
  double seconds = 0;       ///< of the product that made the answer, or the least of all runs
  double mean_seconds = 0;  ///< of all runs
  std::optional<spmv_preparation> prepared;
  std::string variant;

  double runs_per_second() const { return 1 / std::max(mean_seconds, 1e-12); }
};

nlohmann::json json_of(const spmv_command& o, const context& ctx, const csr_view& a, const matrix_facts& f,
                       const explanation& plan, const timing& t) {
  nlohmann::json variants = nlohmann::json::array();
  for (const variant_estimate& v : plan.variants) {
    nlohmann::json one{{"variant", v.variant}, {"chosen", v.chosen}};
    if (v.applicable) one["predicted_seconds"] = v.seconds;
    if (!v.reason.empty()) one["reason"] = v.reason;
    variants.push_back(std::move(one));
  }
  nlohmann::json report = report_of("spmv", ctx);
  report.update({{"device", ctx.state().device_name},
                 {"matrix", o.matrix},
                 {"rows", a.rows},
                 {"columns", a.columns},
                 {"nonzeros", a.values.count},
                 {"row_nonzeros", {{"least", f.least}, {"mean", f.mean}, {"most", f.most}}},
                 {"bandwidth", f.bandwidth},
                 {"transposed", o.transposed},
                 {"value_type", o.narrow ? "f32" : "f64"},
                 {"variant", t.variant},
                 {"variants", std::move(variants)},
                 {"seconds", t.seconds},
                 {"verified", o.common.verify},
                 {"output", o.output}});
  if (o.runs > 0) {
    report["runs"] = o.runs;
    report["mean_seconds"] = t.mean_seconds;
    report["runs_per_second"] = t.runs_per_second();
    report["preparation_seconds"] = t.prepared ? t.prepared->preparation_seconds : 0;
    report["pays_after_runs"] = t.prepared ? t.prepared->pays_after_runs : 0;
  }
  if (t.prepared) {
    report["preparation"] = {
        {"variant", t.prepared->variant},         {"product", t.prepared->product},
        {"kept_bytes", t.prepared->kept_bytes},   {"timed", t.prepared->timed},
        {"run_seconds", t.prepared->run_seconds}, {"unprepared_seconds", t.prepared->unprepared_seconds}};
  }
  return report;
}

void print_preparation(const spmv_preparation& p) {
  const std::string gain =
      p.pays_after_runs > 0 ? fmt::format("pays after {} run{}", p.pays_after_runs, p.pays_after_runs == 1 ? "" : "s")
                            : "saves no time";
  fmt::print("prepared: {} in {}, whose runs are {}, {}; {} bytes kept\n", p.variant,
             seconds_text(p.preparation_seconds), p.product, gain, p.kept_bytes);
}

void print_lines(const spmv_command& o, const csr_view& a, const matrix_facts& f, const explanation& plan,
                 const timing& t) {
  fmt::print("{}: {} rows, {} columns, {} nonzeros; rows of {} to {}, {:.1f} in the mean; bandwidth {}\n", o.matrix,
             a.rows, a.columns, a.values.count, f.least, f.most, f.mean, f.bandwidth);
  const double per_second = 2 * static_cast<double>(a.values.count) / std::max(t.seconds, 1e-12);
  std::string runs;
  if (o.runs > 0) {
    runs = fmt::format("; least of {} runs, {} in the mean, {:.4g} runs a second", o.runs, seconds_text(t.mean_seconds),
                       t.runs_per_second());
  }
  fmt::print("spmv: {} in {}, {:.3g} GFLOP/s{}{}\n", t.variant, seconds_text(t.seconds), per_second / 1e9, runs,
             o.common.verify ? "; verified" : "");
  if (t.prepared) print_preparation(*t.prepared);
  for (const variant_estimate& v : plan.variants) {
    if (!v.chosen) {
      fmt::print("  {}: {}\n", v.variant, v.reason);
    } else if (t.prepared && t.prepared->variant != v.variant) {
      fmt::print("  {}: predicted {}, the cheapest, and not taken because its timed runs were slower\n", v.variant,
                 seconds_text(v.seconds));
    } else {
      fmt::print("  {}: predicted {}{}, the cheapest\n", v.variant, seconds_text(v.seconds),
                 t.prepared ? fmt::format(" with {} runs", o.runs) : "");
    }
  }
}

// What a product is made of, in host memory.
template <class Value>
struct spmv_inputs {
  io::csr_matrix<Value> matrix;
  std::vector<Value> x;
  std::vector<Value> before;  ///< what --beta multiplies, if it is not 0
};

template <class Value>
spmv_inputs<Value> read_inputs(const spmv_command& o) {
  const int threads = o.common.host_threads();
  // The product, and a vector of ones. One that is read is compared with memory then, or is no longer than its file.
  const std::uint64_t x_bytes = o.x.empty() ? sizeof(Value) : 0;
  spmv_inputs<Value> in{
      io::read_matrix_market<Value>(o.matrix, {.threads = threads,
                                               .bytes_of_a_row = o.transposed ? x_bytes : sizeof(Value),
                                               .bytes_of_a_column = o.transposed ? sizeof(Value) : x_bytes}),
      {},
      {}};
  const auto [x_count, x_of] =
      o.transposed ? std::pair(in.matrix.rows, "rows") : std::pair(in.matrix.columns, "columns");
  in.x = read_matrix_vector<Value>(o.x, x_count, x_of, o.matrix, threads);
  if (o.beta == 0) return in;
  const auto [y_count, y_of] =
      o.transposed ? std::pair(in.matrix.columns, "columns") : std::pair(in.matrix.rows, "rows");
  in.before = read_matrix_vector<Value>(o.y, y_count, y_of, o.matrix, threads);
  return in;
}

// The products that are asked for, in the context's memory.
struct products {
  const spmv_command& o;
  const context& ctx;
  const csr_view& a;
  const_values x;
  values y;
  const void* before;  ///< y, on the host, before each product; null where its values do not matter
  spmv_options options;

  void set_y() const {
    if (before != nullptr) copy_bytes(ctx, y.data, before, y.count * bytes(y.type));
  }
  double once() const {
    set_y();
    return timed(ctx, o.matrix, [&] { spmv(ctx, a, x, y, options); });
  }
  // Prepares the matrix, but for the reference, whose product is what its preparation keeps.
  timing again_and_again(timing t, explanation& plan) const {
    std::optional<prepared_spmv> prepared;
    if (!o.common.is_reference()) {
      prepared.emplace(prepare_spmv(ctx, a, o.runs, {.transposed = o.transposed}));
      t.prepared = prepared->report();
      t.variant = t.prepared->variant == "kept" ? t.prepared->product : t.prepared->variant;
      plan = explain_prepare_spmv(ctx, a, o.runs, {.transposed = o.transposed, .pattern = t.prepared->order});
    }
    const run_times times = timed_runs(
        ctx, o.matrix, o.runs, [&] { prepared ? prepared->run(x, y, o.alpha, o.beta) : spmv(ctx, a, x, y, options); },
        [&] { set_y(); });
    t.seconds = times.least;
    t.mean_seconds = times.mean;
    return t;
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

template <class Value>
void run_typed(const spmv_command& o) {
  require_factors<Value>(o);
  const context ctx = o.common.make_context();
  require_f32_where_needed(ctx, o.narrow);
  require_output(o.output, {o.matrix, o.x, o.y});
  const spmv_inputs<Value> in = read_inputs<Value>(o);

  const context_matrix a(ctx, in.matrix);
  const context_input x_in(ctx, in.x.data(), in.x.size() * sizeof(Value));
  const std::uint64_t count = o.transposed ? in.matrix.columns : in.matrix.rows;
  const value_type type = value_type_of<Value>();
  const const_values x(x_in.data(), in.x.size(), type);
  const spmv_options options{
      .alpha = o.alpha, .beta = o.beta, .transposed = o.transposed, .variant = o.common.variant()};
  explanation plan = explain_spmv(ctx, a.view, x, {nullptr, count, type}, options);

  record_output out(o.output, numbers_header(float_descr(sizeof(Value)), count), count, sizeof(Value));
  const context_output y(ctx, out);
  const products work{o, ctx, a.view, x, {y.data(), count, type}, o.beta == 0 ? nullptr : in.before.data(), options};
  timing t;
  t.variant = chosen_variant(plan);
  if (o.runs == 0) t.seconds = work.once();
  if (o.runs > 0) t = work.again_and_again(t, plan);
  y.fetch();
  const matrix_facts facts = facts_of(in.matrix);
  if (o.common.verify) require_product(o, in, {out.rows().data, count, type});
  out.commit();
  if (o.common.quiet) return;
  if (o.common.json) return print_json(json_of(o, ctx, a.view, facts, plan, t));
  print_lines(o, a.view, facts, plan, t);
}

void run(const spmv_command& o) {
  if (o.beta != 0 && o.y.empty()) primitives::refuse("--beta {} multiplies a vector, which --y names", o.beta);
  o.narrow ? run_typed<float>(o) : run_typed<double>(o);
}

}  // namespace

void add_spmv(CLI::App& app) {
  const auto o = std::make_shared<spmv_command>();
  CLI::App* subcommand = app.add_subcommand("spmv", "Multiply a sparse matrix by a vector");
  add_input(*subcommand, "MATRIX", o->matrix, "A MatrixMarket file, gzip or not")->required();
  add_input(*subcommand, "X", o->x, "The vector: .npy or .npz of f4 or f8, or .mtx; ones unless given");
  add_output(*subcommand, o->output)->required();
  subcommand->add_flag("--transpose", o->transposed, "Multiply by the transposed matrix");
  add_real(*subcommand, "--alpha", o->alpha, "What the product is multiplied by");
  add_real(*subcommand, "--beta", o->beta, "What --y is multiplied by before it is added");
  subcommand->add_option("--y", o->y, "What is added: .npy or .npz of f4 or f8, or .mtx")->type_name("FILE");
  subcommand->add_flag("--f32", o->narrow, "Read the matrix and multiply in f32, not f64; --backend opengl needs it");
  add_number(*subcommand, "--runs", 1, 1'000'000'000, o->runs,
             "Prepare the matrix, multiply this many times, and report the times");
  o->common.add_to(*subcommand, "Check the answer by long sums, within what rounding allows");
  subcommand->footer(spmv_footer);
  subcommand->callback([o] { run(*o); });
}

}  // namespace sheaf::cli
