#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "apps/sheaf/subcommands/search_run.hpp"
#include "core/printable.hpp"
#include "lab/description/hash/problem.hpp"

// The subcommand search: which rows of a table have a key, for every key of a file.
namespace sheaf::cli {
namespace {

constexpr const char* search_footer =
    "KEYS has numbers or dates of 4 or 8 bytes: .npy or .npz (file.npz:NAME) of any shape, or raw with --key-bytes.\n"
    "TABLE is an .npy or .npz array, whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. A row is the key itself, unless --key says where the key lies in it, or names the field of\n"
    "a structured array. Keys are equal if their bits are: 0.0 is not -0.0, and a NaN equals itself. Numbers of KEYS\n"
    "and TABLE must have the same type, apart from their sign; their byte order may differ. Keys at OFFSET:BYTES of\n"
    "rows, and keys of raw files, are compared as their bytes lie. All matches go to PREFIX.ids.npy: the rows of key\n"
    "i, ascending, are ids[offsets[i]:offsets[i + 1]] with the offsets of PREFIX.offsets.npy. With --matches\n"
    "first, PREFIX.ids.npy has KEYS' shape, and a number with all bits set where no row has the key. With --matches\n"
    "count, PREFIX.counts.npy has KEYS' shape. --payload FILE adds the records of FILE that the ids name:\n"
    "PREFIX.records.npy, or PREFIX.records.bin where FILE is raw. Either all of these files appear or none.\n\n"
    "Example: which rows have the keys 7, 5 and 9\n"
    "  python3 -c \"import numpy as np; np.save('table.npy', np.array([5, 7, 5, 8]))\"\n"
    "  python3 -c \"import numpy as np; np.save('keys.npy', np.array([7, 5, 9]))\"\n"
    "  sheaf search keys.npy table.npy -o found --verify\n"
    "Raw records of 16 bytes with a key of 4 bytes from byte 8 on, and the records that are found\n"
    "  sheaf search keys.bin table.bin --key-bytes 4 --record-bytes 16 --key 8:4 \\\n"
    "    --payload table.bin --payload-bytes 16 -o found";

void require_options(const search_command& command) {
  if (!command.payload.empty() && command.wants != wanted::matches) {
    primitives::refuse("--payload is for --matches all");
  }
  const bool is_place = command.record_bytes != 0 || jobs::is_key_place(command.table_key);
  if (!command.table_key.empty() && is_place) static_cast<void>(parse_key_place(command.table_key));
  if (command.payload.empty() && command.payload_bytes != 0) primitives::refuse("--payload-bytes is for --payload");
  if (command.load_percent != 0 && command.build_variant().starts_with("reference."))
    primitives::refuse("--load is for hash tables, and the reference has none");
  if (command.common.is_reference() && !command.variant().starts_with("reference.")) {
    primitives::refuse("--variant {} does not belong to --backend reference",
                       core::printable(command.common.variant_name));
  }
}

void print_found(const search_command& command, const context& ctx, const search_report& search,
                 const std::vector<std::string>& outputs) {
  if (command.common.quiet) return;
  print_variants(command.common, search.plan);
  const std::string variant = search.probes > 0 && search.records > 0 ? chosen_variant(search.plan) : "nothing";
  const double predicted = predicted_seconds(search.plan);
  if (command.common.json) {
    nlohmann::json report = report_of(command.common.command_name, ctx);
    report.update({{"primitive", search.plan.primitive},
                   {"variant", variant},
                   {"build_variant", search.built_by},
                   {"keys", search.probes},
                   {"records", search.records},
                   {"distinct", search.distinct},
                   {"longest_chain", search.longest_chain},
                   {"load", search.load},
                   {"matches", search.matches},
                   {"build_seconds", search.build_seconds},
                   {"seconds", search.times.least},
                   {"predicted_seconds", predicted},
                   {"verified", command.common.verify},
                   {"output", command.prefix},
                   {"outputs", outputs}});
    add_runs(report, command.common, search.times);
    return print_json(std::move(report));
  }
  const std::string_view what = command.wants == wanted::first ? "keys with a record" : "matches";
  fmt::print("{}: {} keys among {} records, {} {}, with {} in {}{}; predicted {}; index built in {}{}\n",
             search.plan.primitive, search.probes, search.records, search.matches, what, variant,
             seconds_text(search.times.least), runs_text(command.common, search.times), seconds_text(predicted),
             seconds_text(search.build_seconds), command.common.verify ? "; verified" : "");
}

std::optional<io::record_file> payload_of(const search_command& command, std::uint64_t count) {
  std::optional<io::record_file> file;
  if (command.payload.empty()) return file;
  file.emplace(command.payload, command.payload_bytes, "--payload-bytes");
  const std::uint64_t found = file->unmapped_rows(primitives::most_record_bytes).count;
  if (found == count) return file;
  io::fail(command.payload, "{} records, but {} has {} rows", found, io::shown_input(command.table), count);
}

// What a table is, and what its index turned out to be: the entries' words are of generated tables.
call_words words_of_build(const search_command& o, const const_records table, const hash_index& index) {
  return {"build_hash_index",
          fmt::format("{} records of {}, {} distinct keys of {} bytes, at most {} records of one", table.count,
                      io::shown_input(o.table), index.distinct(), table.record_bytes, index.longest_chain()),
          {{"count", table.count},
           {"key_bytes", table.record_bytes},
           {"distinct", index.distinct()},
           {"longest_chain", index.longest_chain()}}};
}

call_words words_of_search(std::string primitive, const const_records probes, const hash_index& index) {
  return {std::move(primitive),
          fmt::format("{} keys of {} bytes among {} records with {} distinct ones", probes.count, probes.record_bytes,
                      index.count(), index.distinct()),
          {{"count", probes.count},
           {"table", index.count()},
           {"key_bytes", probes.record_bytes},
           {"distinct", index.distinct()},
           {"longest_chain", index.longest_chain()}}};
}

void print_search_plan(const search_run& search, bool read_keys) {
  const search_command& command = search.command;
  explanation plan = search.plan();
  const std::string primitive = plan.primitive;
  std::vector<std::string> read = read_when_opened({command.keys, command.payload});
  if (read_keys && read_when_opened({command.keys}).empty()) read.push_back(command.keys);
  read.push_back(command.table);
  planned_work work =
      work_of("search", {words_of_search(primitive, search.probes, search.index), std::move(plan)}, std::move(read));
  if (!search.finds_any()) work.variant = "nothing";
  work.calls.push_back({words_of_build(command, search.table, search.index),
                        explain_build_hash_index(search.ctx, search.table, command.build_options())});
  work.remarks.emplace_back("the index was built, because a search is planned by it");
  if (!command.payload.empty())
    work.remarks.emplace_back("the gather of --payload is not planned: it follows from the matches");
  print_plan(command.common, search.ctx, work);
}

void run(const search_command& command) {
  require_options(command);
  io::require_streams_apart(std::vector{command.keys, command.table, command.payload});
  const context ctx = command.common.make_context();
  key_file keys(command.keys, command.key_bytes);
  const io::record_file table(command.table, command.record_bytes);
  const const_records rows = table.rows(primitives::most_record_bytes);
  const key_place place = key_of_rows(command.table_key, table, rows);
  const std::optional<io::record_file> payload = payload_of(command, rows.count);
  const auto keys_in = [&](const std::byte* first) {
    return const_records(first == nullptr ? nullptr : first + place.offset, rows.count, place.bytes, rows.record_bytes);
  };

  std::optional<output_set> outputs;
  if (!command.prefix.empty())
    outputs.emplace(command.prefix, std::vector{command.keys, command.table, command.payload});
  if (!command.common.plans_only) open_outputs(command, keys.keys().count, payload, *outputs);
  const bool read_keys = bring_to_one_type(keys, table, place);

  search_report report;
  const io::held_memory copies(
      "copies on the device",
      bytes_on_device(ctx, bytes_of(rows.count, rows.record_bytes) + bytes_of(keys.keys().count, place.bytes)));
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(bytes_of(rows.count, 2 * sizeof(std::uint64_t)));
  const context_input context_rows(ctx, rows.data, rows.count * rows.record_bytes);
  const std::uint64_t sent_probes = command.common.plans_only && !jobs::works_in_place(ctx) ? 0 : keys.keys().count;
  const context_input context_probes(ctx, keys.keys().data, sent_probes * place.bytes);
  command.common.require_scratch(explain_build_hash_index(ctx, keys_in(context_rows.data()), command.build_options()),
                                 command.build_variant());
  std::optional<hash_index> index;
  std::optional<io::progress_step> building("building an index of " + io::shown_input(command.table));
  report.build_seconds = timed(ctx, command.table, [&] {
    index.emplace(build_hash_index(ctx, keys_in(context_rows.data()), command.build_options()));
  });
  building.reset();
  const io::held_memory index_memory("the index of the table", index->bytes());
  const std::uint64_t answer_bytes =
      command.wants == wanted::matches ? 0 : bytes_of(keys.keys().count, bytes(index->id_type()));
  const io::held_memory answer(
      {{"the result", answer_bytes}, {"copies for the host", bytes_on_device(ctx, answer_bytes)}});
  command.common.limit_scratch(ctx);
  report.probes = keys.keys().count;
  report.built_by = index->variant();
  report.records = index->count();
  report.distinct = index->distinct();
  report.longest_chain = index->longest_chain();
  report.load = index->load();

  const search_run search{command,
                          ctx,
                          keys,
                          keys_in(rows.data),
                          {context_probes.data(), report.probes, place.bytes},
                          *index,
                          outputs ? &*outputs : nullptr,
                          report};
  if (command.common.plans_only) return print_search_plan(search, read_keys);
  report.plan = search.plan();
  command.common.require_scratch(report.plan);
  switch (command.wants) {
    case wanted::matches: search.find_all(payload); break;
    case wanted::first: search.find_first(); break;
    case wanted::counts: search.count(); break;
  }
  outputs->commit();
  print_found(command, ctx, report, outputs->paths());
}

}  // namespace

void add_search(CLI::App& app) {
  const auto command = std::make_shared<search_command>();
  CLI::App* subcommand = app.add_subcommand("search", "Find the rows of TABLE that have each key of KEYS");
  add_input(*subcommand, "KEYS", command->keys, "Keys to search for: .npy, .npz, or raw with --key-bytes")->required();
  add_input(*subcommand, "TABLE", command->table, "Records to look among: .npy, .npz, or raw with --record-bytes")
      ->required();
  subcommand
      ->add_option("-o,--output", command->prefix,
                   "How the names of the results begin: PREFIX.ids.npy and others, all of them whole or none")
      ->required()
      ->type_name("PREFIX");
  subcommand
      ->add_option(
          "-k,--key", command->table_key,
          "Where the key of 4 or 8 bytes lies in a row of TABLE, or the field that it is; a row is a key unless "
          "given")
      ->type_name("NAME|OFFSET:BYTES");
  subcommand
      ->add_option_function<std::string>(
          "--matches",
          [command](const std::string& text) {
            command->wants = text == "first" ? wanted::first : text == "count" ? wanted::counts : wanted::matches;
          },
          "What is written of the rows that have a key: which they are, the first of them, or how many")
      ->check(CLI::IsMember({"all", "first", "count"}))
      ->default_str("all");
  subcommand
      ->add_option("--payload", command->payload,
                   "Also write the found records of FILE, which has one for each row of TABLE")
      ->type_name("FILE");
  subcommand
      ->add_option_function<std::string>(
          "--key-bytes", [command](const std::string& text) { command->key_bytes = text == "4" ? 4 : 8; },
          "Width of raw KEYS; .npy files know their own")
      ->check(CLI::IsMember({"4", "8"}));
  add_record_bytes(*subcommand, command->record_bytes);
  add_record_bytes(*subcommand, command->payload_bytes, "--payload-bytes",
                   "Width of raw records of --payload; .npy files know their own");
  add_number(*subcommand, "--load", primitives::least_load_percent, primitives::most_load_percent,
             command->load_percent,
             "Load factor of the hash table, in per cent; what the backend finds best unless given")
      ->type_name("PERCENT");
  command->common.add_variant_to(*subcommand, "hash_search");
  command->common.add_runs_to(*subcommand, "Search this many times, and report the times");
  command->common.add_to(*subcommand, "Check the answer by a binary search in a sorted array");
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(search_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
