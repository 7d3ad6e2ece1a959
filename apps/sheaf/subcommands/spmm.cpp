#include <sheaf/spmm.hpp>

#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/subcommands/files/vector_file.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "lab/description/sparse/problem.hpp"
#include "primitives/operators/row_value.hpp"
#include "primitives/sparse/spmm.hpp"

// The subcommand spmm, which multiplies matrices of MatrixMarket files by arrays of rows.
namespace sheaf::cli {
namespace {

constexpr const char* spmm_footer =
    "MATRIX is a MatrixMarket file as for spmv. X is an .npy or .npz array of f2, f4 or f8 with two axes: a row for "
    "each\n"
    "column of the matrix (with --transposed: for each row), of 1 to 1024 numbers. The result has as many rows as the\n"
    "matrix (with --transposed: columns), of the --value-type. --y has as many, and is read with --beta alone.\n\n"
    "Example:\n"
    "  printf '%%%%MatrixMarket matrix coordinate real general\\n2 3 3\\n1 1 1.5\\n1 3 2\\n2 2 -1\\n' > a.mtx\n"
    "  python3 -c \"import numpy as np; np.save('x.npy', np.ones((3, 4)))\"\n"
    "  sheaf spmm a.mtx x.npy -o y.npy --verify";

struct spmm_command {
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

  spmm_options options() const {
    return {.alpha = alpha, .beta = beta, .transposed = transposed, .order = order, .variant = common.variant()};
  }
};

/// What a file of rows has to look like.
struct rows_wanted {
  std::uint64_t count;
  bool is_by_rows;          ///< the matrix has so many rows, else columns
  std::uint64_t width = 0;  ///< numbers of a row, which X has; 0: any
};

/// The shape of X or Y, of which the file has a row for each row or column of the matrix.
const_records rows_of(const spmm_command& command, const io::record_file& file, const rows_wanted& wanted) {
  const io::npy_type& type = file.type();
  if (type.kind != 'f' || (type.item_bytes != 2 && type.item_bytes != 4 && type.item_bytes != 8)) {
    io::fail(file.path(), "numbers of type {}, not f2, f4 or f8", type.descr);
  }
  if (file.shape().size() != 2) io::fail(file.path(), "{} axes, not 2", file.shape().size());
  const const_records rows = file.unmapped_rows(1024 * type.item_bytes);
  if (rows.count != wanted.count) {
    io::fail(file.path(), "{} rows, but {} has {} {}", rows.count, command.matrix, wanted.count,
             wanted.is_by_rows ? "rows" : "columns");
  }
  if (const std::uint64_t width = rows.record_bytes / type.item_bytes; wanted.width != 0 && width != wanted.width) {
    io::fail(file.path(), "rows of {} numbers, but {} has rows of {}", width, command.x, wanted.width);
  }
  return rows;
}

template <class Value>
std::vector<Value> read_numbers(const io::record_file& file, const const_records& shape) {
  const std::uint64_t width = file.type().item_bytes;
  const std::uint64_t count = shape.count * (shape.record_bytes / width);
  const const_records rows = file.rows(shape.record_bytes);
  const io::native_numbers numbers(const_records(rows.data, count, width), file.type());
  std::vector<Value> x(count);
  const auto convert = [&](auto number) {
    using Number = decltype(number);
    const auto* const from = reinterpret_cast<const Number*>(numbers.data());
    for (std::uint64_t i = 0; i < count; ++i) {
      x[i] = narrowed<Value>(primitives::converted<double>(from[i]), error_code::bad_input,
                             [&] { return fmt::format("{}: value {}", file.path(), i); });
    }
  };
  width == 2 ? convert(float16{}) : width == 4 ? convert(float{}) : convert(double{});
  return x;
}

planned_call plan_of(const spmm_command& command, const context& ctx, const csr_view& a, std::uint64_t width) {
  primitives::problem_spec problem{.primitive = primitives::spmm_call,
                                   .record_bytes = width * bytes(a.values.type),
                                   .index = a.column_indices.type,
                                   .count = a.values.count,
                                   .value = a.values.type,
                                   .table = a.rows};
  auto& matrix = problem.part<primitives::sparse_part>();
  matrix.columns = a.columns;
  matrix.offset = a.row_begins.type;
  matrix.is_transposed = command.transposed;
  matrix.is_unordered = command.order == reduction_order::unordered;
  const const_value_rows x(nullptr, command.transposed ? a.rows : a.columns, width, a.values.type);
  const value_rows y(nullptr, command.transposed ? a.columns : a.rows, width, a.values.type);
  return {call_words_of(problem), explain_spmm(ctx, a, x, y, command.options())};
}

// Column by column of X and Y, as products with vectors.
template <class Value>
void require_product(const spmm_command& command, const io::csr_matrix<Value>& a, const std::vector<Value>& x,
                     const std::vector<Value>& before, const Value* y, std::uint64_t width) {
  const std::uint64_t y_count = command.transposed ? a.columns : a.rows;
  for (std::uint64_t k = 0; k < width; ++k) {
    std::vector<Value> from;
    std::vector<Value> to;
    for (std::uint64_t i = k; i < x.size(); i += width) from.push_back(x[i]);
    for (std::uint64_t i = 0; i < y_count; ++i) to.push_back(y[i * width + k]);
    std::vector<double> added;
    for (std::uint64_t i = k; i < before.size(); i += width) added.push_back(static_cast<double>(before[i]));
    const jobs::product_terms terms{command.alpha, command.beta, added.data(), command.transposed,
                                    command.common.host_threads()};
    auto mistake = jobs::product_mistake(jobs::view_of(a), from, to, terms);
    if (mistake) *mistake = fmt::format("column {}: {}", k, *mistake);
    require_right(mistake);
  }
}

template <class Value>
void run_typed(const spmm_command& command) {
  for (const auto& [option, factor] : {std::pair("--alpha", command.alpha), std::pair("--beta", command.beta)}) {
    static_cast<void>(narrowed<Value>(factor, error_code::bad_argument, [name = option] { return name; }));
  }
  const context ctx = command.common.make_context();
  require_output(command.output, {command.matrix, command.x, command.y});
  constexpr const char* needed = "the header of an .npy file";
  const io::record_file x_file(command.x, 0, needed);
  std::optional<io::record_file> y_file;
  if (command.beta != 0) y_file.emplace(command.y, 0, needed);
  const io::csr_matrix<Value> matrix =
      io::read_matrix_market<Value>(command.matrix, {.threads = command.common.host_threads()});
  const std::uint64_t x_count = command.transposed ? matrix.rows : matrix.columns;
  const std::uint64_t y_count = command.transposed ? matrix.columns : matrix.rows;
  const const_records x_rows = rows_of(command, x_file, {x_count, command.transposed});
  const std::uint64_t width = x_rows.record_bytes / x_file.type().item_bytes;
  const const_records y_rows =
      y_file ? rows_of(command, *y_file, {y_count, !command.transposed, width}) : const_records();
  const std::uint64_t shape[] = {y_count, width};
  const std::string header = rows_header(float_descr(sizeof(Value)), shape);
  require_output_size(command.output, header, y_count, width * sizeof(Value));
  const std::uint64_t x_bytes = bytes_of(x_count, width * sizeof(Value));
  const std::uint64_t y_bytes = bytes_of(y_count, width * sizeof(Value));
  const io::held_memory held({{"the matrix", matrix.held_bytes()},
                              {"X", x_bytes},
                              {"the result", y_bytes},
                              {"--y", y_file ? y_bytes : 0},
                              {"copies on the device", bytes_on_device(ctx, matrix.held_bytes() + x_bytes + y_bytes)}});
  command.common.limit_scratch(ctx);
  // A column of each at a time.
  command.common.require_memory_to_verify(bytes_of(x_count + 3 * y_count, sizeof(double)));
  if (command.common.plans_only) {
    std::vector<std::string> read{command.matrix};
    for (const std::string& path : read_when_opened({command.x, y_file ? command.y : std::string()})) {
      read.push_back(path);
    }
    return print_plan(command.common, ctx,
                      work_of("spmm", plan_of(command, ctx, jobs::shape_of(matrix), width), std::move(read)));
  }
  const std::vector<Value> numbers = read_numbers<Value>(x_file, x_rows);
  const std::vector<Value> before = y_file ? read_numbers<Value>(*y_file, y_rows) : std::vector<Value>();
  const context_matrix a(ctx, matrix);
  const context_input x_in(ctx, numbers.data(), numbers.size() * sizeof(Value));
  const planned_call planned = plan_of(command, ctx, a.view, width);
  command.common.require_scratch(planned.plan);
  record_output out(command.output, header, y_count, width * sizeof(Value));
  const context_output y(ctx, out);
  const value_type type = value_type_of<Value>();
  const spmm_options options = command.options();
  const run_times times = timed_runs(
      ctx, command.matrix, command.common.runs,
      [&] {
        spmm(ctx, a.view, {x_in.data(), x_rows.count, width, type}, {y.data(), y_count, width, type}, options);
      },
      planned.plan,
      [&] {
        if (!before.empty()) copy_bytes(ctx, y.data(), before.data(), out.bytes());
      });
  y.fetch();
  if (command.common.verify) {
    require_product(command, matrix, numbers, before, reinterpret_cast<const Value*>(out.rows().data), width);
  }
  out.commit();
  print_report(command.common, command.output, ctx, planned.plan, matrix.entries(), width * sizeof(Value), times,
               {{"transposed", command.transposed},
                {"order", primitives::text_of(command.order, primitives::reduction_orders)}});
}

}  // namespace

void add_spmm(CLI::App& app) {
  const auto command = std::make_shared<spmm_command>();
  CLI::App* subcommand = app.add_subcommand("spmm", "Multiply a sparse matrix by rows of a dense one");
  add_input(*subcommand, "MATRIX", command->matrix, "A MatrixMarket file, gzip or not")->required();
  add_input(*subcommand, "X", command->x, "The dense matrix: .npy or .npz of f2, f4 or f8")->required();
  add_output(*subcommand, command->output)->required();
  CLI::Option* const transposed =
      subcommand->add_flag("--transposed", command->transposed, "Multiply by the transposed matrix");
  add_order(*subcommand, command->order, transposed);
  add_real(*subcommand, "--alpha", command->alpha, "What the product is multiplied by");
  add_real(*subcommand, "--beta", command->beta, "What --y is multiplied by before it is added");
  add_input(*subcommand, "--y", command->y, "The dense matrix that is added, with --beta: as X")->type_name("FILE");
  add_value_type(*subcommand, command->narrow, "Type in which both are read and multiplied");
  command->common.add_variant_to(*subcommand, "spmm");
  command->common.add_runs_to(*subcommand);
  command->common.add_to(*subcommand, "Check the answer by long sums, within what rounding allows");
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(spmm_footer);
  subcommand->callback([command] {
    if (command->beta != 0 && command->y.empty()) {
      primitives::refuse("--beta {} multiplies rows, which --y names", command->beta);
    }
    command->narrow ? run_typed<float>(*command) : run_typed<double>(*command);
  });
}

}  // namespace sheaf::cli
