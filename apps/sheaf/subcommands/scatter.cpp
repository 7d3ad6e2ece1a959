#include "apps/sheaf/checks/movement.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "lab/description/movement/problem.hpp"
#include "primitives/movement/found_order.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* scatter_footer =
    "IN is an .npy or .npz array (file.npz:NAME), whose rows are the records, or raw records of --record-bytes. If\n"
    "its shape starts with INDEX's, as that of a gather's result does, a row is what follows; else its rows lie\n"
    "along the first axis. Records keep their byte order. Arrays in Fortran order are copied into rows. Where INDEX\n"
    "repeats a record, the last writer wins. --duplicates any is faster and lets any writer win; records that are\n"
    "not an aligned word of 1, 2, 4, 8 or 16 bytes may then mix the bytes of their writers. --verify accepts exactly\n"
    "that.\n\n"
    "Example: put rows back where a gather took them from, over the old table\n"
    "  sheaf gather table.npy index.npy -o rows.npy\n"
    "  sheaf scatter rows.npy index.npy --into table.npy -o new.npy --verify\n"
    "The same into a table of 10 rows of zeros\n"
    "  sheaf scatter rows.npy index.npy --table 10 -o new.npy";

struct scatter_command : movement_options {
  std::optional<std::uint64_t> table;  ///< records of the output
  std::string base;
  sheaf::duplicates repeats = duplicates::last;
};

// The number of leading axes of `in` that number the rows.
std::size_t row_axes(const io::record_file& in, const io::index_file& index) {
  const auto wanted = index.shape();
  const auto found = in.shape();
  const bool starts = found.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), found.begin());
  return starts ? wanted.size() : 1;
}

void require_same_rows(const io::record_file& in, std::size_t axes, const io::record_file& base) {
  const auto rows = in.row_shape(axes);
  const auto base_rows = base.row_shape();
  if (in.type().descr == base.type().descr &&
      std::equal(rows.begin(), rows.end(), base_rows.begin(), base_rows.end())) {
    return;
  }
  io::fail(base.path(), "rows of shape {} of {}, but {} has rows of shape {} of {}", io::shape_text(base_rows),
           base.type().descr, in.path(), io::shape_text(rows), in.type().descr);
}

planned_call plan_of(const scatter_command& command, const context& ctx, const const_records in, const index_span index,
                     std::uint64_t count) {
  primitives::problem_spec problem{.primitive = "scatter",
                                   .record_bytes = in.record_bytes,
                                   .index = index.type,
                                   .count = index.count,
                                   .table = count,
                                   .access = command.pattern};
  problem.part<primitives::movement_part>().duplicates = command.repeats;
  return planned_by_order(
      call_words_of(problem), command.pattern, [&command, &ctx, in, index, count](access_pattern order) {
        return explain_scatter(ctx, in, {nullptr, index.count, index.type}, {nullptr, count, in.record_bytes},
                               {.pattern = order, .duplicates = command.repeats, .variant = command.common.variant()});
      });
}

void run(scatter_command command) {
  if (!command.table && command.base.empty()) {
    primitives::refuse("give --table N for an output of zeros, or --into BASE for one like BASE");
  }
  require_output(command.output, {command.records_path, command.index, command.base});
  const context ctx = command.common.make_context();
  const io::record_file in(command.records_path, command.record_bytes);
  const io::index_file index(command.index, command.index_kind, "--index-type", command.common.wanted());
  std::optional<io::record_file> base;
  if (!command.base.empty()) base.emplace(command.base, command.record_bytes);
  require_name_of_kind(command.output, in);

  const std::size_t axes = row_axes(in, index);
  const const_records planned_in = planned_rows(ctx, in, axes);
  const index_span indices = index.indices();
  if (planned_in.count != indices.count) {
    io::fail(command.index, "{} indices, but {} has {} records", indices.count, in.path(), planned_in.count);
  }
  const std::uint64_t count = base ? base->unmapped_rows(primitives::most_record_bytes).count : *command.table;
  if (base) require_same_rows(in, axes, *base);
  const std::string header = output_header(in, std::span(&count, 1), in.row_shape(axes));
  require_output_size(command.output, header, count, planned_in.record_bytes);
  const std::uint64_t result_bytes = bytes_of(count, planned_in.record_bytes);
  const std::uint64_t moved_bytes = bytes_of(indices.count, planned_in.record_bytes + bytes(indices.type));
  const io::held_memory buffers(
      {{"the result", result_bytes},
       {"copies on the device", bytes_on_device(ctx, moved_bytes) + bytes_on_device(ctx, result_bytes)}});
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(result_bytes);
  // The run plans with the order that it finds, which a plan from headers alone cannot know.
  if (!command.common.plans_only) {
    command.pattern = primitives::order_of_call(ctx, indices, count, command.pattern);
  }
  const planned_call planned = plan_of(command, ctx, planned_in, indices, count);
  if (command.common.plans_only) {
    return print_plan(
        command.common, ctx,
        work_of("scatter", planned, read_when_opened({command.records_path, command.index, command.base})));
  }
  command.common.require_scratch(planned.plan);
  const const_records rows = in.rows(primitives::most_record_bytes, axes);
  const const_records before = base ? base->rows(primitives::most_record_bytes) : const_records();
  record_output out(command.output, header, count, rows.record_bytes);
  if (before.data == nullptr) {
    if (out.bytes() > 0) std::memset(out.rows().data, 0, out.bytes());
  } else {
    std::copy_n(before.data, out.bytes(), out.rows().data);
  }

  const context_input context_in(ctx, rows.data, rows.count * rows.record_bytes);
  const context_input context_index(ctx, indices.data, indices.count * bytes(indices.type));
  const context_input context_out(ctx, out.rows().data, out.bytes());
  const const_records from(context_in.data(), rows.count, rows.record_bytes);
  const index_span through(context_index.data(), indices.count, indices.type);
  const records to(context_out.data(), count, rows.record_bytes);

  const scatter_options options{
      .pattern = command.pattern, .duplicates = command.repeats, .variant = command.common.variant()};
  const run_times times = timed_runs(
      ctx, command.index, command.common.runs, [&] { scatter(ctx, from, through, to, options); }, planned.plan);
  context_out.fetch();
  if (command.common.verify) {
    const auto allowed = jobs::allowed_by(command.repeats, from, to);
    if (const auto record = jobs::first_scatter_difference(rows, indices, out.rows(), before.data, allowed)) {
      throw verification_failed(fmt::format("record {} of the result is not that of the reference", *record));
    }
  }
  out.commit();
  const explanation plan = ctx.learns() ? plan_of(command, ctx, rows, indices, count).plan : planned.plan;
  print_report(command.common, command.output, ctx, plan, indices.count, rows.record_bytes, times);
}

}  // namespace

void add_scatter(CLI::App& app) {
  const auto options = std::make_shared<scatter_command>();
  CLI::App* subcommand = app.add_subcommand("scatter", "Put the records of IN where INDEX says: out[index[i]] = in[i]");
  options->add_to(*subcommand, "IN", "Records: .npy, .npz, or raw with --record-bytes");
  CLI::Option* table = add_number(*subcommand, "--table", 0, ~std::uint64_t{0}, options->table,
                                  "Records of the output, zero where INDEX names none");
  subcommand
      ->add_option("--into", options->base, "Records that stay where INDEX names none; the file itself is not changed")
      ->type_name("BASE")
      ->excludes(table);
  subcommand
      ->add_option_function<std::string>(
          "--duplicates",
          [options](const std::string& which) {
            options->repeats = which == "last" ? duplicates::last : duplicates::any;
          },
          "Which writer wins where INDEX repeats a record: the last, or any, which is faster")
      ->check(CLI::IsMember({"any", "last"}))
      ->default_str("last");
  subcommand->footer(scatter_footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
