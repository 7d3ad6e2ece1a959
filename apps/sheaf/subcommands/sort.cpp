#include <filesystem>

#include "apps/sheaf/checks/sort.hpp"
#include "apps/sheaf/ranks/movements.hpp"
#include "apps/sheaf/sort/external.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "apps/sheaf/sort/record_source.hpp"
#include "apps/sheaf/subcommands/files/sort_file.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "core/host.hpp"
#include "lab/description/sort/problem.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* sort_footer =
    "IN is an .npy or .npz array (file.npz:NAME), whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. Records with equal keys keep their order.\n\n"
    "Without --key, arrays of one dimension are sorted by\n"
    "their numbers, dates or strings. Floats have -0 before 0, NaN with the sign bit first, and NaN without it last.\n"
    "datetime64 and timedelta64 have NaT last. Strings have up to 32 bytes, or up to 12 characters, which are sorted\n"
    "by code points. Numbers may have either byte order, and keep it.\n\n--key NAME takes a field of a structured "
    "array\n"
    "in the same way; \"a.b\" is the field b of a field a. Of a field of several numbers the first decides. --key\n"
    "OFFSET:BYTES takes BYTES bytes from byte OFFSET of a record on, as bytes (strings, big-endian numbers), or\n"
    "little-endian as u (unsigned), i (signed) or f (float of 2, 4 or 8 bytes). :asc and :desc say how this key\n"
    "runs. Of several keys the first decides; together they have at most 32 bytes and 8 numbers. A name that begins\n"
    "with digits and a colon is read as OFFSET:BYTES.\n\nRecords that do not fit into --memory are sorted run by run,\n"
    "in a file without a name beside the output, or in the folder --temporary, and merged. This needs at least as\n"
    "much room there again as the output takes. The units K, M, G and T are powers of 1024, KB to TB of 1000.\n\n"
    "Example: the sort benchmark's records of 100 bytes with a key of 10, larger than the memory that may be used\n"
    "  sheaf sort in.dat --record-bytes 100 --key 0:10 -o out.dat --memory 1G\n"
    "  sheaf sort out.dat --record-bytes 100 --key 0:10 --check\n"
    "Pairs of letters by the second letter, from the last on, then by the first\n"
    "  printf 'a2b1c2d0e1' > in.bin\n"
    "  sheaf sort in.bin --record-bytes 2 --key 1:1:bytes:desc --key 0:1 -o out.bin --verify\n"
    "The rows of a structured array by their field id, from the highest on, then by name\n"
    "  sheaf sort people.npy --key id:desc --key name -o sorted.npy\n"
    "Where the numbers of an array would come from, as in numpy.argsort(IN, kind='stable') if there is no NaN and no\n"
    "-0, which numpy takes for 0\n"
    "  python3 -c \"import numpy as np; np.save('in.npy', np.random.rand(1000).astype('f4'))\"\n"
    "  sheaf sort in.npy --index gather -o order.npy --verify";

struct sort_command {
  common_options common;
  std::string in;
  std::string output;
  std::vector<std::string> keys;
  std::string index;  ///< kind of index to write, gather; empty: records
  std::optional<index_type> index_kind;
  std::optional<std::uint64_t> memory_bytes;
  std::uint64_t record_bytes = 0;
  bool descending = false;
  bool check = false;
};

[[noreturn]] void refuse(const std::string& what) { throw error(error_code::bad_argument, what); }

void require_options(const sort_command& command) {
  if (command.check && !(command.output.empty() && command.index.empty()))
    refuse("--check looks at IN and writes nothing");
  if (command.check && command.common.plans_only) refuse("--check sorts nothing that could be planned");
  if (!command.check && command.output.empty() && !command.common.plans_only) refuse("give -o FILE, or --check");
  if (command.index.empty() && command.index_kind) refuse("--output-type is for --index");
  if (command.memory_bytes.value_or(jobs::least_external_bytes) < jobs::least_external_bytes)
    refuse("--memory: at least 1M is needed");
  for (const std::string& key : command.keys) {
    if (command.record_bytes != 0 || jobs::is_key_place(key)) jobs::parse_key_field(key, command.descending);
  }
}

std::string break_text(const sort_command& o, std::uint64_t first) {
  return fmt::format("{}: record {} belongs before record {}", io::shown_input(o.in), first, first - 1);
}

nlohmann::json order_json(const sort_command& o, const jobs::order_report& found, std::uint64_t record_bytes) {
  nlohmann::json first;
  if (found.first_break) first = {*found.first_break - 1, *found.first_break};
  return {{"command", "sort"},
          {"input", o.in},
          {"records", found.records},
          {"record_bytes", record_bytes},
          {"sorted", found.breaks == 0},
          {"breaks", found.breaks},
          {"first_break", first},
          {"duplicate_keys", found.duplicate_keys},
          {"checksum", fmt::format("{:016x}", found.checksum)}};
}

void print_order(const sort_command& o, const jobs::order_report& found, std::uint64_t record_bytes) {
  fmt::print("{}: {} records of {} bytes, {}, {} with the key of the one before, checksum {:016x}\n",
             shown_file(stdout, o.in), found.records, record_bytes,
             found.breaks == 0 ? "sorted" : fmt::format("not sorted in {} places", found.breaks), found.duplicate_keys,
             found.checksum);
}

void check(const sort_command& command, const io::record_file& file, const_records rows, const jobs::row_order& order) {
  const jobs::order_report found = jobs::look_at_order(jobs::source_of(file, rows), order);
  nlohmann::json document = order_json(command, found, rows.record_bytes);
  if (!command.common.json && !command.common.quiet) print_order(command, found, rows.record_bytes);
  if (found.first_break) throw verification_failed(break_text(command, *found.first_break), std::move(document));
  if (command.common.json && !command.common.quiet) print_json(std::move(document));
}

std::string levels_text(std::uint64_t merge_levels) {
  return merge_levels == 1 ? "at once" : fmt::format("in {} levels", merge_levels);
}

void print_sorted(const sort_command& command, const sort_job& job, const sort_report& report) {
  if (command.common.quiet) return;
  print_variants(command.common, report.plan);
  const std::string variant = chosen_variant(report.plan);
  const double moved_bytes =
      static_cast<double>(job.rows.count) * static_cast<double>(job.rows.record_bytes + job.written_bytes());
  const double rate = moved_bytes / std::max(report.times.least, std::numeric_limits<double>::min());
  const bool in_memory = report.merge_levels == 0;
  const double predicted = predicted_seconds(report.plan);
  if (command.common.json) {
    nlohmann::json document = {{"command", "sort"},
                               {"backend", name(report.backend)},
                               {"device", report.device},
                               {"threads", report.threads},
                               {"machine", report.plan.machine},
                               {"variant", variant},
                               {"records", job.rows.count},
                               {"record_bytes", job.rows.record_bytes},
                               {"seconds", report.times.least},
                               {"bytes_per_second", rate},
                               {"predicted_seconds", in_memory ? nlohmann::json(predicted) : nlohmann::json()},
                               {"memory_bytes", job.memory_bytes},
                               {"sorted_runs", report.sorted_runs},
                               {"merge_levels", report.merge_levels},
                               {"verified", command.common.verify},
                               {"output", command.output}};
    add_runs(document, command.common, report.times);
    if (!report.plan.learned.empty()) document["learned"] = report.plan.learned;
    return print_json(std::move(document));
  }
  fmt::print("sort: {} records of {} bytes with {} in {}, {}{}; {}{}{}\n", job.rows.count, job.rows.record_bytes,
             variant, seconds_text(report.times.least), rate_text(rate), runs_text(command.common, report.times),
             in_memory ? fmt::format("predicted {}", seconds_text(predicted))
                       : fmt::format("{} sorted runs, merged {}", report.sorted_runs, levels_text(report.merge_levels)),
             learned_text(report.plan), command.common.verify ? "; verified" : "");
}

// A deflated array goes to memory if most of that is left for the sort, else to a file beside the output, or where
// --temporary says; beside a stream there is no place.
io::unpacking unpacking_for(const sort_command& command, std::uint64_t memory_bytes) {
  const std::uint64_t most_bytes =
      command.check ? memory_bytes : std::min(memory_bytes / 4, memory_bytes - jobs::least_external_bytes);
  const bool is_beside_output =
      !command.check && !command.common.plans_only && !io::has_temporary_folder() && !io::names_stream(command.output);
  if (!is_beside_output) return {most_bytes, io::temporary_folder()};
  const std::string folder = std::filesystem::path(io::behind_links(command.output)).parent_path().string();
  return {most_bytes, folder.empty() ? "." : folder};
}

// What sort_file() would do.
void print_sort_plan(const sort_job& job, const std::string& input) {
  context ctx = job.common.make_context();
  const sort_plan plan = plan_sort(ctx, job);
  primitives::problem_spec problem{.primitive = job.index ? "sort_gather_index" : "sort_records",
                                   .record_bytes = job.written_bytes(),
                                   .index = job.index.value_or(index_type::u32),
                                   .count = job.rows.count,
                                   .key_bytes = job.rows.record_bytes};
  const auto fields = std::span(job.order.key.fields).first(job.order.key.count);
  problem.part<primitives::sort_part>().key_fields.assign(fields.begin(), fields.end());
  planned_work work = work_of("sort", {call_words_of(problem), plan.plan}, read_when_opened({input}));
  work.facts = {
      {"memory_bytes", job.memory_bytes}, {"sorted_runs", std::uint64_t{1}}, {"merge_levels", std::uint64_t{0}}};
  if (!plan.in_memory) {
    const planned_runs runs = runs_of(job, plan);
    work.is_predicted = false;  // for reading and writing are no part of any plan
    work.facts = {{"memory_bytes", job.memory_bytes},
                  {"sorted_runs", runs.runs},
                  {"run_rows", plan.run_rows},
                  {"run_file_bytes", runs.run_bytes},
                  {"merge_levels", runs.merge_levels}};
    work.remarks.push_back(
        fmt::format("{} does not fit into {}: {} runs of {} rows, whose plan this is, in a file of {}; "
                    "merged {}",
                    io::shown_input(input), bytes_text(job.memory_bytes), runs.runs, plan.run_rows,
                    bytes_text(runs.run_bytes), levels_text(runs.merge_levels)));
  }
  print_plan(job.common, ctx, work);
}

void run(const sort_command& command) {
  require_options(command);
  if (is_divided(command.common)) {
    const refused_option options[] = {{"--check", command.check},
                                      {"--index", !command.index.empty()},
                                      {"--memory", command.memory_bytes.has_value()}};
    refuse_on_ranks(options);
    return sort_on_ranks(
        {command.common, command.in, command.output, command.keys, command.record_bytes, command.descending});
  }
  const std::uint64_t memory_bytes =
      command.memory_bytes.value_or(std::max(core::host_available_bytes() / 2, jobs::least_external_bytes));
  if (!command.check) require_output(command.output, {command.in});
  const io::record_file file(command.in, command.record_bytes, "--record-bytes", unpacking_for(command, memory_bytes));
  const const_records rows = file.unmapped_rows(primitives::most_record_bytes);
  const jobs::row_order order = jobs::order_of_file(file, rows.record_bytes, command.keys, command.descending);
  if (command.check) return check(command, file, rows, order);
  require_name_of_kind(command.output, file);
  sort_job job{command.common, file, rows, order, command.output, {}, 0};
  if (!command.index.empty()) job.index = index_type_for(command.index_kind, rows.count);
  job.memory_bytes = memory_bytes;
  if (command.common.plans_only) return print_sort_plan(job, command.in);
  print_sorted(command, job, sort_file(job));
}

}  // namespace

void add_sort(CLI::App& app) {
  const auto command = std::make_shared<sort_command>();
  CLI::App* subcommand = app.add_subcommand("sort", "Bring records into the order of their keys");
  add_input(*subcommand, "IN", command->in, "Records: .npy, .npz, or raw with --record-bytes")->required();
  add_output(*subcommand, command->output);
  subcommand
      ->add_option("-k,--key", command->keys, "What to sort by; may be given up to 8 times, and the first decides")
      ->type_name("(NAME|OFFSET:BYTES[:TYPE])[:asc|desc]")
      ->allow_extra_args(false);
  subcommand->add_flag("-r,--descending", command->descending,
                       "The highest first, for keys that do not say :asc or :desc");
  subcommand->add_option("--index", command->index, "Write where records come from (gather) instead of them")
      ->check(CLI::IsMember({"gather"}));
  add_index_type(*subcommand, command->index_kind, "Type of the index written; u32 unless there are too many records",
                 "--output-type");
  CLI::Option* const check = subcommand->add_flag(
      "--check", command->check,
      "Report whether IN is sorted (exit code 4 if not), how many keys repeat the one before, and a "
      "checksum that does not depend on the order");
  add_record_bytes(*subcommand, command->record_bytes);
  add_byte_size(
      *subcommand, "--memory", command->memory_bytes,
      "Most memory for scratch and buffers, the records among them, such as 512M, 1.5G or 4GiB; more records are "
      "sorted run by run, on a disk; half of what is free to this process unless given");
  command->common.add_variant_to(*subcommand, "sort_records");
  command->common.add_runs_to(*subcommand, "Sort this many times, in memory, and report the times");
  command->common.add_learn_to(*subcommand);
  command->common.add_context_to(*subcommand);
  command->common.add_devices_to(*subcommand);
  command->common.add_verify_to(
      *subcommand,
      "Check that the result is in order and, by checksums, that it has IN's records and equal keys in IN's "
      "order; of an index, check every entry");
  for (const char* of_sorts : {"--backend", "--threads", "--devices", "--memory", "--verify", "--variant", "--runs"}) {
    check->excludes(subcommand->get_option(of_sorts));
  }
  common_options::add_temporary_to(*subcommand);
  command->common.add_json_to(*subcommand);
  command->common.add_quiet_to(*subcommand);
  command->common.add_verbose_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(sort_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
