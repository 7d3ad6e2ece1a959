#include <sheaf/gather.hpp>

#include "apps/sheaf/checks/movement.hpp"
#include "apps/sheaf/ranks/movements.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "primitives/movement/found_order.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* gather_footer =
    "TABLE is an .npy or .npz array, whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. The result has INDEX's shape followed by that of a row, like numpy.take(TABLE, INDEX, axis=0)\n"
    "for indices that are not negative. Records keep their byte order. file.npz:NAME names one of several arrays in\n"
    "an archive. Arrays in Fortran order are copied into rows.\n\n"
    "Example: rows 7, 0 and 7 of a table of three floats each\n"
    "  python3 -c \"import numpy as np; np.save('table.npy', np.arange(30, dtype='f4').reshape(10, 3))\"\n"
    "  python3 -c \"import numpy as np; np.save('index.npy', np.array([7, 0, 7]))\"\n"
    "  sheaf gather table.npy index.npy -o rows.npy --verify\n"
    "The same without numpy, on raw records\n"
    "  printf 'zero one  two  ' > table.bin; printf '\\2\\0\\0\\0\\0\\0\\0\\0' > index.bin\n"
    "  sheaf gather table.bin index.bin --record-bytes 5 --index-type u32 -o rows.bin";

planned_call plan_of(const movement_options& command, const context& ctx, const const_records table,
                     const index_span index) {
  const primitives::problem_spec problem{.primitive = "gather",
                                         .record_bytes = table.record_bytes,
                                         .index = index.type,
                                         .count = index.count,
                                         .table = table.count,
                                         .access = command.pattern};
  return planned_by_order(call_words_of(problem), command.pattern,
                          [&command, &ctx, table, index](access_pattern order) {
                            return explain_gather(ctx, table, {nullptr, index.count, index.type},
                                                  {nullptr, index.count, table.record_bytes},
                                                  {.pattern = order, .variant = command.common.variant()});
                          });
}

// Copies of the table, the index and the result.
std::uint64_t device_bytes(const context& ctx, const const_records table, const index_span index) {
  return bytes_on_device(ctx, bytes_of(table.count, table.record_bytes)) +
         bytes_on_device(ctx, bytes_of(index.count, bytes(index.type) + table.record_bytes));
}

void run(movement_options command) {
  if (is_divided(command.common)) return gather_on_ranks(command);
  require_output(command.output, {command.records_path, command.index});
  const context ctx = command.common.make_context();
  const io::record_file table(command.records_path, command.record_bytes);
  const io::index_file index(command.index, command.index_kind, "--index-type", command.common.wanted());
  require_name_of_kind(command.output, table);
  const const_records planned_table = planned_rows(ctx, table);
  const std::uint64_t result_bytes = bytes_of(index.indices().count, planned_table.record_bytes);
  const io::held_memory buffers(
      {{"the result", result_bytes}, {"copies on the device", device_bytes(ctx, planned_table, index.indices())}});
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(std::min(result_bytes, jobs::most_bytes_to_check_a_gather));
  // The run plans with the order that it finds, which a plan from headers alone cannot know.
  if (!command.common.plans_only) {
    command.pattern = primitives::order_of_call(ctx, index.indices(), planned_table.count, command.pattern);
  }
  const planned_call planned = plan_of(command, ctx, planned_table, index.indices());
  if (command.common.plans_only) {
    return print_plan(command.common, ctx,
                      work_of("gather", planned, read_when_opened({command.records_path, command.index})));
  }
  command.common.require_scratch(planned.plan);
  const const_records rows = table.rows(primitives::most_record_bytes);
  const index_span indices = index.indices();
  record_output out(command.output, output_header(table, index.shape(), table.row_shape()), indices.count,
                    rows.record_bytes);

  const context_input context_table(ctx, rows.data, rows.count * rows.record_bytes);
  const context_input context_index(ctx, indices.data, indices.count * bytes(indices.type));
  const context_output context_out(ctx, out);
  const const_records from(context_table.data(), rows.count, rows.record_bytes);
  const index_span through(context_index.data(), indices.count, indices.type);
  const records to(context_out.data(), indices.count, rows.record_bytes);

  const gather_options options{.pattern = command.pattern, .variant = command.common.variant()};
  const run_times times = timed_runs(
      ctx, command.index, command.common.runs, [&] { gather(ctx, from, through, to, options); }, planned.plan);
  context_out.fetch();
  if (command.common.verify) {
    if (const auto record = jobs::first_gather_difference(rows, indices, out.rows())) {
      throw verification_failed(fmt::format("record {} of the result is not that of the reference", *record));
    }
  }
  out.commit();
  const explanation plan = ctx.learns() ? plan_of(command, ctx, rows, indices).plan : planned.plan;
  print_report(command.common, command.output, ctx, plan, indices.count, rows.record_bytes, times);
}

}  // namespace

void add_gather(CLI::App& app) {
  const auto options = std::make_shared<movement_options>();
  CLI::App* subcommand =
      app.add_subcommand("gather", "Take the records of TABLE that INDEX names: out[i] = table[index[i]]");
  options->add_to(*subcommand, "TABLE", "Records: .npy, .npz, or raw with --record-bytes");
  options->common.add_devices_to(*subcommand);
  subcommand->footer(gather_footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
