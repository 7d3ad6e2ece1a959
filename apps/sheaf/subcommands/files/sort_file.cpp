#include "apps/sheaf/subcommands/files/sort_file.hpp"

#include <chrono>

#include "apps/sheaf/checks/sort.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/scratch_file.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/sort/external.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "apps/sheaf/sort/record_source.hpp"
#include "core/context_state.hpp"

namespace sheaf::cli {
namespace {

std::string header_of(const sort_job& job) {
  if (job.index) return index_header(job.file, *job.index, job.rows.count);
  return output_header(job.file, std::span(&job.rows.count, 1), job.file.row_shape());
}

const_records rows_in_memory(const sort_job& job) { return job.file.rows(primitives::most_record_bytes); }

void require_sorted(const sort_job& job, const jobs::record_source& in, const jobs::record_source& out,
                    std::uint64_t memory_bytes) {
  if (!job.common.verify) return;
  const auto mistake = job.index ? jobs::sort_index_mistake(in, job.order, out, *job.index)
                                 : jobs::sort_mistake(in, job.order, out, memory_bytes);
  if (mistake) throw verification_failed(*mistake);
}

explanation explain(const context& ctx, const sort_job& job, const_records rows, const sort_options& options) {
  return job.index ? explain_sort_gather_index(ctx, rows, job.order.key, *job.index, options)
                   : explain_sort_records(ctx, rows, job.order.key, options);
}

std::uint64_t scratch_of(const explanation& plan) {
  return plan.choice() != nullptr ? plan.choice()->scratch_bytes : 0;
}

// Bytes of a copy of each row that make_sortable() can change.
std::uint64_t copied_bytes(const sort_job& job) { return job.order.changes.empty() ? 0 : job.rows.record_bytes; }

// Changes rows of the input, of which the first is record `first`, so that the key has their order.
void make_sortable(const sort_job& job, std::uint64_t first, std::uint64_t number, std::byte* rows) {
  const auto bad = jobs::make_sortable(rows, number, job.rows.record_bytes, job.order.changes);
  if (!bad) return;
  io::fail(job.file.path(), "record {}: character {} is {:#x}, which is not a code point", first + bad->row, bad->place,
           bad->value);
}

// The bytes of the rows, of their copy and of what is written, side by side; none if their number overflows.
std::optional<std::uint64_t> array_bytes(const sort_job& job) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t width : {job.rows.record_bytes, copied_bytes(job), job.written_bytes()}) {
    std::uint64_t array = 0;
    if (__builtin_mul_overflow(job.rows.count, width, &array) || __builtin_add_overflow(bytes, array, &bytes))
      return {};
  }
  return bytes;
}

// The rows as far as a plan looks at them: copies of them are aligned, and rows of a mapped file lie as they do there.
const_records rows_of_plan(const sort_job& job, bool on_host) {
  if (on_host && job.order.changes.empty() && job.file.is_mapped()) return rows_in_memory(job);
  return {nullptr, job.rows.count, job.rows.record_bytes};
}

sort_report sort_in_memory(const sort_job& job, const context& ctx, explanation plan, std::uint64_t left_bytes) {
  const const_records rows = rows_in_memory(job);
  const std::uint64_t count = rows.count;
  record_output out(job.output, header_of(job), count, job.written_bytes());
  std::vector<std::byte> copy(count * copied_bytes(job));
  if (!copy.empty()) {
    std::copy_n(rows.data, copy.size(), copy.data());
    make_sortable(job, 0, count, copy.data());
  }
  const context_input context_in(ctx, copy.empty() ? rows.data : copy.data(), count * rows.record_bytes);
  const const_records in(context_in.data(), count, rows.record_bytes);
  const context_output context_out(ctx, out);
  const sort_options options{job.common.variant()};
  const run_times times = timed_runs(
      ctx, job.file.path(), job.common.runs,
      [&] {
        if (job.index)
          return sort_gather_index(ctx, in, job.order.key, {context_out.data(), count, *job.index}, options);
        sort_records(ctx, in, job.order.key, {context_out.data(), count, in.record_bytes}, options);
      },
      plan);
  context_out.fetch();
  if (!job.index) jobs::restore(out.rows().data, count, rows.record_bytes, job.order.changes);
  require_sorted(job, jobs::source_of(rows), jobs::source_of(const_records(out.rows())), left_bytes);
  out.commit();
  if (ctx.learns()) plan = explain(ctx, job, rows_of_plan(job, true), options);
  return {ctx.backend(), ctx.state().device_name, ctx.threads(), std::move(plan), 1, 0, times};
}

// The rows that runs consist of: the records, or for an index the keys as strings, each followed by its record's
// number.
struct external_rows {
  jobs::record_source source;
  sort_key key;
};

constexpr std::uint64_t number_bytes = 8;
constexpr std::uint64_t staged_bytes = std::uint64_t{256} << 10;

jobs::record_source sortable(const jobs::record_source& in, const sort_job& job) {
  if (job.order.changes.empty()) return in;
  return {in.count, in.record_bytes, [in, &job](std::uint64_t first, std::uint64_t number, std::byte* to) {
            in.read(first, number, to);
            make_sortable(job, first, number, to);
          }};
}

// The memory for runs: what the job has, but for what its file holds.
std::uint64_t memory_for_runs(const sort_job& job) {
  const std::uint64_t held = std::min(job.file.held_bytes(), job.memory_bytes);
  return std::max(job.memory_bytes - held, jobs::least_external_bytes);
}

// The rows of runs as plans see them: their width and their key.
struct run_shape {
  std::uint64_t count;
  std::uint64_t record_bytes;
  sort_key key;
};

run_shape shape_of_runs(const sort_job& job) {
  if (!job.index) return {job.rows.count, job.rows.record_bytes, job.order.key};
  const std::uint32_t key_bytes = (jobs::layout_of(job.order.key).bits + 7) / 8;
  return {job.rows.count, key_bytes + number_bytes, key_field{0, key_bytes, key_type::bytes}};
}

external_rows keys_with_numbers(const jobs::record_source& in, const sort_job& job) {
  const primitives::key_layout layout = jobs::layout_of(job.order.key);
  const std::uint32_t key_bytes = (layout.bits + 7) / 8;
  const auto read = [in, layout, key_bytes](std::uint64_t first, std::uint64_t number, std::byte* to) {
    const std::uint64_t most = std::max<std::uint64_t>(staged_bytes / in.record_bytes, 1);
    std::vector<std::byte> staged(std::min(most, number) * in.record_bytes);
    for (std::uint64_t done = 0; done < number; done += most) {
      const std::uint64_t staged_count = std::min(most, number - done);
      in.read(first + done, staged_count, staged.data());
      for (std::uint64_t i = 0; i < staged_count; ++i, to += key_bytes + number_bytes) {
        const primitives::key_number k = primitives::key_of(staged.data() + i * in.record_bytes, layout);
        for (std::uint32_t b = 0; b < key_bytes; ++b) {
          const std::uint32_t byte = key_bytes - 1 - b;
          to[b] = static_cast<std::byte>(k.word[byte / 8] >> (byte % 8 * 8) & 0xff);
        }
        const std::uint64_t record = first + done + i;
        std::memcpy(to + key_bytes, &record, number_bytes);
      }
    }
  };
  const run_shape shape = shape_of_runs(job);
  return {{in.count, shape.record_bytes, read}, shape.key};
}

sort_plan plan_runs(const context& ctx, const sort_job& job) {
  const run_shape shape = shape_of_runs(job);
  const auto plan_of = [&](std::uint64_t of_rows) {
    return explain_sort_records(ctx, {nullptr, of_rows, shape.record_bytes}, shape.key, {job.common.variant()});
  };
  const bool on_host = ctx.backend() == backend_kind::cpu;
  sort_plan plan{.plan = {}, .in_memory = false};
  plan.run_rows = jobs::rows_per_run(shape.count, shape.record_bytes, memory_for_runs(job),
                                     [&](std::uint64_t of_rows) { return on_host ? scratch_of(plan_of(of_rows)) : 0; });
  plan.plan = plan_of(plan.run_rows);
  return plan;
}

void sort_run(const context& ctx, const sort_key& key, const_records in, records out, const sort_options& options) {
  const std::uint64_t bytes = in.count * in.record_bytes;
  const context_input context_in(ctx, in.data, bytes);
  const context_array context_out(ctx, out.data, bytes);
  sort_records(ctx, {context_in.data(), in.count, in.record_bytes}, key,
               {context_out.data(), out.count, out.record_bytes}, options);
  ctx.wait();
  context_out.fetch();
}

// Runs in a file, and how they were sorted.
struct written_runs {
  std::unique_ptr<io::scratch_file> file;
  std::vector<jobs::sorted_run> runs;
  sort_report report;
};

// The context, the last of its copies, ends here, so that its scratch is freed before a merge takes memory.
written_runs write_runs(const sort_job& job, const context ctx, const sort_plan& plan, const external_rows& rows,
                        const std::string& folder, std::uint64_t memory_bytes) {
  const sort_options options{job.common.variant()};
  const std::uint64_t count = rows.source.count;
  const std::uint64_t width = rows.source.record_bytes;
  written_runs written{std::make_unique<io::scratch_file>(folder, jobs::run_file_bytes(count, width, plan.run_rows),
                                                          jobs::cache_use_for(memory_bytes)),
                       {},
                       {ctx.backend(), ctx.state().device_name, ctx.threads(), plan.plan, 0, 0, {}}};
  io::progress_step step("sort: in runs", io::progress_unit::items, static_cast<double>(count));
  written.runs = jobs::write_runs(
      *written.file, rows.source, plan.run_rows,
      [&](const_records from, records to) { sort_run(ctx, rows.key, from, to, options); },
      [&](std::uint64_t number) { step.add(number); });
  written.report.sorted_runs = written.runs.size();
  return written;
}

// Merges runs into the output, behind its header. Returns the levels of merges.
std::uint64_t merge_runs(const sort_job& job, const external_rows& rows, written_runs& written,
                         const std::string& header, io::output_file& out, std::uint64_t memory_bytes) {
  const std::uint64_t width = rows.source.record_bytes;
  const auto write = [&](std::byte* block, std::uint64_t bytes) { out.write(block, bytes); };
  std::function<void(std::byte*)> restore_row;
  if (!job.index && !job.order.changes.empty()) {
    restore_row = [&](std::byte* row) { jobs::restore(row, 1, width, job.order.changes); };
  }
  const std::uint64_t part_offset = job.index ? width - number_bytes : 0;
  const std::uint64_t levels = jobs::merge_levels(written.runs.size(), width, memory_bytes);
  io::progress_step step("sort: merged", io::progress_unit::items,
                         static_cast<double>(rows.source.count) * static_cast<double>(levels));
  return merge_all(*written.file, std::move(written.runs), {jobs::layout_of(rows.key), width}, memory_bytes,
                   {header, part_offset, job.written_bytes(), write, false, restore_row},
                   [&](std::uint64_t number) { step.add(number); })
      .levels;
}

void require_sorted(const sort_job& job, const jobs::record_source& in, std::uint64_t header_bytes,
                    io::output_file& out, std::uint64_t memory_bytes) {
  const std::uint64_t width = job.written_bytes();
  const jobs::record_source written{in.count, width, [&](std::uint64_t first, std::uint64_t number, std::byte* to) {
                                      out.read_at(header_bytes + first * width, to, number * width);
                                    }};
  // An index names records at random, which a file that can be mapped gives without a call for each.
  const bool maps = job.common.verify && job.index && job.file.is_mapped();
  require_sorted(job, maps ? jobs::source_of(rows_in_memory(job)) : in, written, memory_bytes);
}

sort_report sort_in_runs(const sort_job& job, context ctx, const sort_plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const jobs::record_source in = jobs::source_of(job.file, job.rows);
  const jobs::record_source keyed = sortable(in, job);
  const external_rows rows = job.index ? keys_with_numbers(keyed, job) : external_rows{keyed, job.order.key};
  const std::string header = header_of(job);
  const std::uint64_t memory_bytes = memory_for_runs(job);
  io::output_file out(io::place_of_output(job.output), header.size() + in.count * job.written_bytes());
  if (jobs::cache_use_for(memory_bytes) == io::cache_use::bypass) out.bypass_cache();
  const std::string folder = io::has_temporary_folder() || out.is_stream() ? io::temporary_folder() : out.folder();
  if (job.common.verify) out.hold(folder);
  written_runs written = write_runs(job, std::move(ctx), plan, rows, folder, memory_bytes);
  sort_report report = std::move(written.report);
  report.merge_levels = merge_runs(job, rows, written, header, out, memory_bytes);
  written.file.reset();
  require_sorted(job, in, header.size(), out, memory_bytes);
  out.commit();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.times = {seconds, seconds, seconds};
  return report;
}

}  // namespace

sort_plan plan_sort(context& ctx, const sort_job& job) {
  const std::optional<std::uint64_t> arrays = array_bytes(job);
  const std::uint64_t memory_bytes = job.memory_bytes - std::min(job.memory_bytes, job.file.bytes_beside_rows());
  if (!arrays || *arrays > memory_bytes) return plan_runs(ctx, job);
  const bool on_host = ctx.backend() == backend_kind::cpu;
  const std::uint64_t left_bytes = memory_bytes - *arrays;
  const std::uint64_t limit_before = ctx.scratch_limit();
  if (on_host) ctx.limit_scratch(left_bytes);
  explanation plan = explain(ctx, job, rows_of_plan(job, on_host), {job.common.variant()});
  if (!on_host) return {std::move(plan), true, left_bytes};
  if (const variant_estimate* const choice = plan.choice()) {
    const std::uint64_t scratch_bytes = choice->scratch_bytes;
    return {std::move(plan), true, left_bytes - scratch_bytes};
  }
  ctx.limit_scratch(limit_before);
  return plan_runs(ctx, job);
}

planned_runs runs_of(const sort_job& job, const sort_plan& plan) {
  const run_shape shape = shape_of_runs(job);
  planned_runs planned;
  planned.runs = (shape.count + plan.run_rows - 1) / plan.run_rows;
  planned.merge_levels = jobs::merge_levels(planned.runs, shape.record_bytes, memory_for_runs(job));
  planned.run_bytes = jobs::run_file_bytes(shape.count, shape.record_bytes, plan.run_rows);
  return planned;
}

sort_report sort_file(const sort_job& job) {
  context ctx = job.common.make_context();
  sort_plan plan = plan_sort(ctx, job);
  if (plan.in_memory) return sort_in_memory(job, ctx, std::move(plan.plan), plan.left_bytes);
  if (job.common.runs > 0) {
    primitives::refuse("--runs is for sorts in memory, and {} does not fit into {} of it", job.file.path(),
                       bytes_text(job.memory_bytes));
  }
  return sort_in_runs(job, std::move(ctx), plan);
}

}  // namespace sheaf::cli
