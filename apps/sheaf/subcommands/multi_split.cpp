#include "apps/sheaf/subcommands/multi_split.hpp"

#include "apps/sheaf/checks/split.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/ranks/splits.hpp"
#include "apps/sheaf/subcommands/files/memberships.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "lab/description/split/problem.hpp"

// The subcommand multi-split: records that may be in several categories, once for each of these. split
// --row-offsets does the same.
namespace sheaf::cli {
namespace {

constexpr const char* multi_split_footer =
    "IN is an .npy or .npz array (file.npz:NAME), whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. A record may be in any number of categories: those of record r are KEYS[ROWS[r]] to\n"
    "KEYS[ROWS[r + 1] - 1], where ROWS are the --row-offsets, as in the compressed rows of a matrix of records by\n"
    "categories. ROWS has one number more than there are records; it ascends from 0 to the number of KEYS' entries.\n"
    "Each record is written once for each of its categories: first those of category 0, each category in the order\n"
    "of IN. --sources also writes which records they are. If these numbers are all that is wanted, IN and -o are left "
    "out.\n"
    "Either all of the files appear or none.\n\n"
    "Example: three records of two letters, the first in categories 1 and 0, the second in 0, the third in 0 and 1\n"
    "  printf 'a b c ' > in.bin; printf '\\1\\0\\0\\0\\1' > of.bin\n"
    "  printf '\\0\\0\\0\\0\\2\\0\\0\\0\\3\\0\\0\\0\\5\\0\\0\\0' > rows.bin\n"
    "  sheaf multi-split in.bin --record-bytes 2 --row-offsets rows.bin --index-type u32 \\\n"
    "    --keys of.bin --key-bytes 1 --categories 2 -o out.bin --verify\n"
    "Which rows of a table are in each of the categories 0 to 3, and where each category begins\n"
    "  python3 -c \"import numpy as np; np.save('rows.npy', np.array([0, 2, 2, 3]))\"\n"
    "  python3 -c \"import numpy as np; np.save('of.npy', np.array([3, 1, 1], 'u2'))\"\n"
    "  sheaf multi-split --row-offsets rows.npy --keys of.npy --categories 4 --sources sources.npy \\\n"
    "    --offsets offsets.npy";

void require_options(const multi_split_command& o) {
  if (o.output.empty() && o.sources.empty() && !o.common.plans_only) primitives::refuse("give -o, --sources or both");
  if (o.in.empty() && !o.output.empty()) primitives::refuse("-o needs IN; --sources alone does without records");
  if (!o.in.empty() && !o.moves() && !o.writes_index)
    primitives::refuse("IN is for -o; --sources alone does without records");
  if (o.in.empty() && o.record_bytes != 0) primitives::refuse("--record-bytes is for IN");
  const bool has_index = !o.sources.empty() || o.writes_index || (o.common.plans_only && !o.moves());
  if (o.sources_type && !has_index) primitives::refuse("--output-type is for --sources");
  if (o.key_bytes > 4 || o.key_bytes == 3) primitives::refuse("--key-bytes is {}, not 1, 2 or 4", o.key_bytes);
}

void require_outputs(const multi_split_command& o) {
  const std::pair<const std::string&, const char*> outputs[] = {
      {o.output, "-o"}, {o.sources, o.writes_index ? "-o" : "--sources"}, {o.offsets, "--offsets"}};
  for (const auto& [path, option] : outputs) {
    if (path.empty()) continue;
    require_output(path, {o.in, o.row_offsets, o.keys}, option);
    for (const auto& [other, other_option] : outputs) {
      if (&other == &path) break;
      if (!other.empty() && io::name_one_file(other, path))
        primitives::refuse("{} and {} are both {}", other_option, option, path);
    }
  }
}

// The files, whose rows are read once all of them are found to be of the right kind.
struct multi_split_inputs {
  std::optional<io::record_file> in_file;
  row_offset_file row_offsets;
  io::record_file category_file;
  io::native_numbers categories;
  const_records in;  ///< none where they are not moved
  const_records of;  ///< categories of all records

  /// Opens them, and finds how much there is.
  explicit multi_split_inputs(const multi_split_command& o)
      : row_offsets(o.row_offsets, o.row_offset_type, o.common.wanted()),
        category_file(o.keys, o.key_bytes, "--key-bytes") {
    require_category_type(category_file, "membership");
    if (!o.in.empty()) {
      in_file.emplace(o.in, o.record_bytes);
      if (o.moves()) require_name_of_kind(o.output, *in_file);
      in = in_file->unmapped_rows(primitives::most_record_bytes);
      if (in.count != row_offsets.records()) {
        io::fail(o.row_offsets, "{} numbers, but {} has {} records, which need {}", row_offsets.records() + 1,
                 io::shown_input(o.in), in.count, in.count + 1);
      }
    }
    if (o.writes_index) require_name_of_kind(o.sources, like());
    if (!o.moves()) in = {};
    of = category_file.unmapped_rows(sizeof(std::uint32_t));
  }

  void read(const multi_split_command& o) {
    if (o.moves()) in = in_file->rows(primitives::most_record_bytes);
    of = category_file.rows(sizeof(std::uint32_t));
    categories = io::native_numbers(of, category_file.type());
    of.data = categories.data();
    row_offsets.require_ascending_to(of.count, o.keys);
  }

  /// What an index is written like.
  const io::record_file& like() const { return in_file ? *in_file : category_file; }
};

// A file that was asked for, or none, and where a context writes it.
class wanted_output {
 public:
  wanted_output(const context& ctx, const std::string& path, const std::string& header, std::uint64_t count,
                std::uint64_t width)
      : count_(count), width_(width) {
    if (path.empty()) return;
    host_.emplace(path, header, count, width);
    placed_ = std::make_unique<context_output>(ctx, *host_);
  }

  std::uint64_t count() const { return host_ ? count_ : 0; }
  records in_context() const { return {placed_ ? placed_->data() : nullptr, count(), width_}; }
  records on_host() const { return host_ ? host_->rows() : records{nullptr, 0, width_}; }
  void fetch() const {
    if (placed_) placed_->fetch();
  }
  /// Writes the file, which then has yet to appear.
  void finish_into(std::vector<io::output_file*>& files) {
    if (host_) files.push_back(&host_->finish());
  }

 private:
  std::uint64_t count_;
  std::uint64_t width_;
  std::optional<record_output> host_;
  std::unique_ptr<context_output> placed_;
};

std::span<std::uint64_t> words_of(const records& list) {
  return {reinterpret_cast<std::uint64_t*>(list.data), list.count};
}

planned_call plan_of(const multi_split_command& command, const context& ctx, const multi_split_inputs& files,
                     index_type sources) {
  const bool moves = command.moves();
  primitives::problem_spec problem{.primitive = primitives::multi_split_entry.name,
                                   .record_bytes = moves ? files.in.record_bytes : 0,
                                   .index = sources,
                                   .count = files.of.count,
                                   .key_bytes = files.of.record_bytes,
                                   .table = files.row_offsets.records()};
  problem.part<primitives::split_part>().categories = command.categories;
  planned_call call{call_words_of(problem),
                    primitives::multi_split_entry.explain(ctx, problem, command.common.variant())};
  if (!moves) call.words.primitive = call.plan.primitive = "multi_split_index";
  return call;
}

// The outputs, and copies of these and the inputs on a device.
io::held_memory hold_buffers(const multi_split_command& command, const context& ctx, const multi_split_inputs& files,
                             index_type type) {
  const std::uint64_t entries = files.of.count;
  const bool has_sources = !command.sources.empty();
  const std::uint64_t result_bytes = command.moves() ? bytes_of(entries, files.in.record_bytes) : 0;
  const std::uint64_t source_bytes = has_sources || !command.moves() ? bytes_of(entries, bytes(type)) : 0;
  const std::uint64_t offset_bytes = command.offsets.empty() ? 0 : bytes_of(command.categories + 1, 8);
  const std::uint64_t read_bytes = bytes_of(files.in.count, files.in.record_bytes) +
                                   bytes_of(files.row_offsets.records() + 1, 8) +
                                   bytes_of(entries, files.of.record_bytes);
  const bool has_copy = !files.category_file.has_native_numbers();
  return io::held_memory(
      {{"the result", result_bytes},
       {"the sources", source_bytes},
       {"the offsets", offset_bytes},
       {"categories as numbers of this machine",
        has_copy && command.common.plans_only ? bytes_of(entries, files.of.record_bytes) : 0},
       {"copies on the device", bytes_on_device(ctx, read_bytes + result_bytes + source_bytes + offset_bytes)}});
}

// On the processes of MPI.
void run_divided_multi_split(const multi_split_command& command) {
  std::optional<multi_split_inputs> files;
  const auto open = [&]() -> opened_multi_split {
    refuse_streams({command.in, command.row_offsets, command.keys, command.output, command.sources, command.offsets});
    require_outputs(command);
    files.emplace(command);
    files->row_offsets.require_ascending_to(files->of.count, command.keys);
    return {files->in_file ? &*files->in_file : nullptr,
            files->category_file,
            files->row_offsets.numbers(),
            command.categories,
            index_type_for(command.sources_type, files->row_offsets.records()),
            command.writes_index ? &files->like() : nullptr};
  };
  multi_split_on_ranks({command.common, command.subcommand.c_str(), command.keys, command.output, command.sources,
                        command.offsets, open});
}

}  // namespace

void run_multi_split(const multi_split_command& command) {
  require_options(command);
  if (started_ranks() > 1 && !command.common.plans_only) return run_divided_multi_split(command);
  require_outputs(command);
  const context ctx = command.common.make_context();
  multi_split_inputs files(command);
  const std::uint64_t entries = files.of.count;
  const index_type type = index_type_for(command.sources_type, files.row_offsets.records());
  const io::held_memory buffers = hold_buffers(command, ctx, files, type);
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(bytes_of(entries, 8) + bytes_of(command.categories + 1, 8));
  const planned_call planned = plan_of(command, ctx, files, type);  // before outputs are opened
  if (command.common.plans_only) {
    return print_plan(
        command.common, ctx,
        work_of(command.subcommand, planned, read_when_opened({command.in, command.row_offsets, command.keys})));
  }
  command.common.require_scratch(planned.plan);
  files.read(command);

  const bool moves = command.moves();
  const std::string header =
      moves ? output_header(*files.in_file, std::span(&entries, 1), files.in_file->row_shape()) : "";
  const std::uint64_t width = moves ? files.in.record_bytes : 1;
  wanted_output out(ctx, command.output, header, entries, width);
  wanted_output sources(
      ctx, command.sources,
      command.writes_index ? index_header(files.like(), type, entries) : numbers_header(descr_of(type), entries),
      entries, bytes(type));
  wanted_output bounds(ctx, command.offsets, numbers_header("'<u8'", command.categories + 1), command.categories + 1,
                       8);

  const std::span<const std::uint64_t> first = files.row_offsets.numbers();
  const context_input in(ctx, files.in.data, files.in.count * files.in.record_bytes);
  const context_input begins(ctx, first.data(), first.size_bytes());
  const context_input categories(ctx, files.of.data, entries * files.of.record_bytes);
  const membership of{{reinterpret_cast<const std::uint64_t*>(begins.data()), first.size()},
                      {categories.data(), entries, files.of.record_bytes},
                      command.categories};
  const index_output source_list(sources.in_context().data, sources.count(), type);
  const split_options options{command.common.variant()};
  const auto split = [&] {
    if (!moves) return multi_split_index(ctx, of, source_list, words_of(bounds.in_context()), options);
    multi_split(ctx, {in.data(), files.in.count, width}, of, out.in_context(), source_list,
                words_of(bounds.in_context()), options);
  };
  const run_times times = timed_runs(ctx, command.keys, command.common.runs, split, planned.plan);
  for (const wanted_output* each : {&out, &sources, &bounds}) each->fetch();
  if (command.common.verify) {
    require_right(jobs::multi_split_mistake(files.in, {first, files.of, command.categories}, out.on_host(),
                                            {sources.on_host().data, sources.count(), type},
                                            words_of(bounds.on_host())));
  }
  std::vector<io::output_file*> written;
  for (wanted_output* each : {&out, &sources, &bounds}) each->finish_into(written);
  io::output_file::commit_all(written);
  print_report(command.common, moves ? command.output : command.sources, ctx, planned.plan, entries,
               moves ? width : bytes(type), times);
}

CLI::Option* add_row_offsets(CLI::App& subcommand, std::string& row_offsets, std::optional<index_type>& type) {
  CLI::Option* const option =
      subcommand
          .add_option("--row-offsets", row_offsets,
                      "Where the categories of each record begin in KEYS, and where the last record's end: .npy or "
                      ".npz of whole numbers, or raw with --index-type")
          ->type_name("FILE");
  add_index_type(subcommand, type, "Type of raw --row-offsets; .npy files know their own");
  return option;
}

void add_sources(CLI::App& subcommand, std::string& sources) {
  subcommand.add_option("--sources", sources, "Also, or only, write the number of the record that each result is")
      ->type_name("FILE.npy");
}

void add_multi_split(CLI::App& app) {
  const auto command = std::make_shared<multi_split_command>();
  CLI::App* subcommand =
      app.add_subcommand("multi-split", "Bring the records of each category together; a record may be in several");
  add_input(*subcommand, "IN", command->in, "Records: .npy, .npz, or raw with --record-bytes");
  add_row_offsets(*subcommand, command->row_offsets, command->row_offset_type)->required();
  subcommand
      ->add_option("--keys", command->keys,
                   "The categories of all records, record by record: '|u1', '<u2' or '<u4', or raw with --key-bytes")
      ->type_name("FILE")
      ->required();
  add_categories(*subcommand, command->categories)->required();
  add_output(*subcommand, command->output);
  add_sources(*subcommand, command->sources);
  add_index_type(*subcommand, command->sources_type, "Type of --sources; u32 unless there are too many records",
                 "--output-type");
  subcommand
      ->add_option("--offsets", command->offsets, "Also write where each category begins, and where the last ends: u8")
      ->type_name("FILE.npy");
  add_record_bytes(*subcommand, command->record_bytes);
  add_number(*subcommand, "--key-bytes", 1, 4, command->key_bytes,
             "Width of raw KEYS, 1, 2 or 4; .npy files know their own");
  command->common.add_variant_to(*subcommand, primitives::multi_split_entry.name);
  command->common.add_runs_to(*subcommand);
  command->common.add_to(*subcommand, common_options::by_reference);
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(multi_split_footer);
  subcommand->callback([command] { run_multi_split(*command); });
}

}  // namespace sheaf::cli
