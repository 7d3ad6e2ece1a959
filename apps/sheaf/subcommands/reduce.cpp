#include "apps/sheaf/checks/reduce.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "lab/description/reduce/problem.hpp"
#include "primitives/reduce/rows.hpp"

// The subcommand reduce, which combines rows of numbers by an index.
namespace sheaf::cli {
namespace {

constexpr const char* reduce_footer =
    "IN is an .npy or .npz array (file.npz:NAME) of numbers: i1 to i8, u1 to u8, f2, f4 or f8. Its rows lie along the\n"
    "first axis, and the result has the same type and rows of the same shape. f2 is summed in f4 and rounded once;\n"
    "integers wrap around. Without --table and --into, the result has as many rows as INDEX names, to the largest.\n"
    "With --into, rows are combined with those of BASE, which a mean counts as one more; without it, with 0 (add,\n"
    "subtract, mean, count), 1 (multiply), or the largest or least number (min, max).\n\n"
    "Example: sums of the rows of each group\n"
    "  python3 -c \"import numpy as np; np.save('in.npy', np.ones((6, 2), 'f4'))\"\n"
    "  python3 -c \"import numpy as np; np.save('group.npy', np.array([0, 2, 0, 1, 2, 2]))\"\n"
    "  sheaf reduce in.npy group.npy --op add -o sums.npy --verify";

struct reduce_command : movement_options {
  reduction op = reduction::add;
  reduction_order order = reduction_order::deterministic;
  std::optional<std::uint64_t> table;  ///< rows of the output
  std::string base;
};

value_type value_type_of_file(const io::record_file& file) {
  const io::npy_type& type = file.type();
  for (const auto& [letter, bytes_of_value, value] : {std::tuple('i', 1U, value_type::i8),
                                                      {'i', 2U, value_type::i16},
                                                      {'i', 4U, value_type::i32},
                                                      {'i', 8U, value_type::i64},
                                                      {'u', 1U, value_type::u8},
                                                      {'u', 2U, value_type::u16},
                                                      {'u', 4U, value_type::u32},
                                                      {'u', 8U, value_type::u64},
                                                      {'f', 2U, value_type::f16},
                                                      {'f', 4U, value_type::f32},
                                                      {'f', 8U, value_type::f64}}) {
    if (type.kind == letter && type.item_bytes == bytes_of_value) return value;
  }
  io::fail(file.path(), "numbers of type {}, not i1 to i8, u1 to u8, f2, f4 or f8", type.descr);
}

/// How many rows an index names: one more than its largest entry.
std::uint64_t rows_named_by(index_span index) {
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < index.count; ++i) {
    const bool is_narrow = bytes(index.type) == 4;
    const std::uint64_t entry =
        is_narrow ? static_cast<const std::uint32_t*>(index.data)[i] : static_cast<const std::uint64_t*>(index.data)[i];
    const bool is_negative =
        (index.type == index_type::i32 && entry >> 31 != 0) || (index.type == index_type::i64 && entry >> 63 != 0);
    if (!is_negative) most = std::max(most, entry + 1);
  }
  return most;
}

planned_call plan_of(const reduce_command& command, const context& ctx, const_value_rows in, index_span index,
                     std::uint64_t count) {
  primitives::problem_spec problem{.primitive = primitives::scatter_reduce_rows_call,
                                   .record_bytes = in.values_per_row * bytes(in.type),
                                   .index = index.type,
                                   .count = index.count,
                                   .value = in.type,
                                   .table = count,
                                   .access = command.pattern};
  problem.part<primitives::reduce_part>() = {command.op, command.order};
  const auto start = command.base.empty() ? reduction_start::identity : reduction_start::out;
  problem.part<primitives::rows_part>().start = start;
  return planned_by_order(
      call_words_of(problem), command.pattern, [&command, &ctx, in, index, count, start](access_pattern order) {
        return explain_scatter_reduce(
            ctx, {nullptr, in.count, in.values_per_row, in.type}, {nullptr, index.count, index.type},
            {nullptr, count, in.values_per_row, in.type}, command.op,
            {.pattern = order, .order = command.order, .start = start, .variant = command.common.variant()});
      });
}

void run(const reduce_command& command) {
  require_output(command.output, {command.records_path, command.index, command.base});
  const context ctx = command.common.make_context();
  constexpr const char* needed = "the header of an .npy file";
  const io::record_file in(command.records_path, 0, needed);
  const bool reads_index = !command.table && command.base.empty();
  const io::index_file index(command.index, command.index_kind, "--index-type",
                             reads_index ? io::reading::all : command.common.wanted());
  std::optional<io::record_file> base;
  if (!command.base.empty()) base.emplace(command.base, 0, needed);
  const value_type type = value_type_of_file(in);
  const std::uint64_t most_row_bytes = std::uint64_t{65536} * bytes(type);
  const const_records planned_in = in.unmapped_rows(most_row_bytes);
  const std::uint64_t width = planned_in.record_bytes / bytes(type);
  const index_span indices = index.indices();
  if (planned_in.count != indices.count) {
    io::fail(command.index, "{} indices, but {} has {} rows", indices.count, command.records_path, planned_in.count);
  }
  if (base && (value_type_of_file(*base) != type ||
               base->unmapped_rows(most_row_bytes).record_bytes != planned_in.record_bytes)) {
    io::fail(base->path(), "rows of another type or width than those of {}", in.path());
  }
  const std::uint64_t count = base            ? base->unmapped_rows(most_row_bytes).count
                              : command.table ? *command.table
                                              : rows_named_by(indices);
  io::npy_type native = in.type();
  const std::string descr = fmt::format("'{}{}{}'", native.item_bytes == 1 ? '|' : '<', native.kind, native.item_bytes);
  std::vector<std::uint64_t> shape{count};
  for (const std::uint64_t axis : in.row_shape()) shape.push_back(axis);
  const std::string header = rows_header(descr.c_str(), shape);
  require_output_size(command.output, header, count, planned_in.record_bytes);
  const std::uint64_t result_bytes = bytes_of(count, planned_in.record_bytes);
  const std::uint64_t read_bytes = bytes_of(indices.count, planned_in.record_bytes + bytes(indices.type));
  const io::held_memory buffers(
      {{"the result", result_bytes},
       {"copies on the device", bytes_on_device(ctx, read_bytes) + bytes_on_device(ctx, result_bytes)}});
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(jobs::bytes_to_check_a_reduction({nullptr, planned_in.count, width, type},
                                                                           {nullptr, count, width, type}, command.op));
  const planned_call planned = plan_of(command, ctx, {nullptr, planned_in.count, width, type}, indices, count);
  if (command.common.plans_only) {
    std::vector<std::string> read = read_when_opened({command.records_path, command.index, command.base});
    if (reads_index && std::find(read.begin(), read.end(), command.index) == read.end()) read.push_back(command.index);
    return print_plan(command.common, ctx, work_of("reduce", planned, std::move(read)));
  }

  command.common.require_scratch(planned.plan);
  const auto numbers_of = [&](const io::record_file& file) {
    const const_records rows = file.rows(most_row_bytes);
    return io::native_numbers(const_records(rows.data, rows.count * width, bytes(type)), file.type());
  };
  const io::native_numbers numbers = numbers_of(in);
  std::optional<io::native_numbers> before;
  if (base) before.emplace(numbers_of(*base));
  record_output out(command.output, header, count, planned_in.record_bytes);
  const context_input context_in(ctx, numbers.data(), planned_in.count * planned_in.record_bytes);
  const context_input context_index(ctx, indices.data, indices.count * bytes(indices.type));
  const context_output context_out(ctx, out);
  const const_value_rows from(context_in.data(), planned_in.count, width, type);
  const index_span through(context_index.data(), indices.count, indices.type);
  const value_rows to(context_out.data(), count, width, type);
  const scatter_reduce_rows_options options{.pattern = command.pattern,
                                            .order = command.order,
                                            .start = base ? reduction_start::out : reduction_start::identity,
                                            .variant = command.common.variant()};
  const run_times times = timed_runs(
      ctx, command.index, command.common.runs, [&] { scatter_reduce(ctx, from, through, to, command.op, options); },
      planned.plan,
      [&] {
        if (before) copy_bytes(ctx, context_out.data(), before->data(), out.bytes());
      });
  context_out.fetch();
  if (command.common.verify) {
    require_right(jobs::reduction_mistake({numbers.data(), planned_in.count, width, type}, indices,
                                          {out.rows().data, count, width, type}, before ? before->data() : nullptr,
                                          command.op));
  }
  out.commit();
  const explanation plan = ctx.learns() ? plan_of(command, ctx, from, indices, count).plan : planned.plan;
  print_report(command.common, command.output, ctx, plan, indices.count, planned_in.record_bytes, times);
}

}  // namespace

void add_reduce(CLI::App& app) {
  const auto options = std::make_shared<reduce_command>();
  CLI::App* subcommand =
      app.add_subcommand("reduce", "Combine the rows of IN that INDEX names alike: out[index[i]] += in[i]");
  add_input(*subcommand, "IN", options->records_path, "Rows of numbers: .npy or .npz")->required();
  add_input(*subcommand, "INDEX", options->index,
            "Row numbers: .npy or .npz of whole numbers, or raw with --index-type")
      ->required();
  add_output(*subcommand, options->output)->required();
  add_index_type(*subcommand, options->index_kind, "Type of a raw INDEX; .npy files know their own");
  add_pattern(*subcommand, options->pattern,
              "What is known of the rows that INDEX names: unknown, sequential, random, partitioned:STREAMS, "
              "clustered:ROWS, strided:STEP, skewed, repeated:ROWS");
  options->common.add_variant_to(*subcommand, primitives::scatter_reduce_rows_call);
  options->common.add_runs_to(*subcommand);
  options->common.add_learn_to(*subcommand);
  options->common.add_to(*subcommand, "Check the answer against the serial reference, within what rounding allows");
  common_options::add_temporary_to(*subcommand);
  options->common.add_plan_to(*subcommand);
  subcommand
      ->add_option_function<std::string>(
          "--op",
          [options](const std::string& text) {
            options->op = primitives::value_of(text, primitives::reductions, "a reduction");
          },
          "How rows are combined")
      ->check(CLI::IsMember({"add", "min", "max", "subtract", "multiply", "mean", "count"}))
      ->default_str("add");
  subcommand
      ->add_option_function<std::string>(
          "--order", [options](const std::string& text) { options->order = primitives::parse_reduction_order(text); },
          "What the last bits of floats may depend on")
      ->check(CLI::IsMember({"deterministic", "unordered"}))
      ->default_str("deterministic");
  CLI::Option* table = add_number(*subcommand, "--table", 0, ~std::uint64_t{0}, options->table, "Rows of the output");
  subcommand->add_option("--into", options->base, "Rows that IN's are combined with; the file itself is not changed")
      ->type_name("BASE")
      ->excludes(table);
  subcommand->footer(reduce_footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
