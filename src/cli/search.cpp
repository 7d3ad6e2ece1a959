#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/hash_search.hpp>

#include "cli/files/output_set.hpp"
#include "cli/files/search_keys.hpp"
#include "cli/movement.hpp"
#include "core/printable.hpp"
#include "jobs/checks/movement.hpp"
#include "jobs/checks/search.hpp"
#include "primitives/views.hpp"

// The subcommand search: which rows of a table have a key, for every key of a file.
namespace sheaf::cli {
namespace {

constexpr const char* footer =
    "KEYS has numbers or dates of 4 or 8 bytes: .npy of any shape, or raw with --key-bytes. TABLE is an .npy array, "
    "whose\n"
    "rows along the first axis are the records, or raw records of --table-bytes. A row is the key itself, unless\n"
    "--table-key says where the key lies in it. Keys are equal if their bits are, so 0.0 is not -0.0, a NaN is itself, "
    "and\n"
    "numbers of KEYS and TABLE have to be of one type, but for their sign; the order of their bytes may differ. Keys\n"
    "inside of rows, and of raw files, are compared as their bytes lie.\n"
    "All matches go to PREFIX.ids.npy: the rows of key i, ascending, are ids[offsets[i]:offsets[i + 1]] with the "
    "offsets\n"
    "of PREFIX.offsets.npy. With --first, PREFIX.ids.npy has KEYS' shape, and the number of all bits set where no row "
    "has\n"
    "the key. With --count, PREFIX.counts.npy has KEYS' shape. --records FILE adds PREFIX.records.npy, the records of "
    "FILE\n"
    "that the ids name; PREFIX.records.bin where FILE is raw. Either all of these files appear or none.\n\n"
    "Example: which rows have the keys 7, 5 and 9\n"
    "  python3 -c \"import numpy as np; np.save('table.npy', np.array([5, 7, 5, 8]))\"\n"
    "  python3 -c \"import numpy as np; np.save('keys.npy', np.array([7, 5, 9]))\"\n"
    "  sheaf search keys.npy table.npy -o found --verify\n"
    "Raw records of 16 bytes with a key of 4 bytes from byte 8 on, and the records that are found\n"
    "  sheaf search keys.bin table.bin --key-bytes 4 --table-bytes 16 --table-key 8:4 \\\n"
    "    --records table.bin --record-bytes 16 -o found";

enum class wanted : std::uint8_t { matches, first, counts };

struct search_command {
  common_options common;
  std::string keys;
  std::string table;
  std::string prefix;
  std::string records;
  std::string search_variant;
  std::uint64_t key_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t record_bytes = 0;
  std::optional<key_place> table_key;
  bool first = false;
  bool count = false;

  wanted output() const { return count ? wanted::counts : first ? wanted::first : wanted::matches; }
  /// The variant of the search, and that of the build: the reference searches its own index alone.
  std::string_view variant() const { return search_variant.empty() ? common.variant() : search_variant; }
  std::string_view build_variant() const {
    return variant().starts_with("reference.") ? variant() : std::string_view();
  }
};

[[noreturn]] void refuse(error_code code, const std::string& what) { throw error(code, what); }

void require_options(const search_command& o) {
  if (!o.records.empty() && o.output() != wanted::matches) {
    refuse(error_code::bad_argument, "--records is for all matches, not for --first or --count");
  }
  if (o.records.empty() && o.record_bytes != 0) refuse(error_code::bad_argument, "--record-bytes is for --records");
  if (o.common.is_reference() && !o.variant().starts_with("reference.")) {
    refuse(error_code::bad_argument,
           fmt::format("--variant {} is not of --backend reference", core::printable(o.search_variant)));
  }
}

/// Numbers of the outputs of a search for all matches; other searches have one.
constexpr std::size_t offsets_output = 0;
constexpr std::size_t ids_output = 1;
constexpr std::size_t records_output = 2;

void open_outputs(const search_command& o, std::uint64_t probes, const std::optional<io::record_file>& records,
                  output_set& outputs) {
  constexpr std::uint64_t least_entry_bytes = 4;
  if (o.output() == wanted::counts) return outputs.open("counts.npy", probes * least_entry_bytes);
  if (o.output() == wanted::first) return outputs.open("ids.npy", probes * least_entry_bytes);
  outputs.open("offsets.npy", (probes + 1) * sizeof(std::uint64_t));
  outputs.open("ids.npy", 0);
  if (records) outputs.open(records->is_npy() ? "records.npy" : "records.bin", 0);
}

/// Memory of a context as host memory: a copy, unless the host reaches it.
class host_view {
 public:
  host_view(const context& ctx, const void* from, std::uint64_t bytes) : data_(from) {
    if (ctx.backend() == backend_kind::cpu || bytes == 0) return;
    copy_ = buffer(context::cpu(1), bytes);
    copy_bytes(ctx, copy_.data(), from, bytes);
    data_ = copy_.data();
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  buffer copy_;
};

/// What a search has found, in host memory.
struct search_report {
  std::uint64_t probes = 0;
  std::uint64_t matches = 0;  ///< of --first, keys that some row has
  double build_seconds = 0;
  double seconds = 0;
  explanation plan;
  std::string built_by;
  std::uint64_t records = 0;
  std::uint64_t distinct = 0;
  std::uint64_t longest_chain = 0;
};

template <class Work>
double seconds_of(const context& ctx, Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  ctx.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr const char* descr_of(index_type type) { return bytes(type) == 4 ? "'<u4'" : "'<u8'"; }

std::string shaped_header(const key_file& keys, index_type type) {
  return io::format_npy_header(io::parse_npy_type(descr_of(type), "sheaf"), keys.file().shape());
}

void require_right(const std::optional<std::string>& mistake) {
  if (mistake) throw verification_failed(*mistake);
}

/// A search and its files. Members are what all kinds of searches share.
struct search_run {
  const search_command& o;
  const context& ctx;
  const key_file& keys;
  const_records table;   ///< keys of the rows, in host memory
  const_records probes;  ///< in the context's memory
  const hash_index& index;
  output_set& outputs;
  search_report& report;

  hash_search_options options() const { return {.variant = o.variant()}; }
  void find_all(const std::optional<io::record_file>& records) const;
  void find_first() const;
  void count() const;

 private:
  void gather_records(const io::record_file& file, index_span context_ids, index_span ids) const;
};

void search_run::gather_records(const io::record_file& file, index_span context_ids, index_span ids) const {
  const std::string& path = outputs.path(records_output);
  const const_records from = file.rows(primitives::most_record_bytes);
  const context_input context_from(ctx, from.data, from.count * from.record_bytes);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(ids.count, from.record_bytes, &bytes)) {
    refuse(error_code::out_of_memory, fmt::format("{}: {} records of {} bytes", path, ids.count, from.record_bytes));
  }
  const std::string header = output_header(file, std::span(&ids.count, 1), file.row_shape());
  outputs.reserve(records_output, header.size() + bytes);
  const buffer gathered(ctx, bytes);
  gather(ctx, {context_from.data(), from.count, from.record_bytes}, context_ids,
         records{gathered.data(), ids.count, from.record_bytes}, {.variant = o.common.variant()});
  ctx.wait();
  const host_view found(ctx, gathered.data(), bytes);
  if (o.common.verify) {
    const const_records rows(found.data(), ids.count, from.record_bytes);
    if (const auto record = jobs::first_gather_difference(from, ids, rows)) {
      throw verification_failed(fmt::format("record {} of {} is not that of the reference", *record, path));
    }
  }
  outputs.write(records_output, header, found.data(), bytes);
}

void search_run::find_all(const std::optional<io::record_file>& records) const {
  report.plan = explain_hash_search(ctx, index, probes, options());
  hash_matches found;
  report.seconds = seconds_of(ctx, [&] { found = hash_search(ctx, index, probes, options()); });
  report.matches = found.total;
  const std::string offsets_header = numbers_header("'<u8'", found.probes + 1);
  const std::string ids_header = numbers_header(descr_of(found.id_type), found.total);
  const std::uint64_t offset_bytes = (found.probes + 1) * sizeof(std::uint64_t);
  const std::uint64_t id_bytes = found.total * bytes(found.id_type);
  outputs.reserve(offsets_output, offsets_header.size() + offset_bytes);
  outputs.reserve(ids_output, ids_header.size() + id_bytes);
  const host_view offsets(ctx, found.offsets().data, offset_bytes);
  const host_view id_view(ctx, found.ids().data, id_bytes);
  const index_span ids(id_view.data(), found.total, found.id_type);
  if (o.common.verify) {
    const std::span all(static_cast<const std::uint64_t*>(offsets.data()), found.probes + 1);
    require_right(jobs::sorted_keys(table).search_mistake(keys.keys(), all, ids));
  }
  outputs.write(offsets_output, offsets_header, offsets.data(), offset_bytes);
  outputs.write(ids_output, ids_header, ids.data, id_bytes);
  if (records) gather_records(*records, found.ids(), ids);
}

void search_run::find_first() const {
  const index_type type = index.id_type();
  report.plan = explain_hash_find(ctx, index, probes, options());
  const buffer memory(ctx, probes.count * bytes(type));
  report.seconds = seconds_of(ctx, [&] {
    hash_find(ctx, index, probes, {memory.data(), probes.count, type}, options());
  });
  const host_view found(ctx, memory.data(), memory.size());
  const index_span ids(found.data(), probes.count, type);
  const auto is_none = [&](std::uint64_t i) {
    if (bytes(type) == 4) return static_cast<const std::uint32_t*>(ids.data)[i] == 0xffffffffU;
    return static_cast<const std::uint64_t*>(ids.data)[i] == ~std::uint64_t{0};
  };
  for (std::uint64_t i = 0; i < probes.count; ++i) report.matches += is_none(i) ? 0 : 1;
  if (o.common.verify) require_right(jobs::sorted_keys(table).find_mistake(keys.keys(), ids));
  outputs.write(0, shaped_header(keys, type), ids.data, probes.count * bytes(type));
}

void search_run::count() const {
  const index_type type = index.id_type();  // of which there are more than a key has records
  const index_output shape{nullptr, probes.count, type};
  report.plan = explain_hash_count(ctx, index, probes, shape, options());
  const buffer memory(ctx, probes.count * bytes(type));
  report.seconds = seconds_of(ctx, [&] {
    hash_count(ctx, index, probes, {memory.data(), probes.count, type}, options());
  });
  const host_view found(ctx, memory.data(), memory.size());
  const index_span counts(found.data(), probes.count, type);
  for (std::uint64_t i = 0; i < probes.count; ++i) {
    report.matches += bytes(type) == 4 ? static_cast<const std::uint32_t*>(counts.data)[i]
                                       : static_cast<const std::uint64_t*>(counts.data)[i];
  }
  if (o.common.verify) require_right(jobs::sorted_keys(table).count_mistake(keys.keys(), counts));
  outputs.write(0, shaped_header(keys, type), counts.data, probes.count * bytes(type));
}

void print_found(const search_command& o, const context& ctx, const search_report& r,
                 const std::vector<std::string>& outputs) {
  if (o.common.quiet) return;
  const variant_estimate* const choice = r.plan.choice();
  const std::string variant = choice != nullptr && r.probes > 0 && r.records > 0 ? choice->variant : "nothing";
  const double predicted = choice != nullptr ? choice->seconds : 0;
  if (o.common.json) {
    return print_json({{"command", r.plan.primitive},
                       {"backend", name(ctx.backend())},
                       {"threads", ctx.threads()},
                       {"machine", r.plan.machine},
                       {"variant", variant},
                       {"build_variant", r.built_by},
                       {"keys", r.probes},
                       {"records", r.records},
                       {"distinct", r.distinct},
                       {"longest_chain", r.longest_chain},
                       {"matches", r.matches},
                       {"build_seconds", r.build_seconds},
                       {"seconds", r.seconds},
                       {"predicted_seconds", predicted},
                       {"verified", o.common.verify},
                       {"outputs", outputs}});
  }
  const std::string_view what = o.first ? "keys with a record" : "matches";
  fmt::print("{}: {} keys among {} records, {} {}, with {} in {}; predicted {}; index built in {}{}\n",
             r.plan.primitive, r.probes, r.records, r.matches, what, variant, seconds_text(r.seconds),
             seconds_text(predicted), seconds_text(r.build_seconds), o.common.verify ? "; verified" : "");
}

std::optional<io::record_file> records_of(const search_command& o, std::uint64_t count) {
  std::optional<io::record_file> file;
  if (o.records.empty()) return file;
  file.emplace(o.records, o.record_bytes);
  const std::uint64_t found = file->unmapped_rows(primitives::most_record_bytes).count;
  if (found == count) return file;
  refuse(error_code::bad_input, fmt::format("{}: {} records, but {} has {} rows", o.records, found, o.table, count));
}

void run(const search_command& o) {
  require_options(o);
  const context ctx = o.common.make_context();
  key_file keys(o.keys, o.key_bytes);
  const io::record_file table(o.table, o.table_bytes, "--table-bytes");
  const const_records rows = table.rows(primitives::most_record_bytes);
  const key_place place = key_of_rows(o.table_key ? &*o.table_key : nullptr, table, rows);
  bring_to_one_type(keys, table, rows, place);
  const std::optional<io::record_file> records = records_of(o, rows.count);
  const auto keys_in = [&](const std::byte* first) {
    return const_records(first == nullptr ? nullptr : first + place.offset, rows.count, place.bytes, rows.record_bytes);
  };

  output_set outputs(o.prefix, {o.keys, o.table, o.records});
  open_outputs(o, keys.keys().count, records, outputs);

  search_report report;
  const context_input context_rows(ctx, rows.data, rows.count * rows.record_bytes);
  const context_input context_probes(ctx, keys.keys().data, keys.keys().count * place.bytes);
  std::optional<hash_index> index;
  report.build_seconds = seconds_of(
      ctx, [&] { index.emplace(build_hash_index(ctx, keys_in(context_rows.data()), {.variant = o.build_variant()})); });
  report.probes = keys.keys().count;
  report.built_by = index->variant();
  report.records = index->count();
  report.distinct = index->distinct();
  report.longest_chain = index->longest_chain();

  const search_run search{
      o, ctx, keys, keys_in(rows.data), {context_probes.data(), report.probes, place.bytes}, *index, outputs, report};
  switch (o.output()) {
    case wanted::matches: search.find_all(records); break;
    case wanted::first: search.find_first(); break;
    case wanted::counts: search.count(); break;
  }
  outputs.commit();
  print_found(o, ctx, report, outputs.paths());
}

}  // namespace

void add_search(CLI::App& app) {
  const auto o = std::make_shared<search_command>();
  CLI::App* subcommand = app.add_subcommand("search", "Find the rows of TABLE that have each key of KEYS");
  subcommand->add_option("KEYS", o->keys, "Keys to search for: .npy, or raw with --key-bytes")
      ->required()
      ->type_name("");
  subcommand->add_option("TABLE", o->table, "Records to look among: .npy, or raw with --table-bytes")
      ->required()
      ->type_name("");
  subcommand
      ->add_option("-o,--output", o->prefix,
                   "How the names of the results begin: PREFIX.ids.npy and others, all of them whole or none")
      ->required()
      ->type_name("PREFIX");
  subcommand
      ->add_option_function<std::string>(
          "--table-key", [o](const std::string& text) { o->table_key = parse_key_place(text); },
          "Where the key of 4 or 8 bytes lies in a row of TABLE; a row is a key unless given")
      ->type_name("OFFSET:BYTES");
  CLI::Option* const first =
      subcommand->add_flag("--first", o->first, "Write one row for each key, the first that has it");
  subcommand->add_flag("--count", o->count, "Write how many rows have each key, not which")->excludes(first);
  subcommand
      ->add_option("--records", o->records, "Also write the records of FILE, one for each row of TABLE, that are found")
      ->type_name("FILE");
  subcommand
      ->add_option_function<std::string>(
          "--key-bytes", [o](const std::string& text) { o->key_bytes = text == "4" ? 4 : 8; },
          "Width of raw KEYS; .npy files know their own")
      ->check(CLI::IsMember({"4", "8"}));
  add_number(
      *subcommand, "--table-bytes", 1, primitives::most_record_bytes, [o](std::uint64_t n) { o->table_bytes = n; },
      "Width of rows of a raw TABLE; .npy files know their own");
  add_number(
      *subcommand, "--record-bytes", 1, primitives::most_record_bytes, [o](std::uint64_t n) { o->record_bytes = n; },
      "Width of raw records of --records; .npy files know their own");
  subcommand->add_option("--variant", o->search_variant, "Search by this variant, as sheaf plan hash_search names them")
      ->type_name("NAME");
  o->common.add_context_to(*subcommand);
  o->common.add_memory_to(*subcommand);
  o->common.add_verify_to(*subcommand, "Check the answer by a binary search in a sorted array");
  o->common.add_json_to(*subcommand);
  o->common.add_quiet_to(*subcommand);
  subcommand->footer(footer);
  subcommand->callback([o] { run(*o); });
}

}  // namespace sheaf::cli
