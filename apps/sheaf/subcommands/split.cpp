#include "apps/sheaf/checks/split.hpp"
#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/ranks/splits.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "apps/sheaf/subcommands/files/memberships.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "apps/sheaf/subcommands/multi_split.hpp"
#include "core/printable.hpp"
#include "lab/description/split/problem.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* split_footer =
    "IN is an .npy or .npz array (file.npz:NAME), whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. A record's category is a number that lies in the record, or in a row of KEYS (--keys).\n"
    "--key OFFSET:BYTES takes bytes as they lie, as a little-endian number, and --key NAME a field of a structured\n"
    "array as an unsigned number. --bits FIRST:COUNT takes COUNT bits of this number from FIRST on, of which 0 is the\n"
    "lowest; without --key, of the whole row. With --categories N, KEYS has one number below N for each record, its\n"
    "category. Records of category 0 come first. Each category is in the order of IN unless --unstable is given.\n"
    "--offsets is for up to 32 bits. By more, a split is a sort by these bits.\n"
    "A record may be in several categories, or in none: with --row-offsets ROWS, those of record r are\n"
    "KEYS[ROWS[r]] to KEYS[ROWS[r + 1] - 1], as in the compressed rows of a matrix of records by categories, and the\n"
    "record is written once for each of them. --sources also writes which records they are; --index gather, or "
    "--sources\n"
    "without IN and -o, writes these numbers alone.\n"
    "Records keep their byte order. An index is .npy where IN or its keys are, else raw. IN may be left out where\n"
    "KEYS are all that an index needs.\n\n"
    "Example: records of two letters, by the second\n"
    "  printf 'a2b1c2d0e1' > in.bin\n"
    "  sheaf split in.bin --record-bytes 2 --key 1:1 -o out.bin --verify\n"
    "Records by the lowest bit of their second byte\n"
    "  sheaf split in.bin --record-bytes 2 --key 1:1 --bits 0:1 -o halves.bin --verify\n"
    "Rows of a table by categories 0 to 3, and where each category begins\n"
    "  python3 -c \"import numpy as np; np.save('table.npy', np.arange(30, dtype='f4').reshape(10, 3))\"\n"
    "  python3 -c \"import numpy as np; np.save('of.npy', (np.arange(10) % 4).astype('u1'))\"\n"
    "  sheaf split table.npy --keys of.npy --categories 4 -o sorted.npy --offsets offsets.npy --verify\n"
    "Rows in several categories: row 0 in 3 and 1, row 1 in none, row 2 in 1\n"
    "  python3 -c \"import numpy as np; np.save('in.npy', np.arange(9, dtype='f4').reshape(3, 3))\"\n"
    "  python3 -c \"import numpy as np; np.save('rows.npy', np.array([0, 2, 2, 3]))\"\n"
    "  python3 -c \"import numpy as np; np.save('each.npy', np.array([3, 1, 1], 'u1'))\"\n"
    "  sheaf split in.npy --row-offsets rows.npy --keys each.npy --categories 4 -o shared.npy \\\n"
    "    --sources sources.npy";

// "5:11": FIRST:COUNT, bits of a key. @throws CLI::ValidationError
bit_field parse_bits(const std::string& text) {
  try {
    const bit_field bits = primitives::parse_bit_field(text);
    if (bits.count == 0 || bits.count > bit_field::most_bits) {
      primitives::refuse("--bits: '{}' has {} bits, not 1 to {}", core::printable(text), bits.count,
                         bit_field::most_bits);
    }
    return bits;
  } catch (const error& e) {
    throw CLI::ValidationError(e.what());
  }
}

/// The bytes of a row that a --key says: all of them where it is not given.
struct split_place {
  std::uint64_t first_bit = 0;
  std::uint64_t bits = 0;
  bool is_big_endian = false;  ///< of a field, whose bits count from its number's lowest in either order
  std::string field = {};      ///< its name; empty for bytes
};

// "8:2": OFFSET:BYTES. @throws CLI::ValidationError
split_place parse_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto offset = primitives::parse_number(std::string_view(text).substr(0, colon));
  const auto width =
      colon == text.npos ? std::nullopt : primitives::parse_number(std::string_view(text).substr(colon + 1));
  if (!offset || !width || *width == 0) {
    throw CLI::ValidationError(
        fmt::format("--key: '{}' is not OFFSET:BYTES, two whole numbers, of which the second is "
                    "not 0; --bits FIRST:COUNT takes bits of them",
                    core::printable(text)));
  }
  if (*offset > primitives::most_record_bytes || *width > primitives::most_record_bytes - *offset) {
    throw CLI::ValidationError(
        fmt::format("--key: '{}' reaches past the end of any record; --bits FIRST:COUNT takes "
                    "bits",
                    core::printable(text)));
  }
  return {8 * *offset, 8 * *width};
}

// --key, OFFSET:BYTES or a field, --bits and --from-left. Returns the options --key and --bits.
std::pair<CLI::Option*, CLI::Option*> add_key(CLI::App& subcommand, std::string& key, std::optional<bit_field>& part,
                                              bit_order& order) {
  CLI::Option* const option =
      subcommand
          .add_option_function<std::string>(
              "-k,--key",
              [&key](const std::string& text) {
                if (jobs::is_key_place(text)) static_cast<void>(parse_place(text));
                key = text;
              },
              "Where a record's category lies: BYTES from byte OFFSET of the record on, or a field of whole numbers; "
              "all of the record unless given")
          ->type_name("NAME|OFFSET:BYTES");
  CLI::Option* const bits = subcommand
                                .add_option_function<std::string>(
                                    "--bits", [&part](const std::string& text) { part = parse_bits(text); },
                                    "The bits of the key that are the category: COUNT of them, 1 to 96, from its bit "
                                    "FIRST on; all unless given")
                                ->type_name("FIRST:COUNT");
  subcommand.add_flag_callback(
      "--from-left", [&order] { order = bit_order::from_left; },
      "Bit 0 is the highest of the key's first byte, as in the paper; without it the lowest, as in a little-endian "
      "number");
  return {option, bits};
}

// The field of whole numbers that a --key names.
split_place place_of_field(const io::npy_field& field, const std::string& path) {
  const io::npy_type& type = field.type;
  if (field.count != 1 || std::string_view("biu").find(type.kind) == std::string_view::npos) {
    io::fail(path, "--key: field {} is {}{}; a category is a whole number, and OFFSET:BYTES takes other bytes",
             core::printable(field.name), field.count == 1 ? "" : fmt::format("{} times ", field.count),
             core::printable(type.descr));
  }
  return {8 * field.offset, 8 * type.item_bytes, type.order == '>', field.name};
}

// "NAME:FIRST:BITS" is what --key took before there was --bits.
[[noreturn]] void refuse_key(const std::string& key, const io::record_file& file, const std::string& names) {
  const std::size_t last = key.rfind(':');
  const std::size_t first = last == key.npos || last == 0 ? key.npos : key.rfind(':', last - 1);
  if (first != key.npos && jobs::field_of_rows(file, key.substr(0, first))) {
    primitives::refuse("--key {0} is now --key {1} --bits {2}", core::printable(key),
                       core::printable(key.substr(0, first)), core::printable(key.substr(first + 1)));
  }
  primitives::refuse("--key: '{}' is neither OFFSET:BYTES nor a field of {}, whose fields are {}", core::printable(key),
                     file.path(), names);
}

// The bits that --key and --bits say of the rows of a file. Bit 0 of a field is the lowest of the number, in either
// order of bytes; with --from-left bits are counted from the highest of the key's first byte.
// @param row_bytes  of the file; 0 while they are not known, where the key must say its place
// @throws CLI::ValidationError for a key that is neither a place nor a field, error(bad_argument) for bits that are not
// there, error(bad_input) for a field without such bits
bit_field bits_of_key(const std::string& key, const std::optional<bit_field>& part, bit_order order,
                      const io::record_file& file, std::uint64_t row_bytes) {
  split_place place{0, 8 * row_bytes};
  const std::string names = io::field_names(file.type());
  if (!key.empty() && (jobs::is_key_place(key) || names.empty())) {
    place = parse_place(key);
  } else if (!key.empty()) {
    const std::optional<io::npy_field> field = jobs::field_of_rows(file, key);
    if (!field) refuse_key(key, file, names);
    place = place_of_field(*field, file.path());
  }
  if (place.first_bit > 8 * row_bytes || place.bits > 8 * row_bytes - place.first_bit) {
    primitives::refuse(
        "--key: '{}': {} bytes from byte {} on reach past the {} bytes of a row of {}; --bits "
        "FIRST:COUNT takes bits",
        core::printable(key), place.bits / 8, place.first_bit / 8, row_bytes, file.path());
  }
  const bit_field taken = part.value_or(bit_field{0, static_cast<std::uint32_t>(place.bits)});
  if (!part && place.bits > bit_field::most_bits) {
    primitives::refuse(
        "{} has {} bits, more than {}: --bits FIRST:COUNT takes some of them",
        key.empty() ? fmt::format("a row of {}", file.path()) : fmt::format("--key {}", core::printable(key)),
        place.bits, bit_field::most_bits);
  }
  if (taken.first > place.bits || taken.count > place.bits - taken.first) {
    primitives::refuse(
        "--bits: '{}:{}' reaches past the {} bits of {}", taken.first, taken.count, place.bits,
        key.empty() ? fmt::format("a row of {}", file.path()) : fmt::format("--key {}", core::printable(key)));
  }
  if (order == bit_order::from_left && !place.field.empty()) {
    primitives::refuse("--from-left is for --key OFFSET:BYTES; the bits of field {} are counted from the lowest",
                       core::printable(place.field));
  }
  const std::uint64_t first = place.is_big_endian ? place.bits - taken.first - taken.count : taken.first;
  return {place.first_bit + first, taken.count, place.is_big_endian ? bit_order::from_left : order};
}

struct split_command {
  common_options common;
  std::string in;
  std::string keys;
  std::string row_offsets;  ///< where the categories of each record begin; empty: a record has one
  std::string sources;
  std::string output;
  std::string offsets;
  std::string index;  ///< kind of index to write, gather or scatter; empty: records
  std::uint64_t record_bytes = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t categories = 0;   ///< that KEYS has; 0: --key and --bits say where they are
  std::string key;                ///< as it is given
  std::optional<bit_field> part;  ///< --bits, of the key
  std::optional<bit_field> bits;  ///< that both say, once the file is open
  bit_order order = bit_order::little_endian;
  std::optional<index_type> index_kind;
  std::optional<index_type> row_offset_type;
  bool unstable = false;

  bool has_categories() const { return categories != 0; }
  bool gathers() const { return index == "gather"; }
};

// What records of several categories do without, and those of one.
void require_memberships(const split_command& command) {
  if (command.row_offsets.empty()) {
    if (command.row_offset_type)
      primitives::refuse("--index-type is for --row-offsets; --output-type is the type of an index to write");
    if (command.sources.empty()) return;
    primitives::refuse("--sources is for --row-offsets; --index gather writes where records of one category come from");
  }
  if (command.common.devices) primitives::refuse("--devices is for records of one category, not for --row-offsets");
  if (command.unstable) primitives::refuse("--unstable is for records of one category, not for --row-offsets");
  if (command.index == "scatter") {
    primitives::refuse("--index scatter is for records of one category; with --row-offsets they go to several places");
  }
  if (!command.index.empty() && !command.sources.empty()) {
    primitives::refuse("--sources and --index gather write the same numbers; give one of them");
  }
}

void require_options(const split_command& command) {
  const bool has_separate_keys = !command.keys.empty();
  if (!command.has_categories() && command.key.empty() && !command.part) {
    primitives::refuse(
        "give --key OFFSET:BYTES, --bits FIRST:COUNT, or --keys FILE and --categories N, to which --row-offsets FILE "
        "adds records of several categories");
  }
  if (command.has_categories() && command.order == bit_order::from_left)
    primitives::refuse("--from-left is for --key and --bits");
  if (!command.row_offsets.empty()) return;  // run_multi_split() looks at the rest
  if (command.in.empty() && !(has_separate_keys && !command.index.empty()))
    primitives::refuse("IN may be left out only for an --index by --keys");
  if (command.in.empty() && command.record_bytes != 0) primitives::refuse("--record-bytes is for IN");
  if (!has_separate_keys && command.key_bytes != 0) primitives::refuse("--key-bytes is for --keys");
  if (command.index.empty() && command.index_kind) primitives::refuse("--output-type is for --index");
  if (!command.index.empty() && command.unstable) primitives::refuse("--unstable is for records, not for an index");
}

void require_distinct_outputs(const split_command& o) {
  require_output(o.output, {o.in, o.keys});
  if (o.offsets.empty()) return;
  require_output(o.offsets, {o.in, o.keys}, "--offsets");
  if (!o.output.empty() && io::name_one_file(o.output, o.offsets))
    primitives::refuse("-o and --offsets are both {}", o.offsets);
}

// The files, which are opened before any of their rows are looked at, and these.
struct split_inputs {
  std::optional<io::record_file> in_file;
  std::optional<io::record_file> key_file;
  io::native_numbers categories;
  const_records in;
  const_records keys;

  const io::record_file& like() const { return in_file ? *in_file : *key_file; }
  std::uint64_t count() const { return in_file ? in.count : keys.count; }
};

// Views of the inputs, all in host memory or all in the memory of a context.
struct split_views {
  const_records in;
  split_key key;
};

split_views views_of(const split_command& o, const_records in, const_records keys) {
  const bit_field bits = o.bits.value_or(bit_field{});
  if (o.has_categories()) return {in, split_key::category(keys, o.categories)};
  if (!o.keys.empty()) return {in, split_key::of(keys, bits)};
  return {in, o.index.empty() ? split_key::of_record(bits) : split_key::of(in, bits)};
}

void require_offsets(const split_command& o) {
  if (o.offsets.empty() || !o.bits || o.bits->count <= bit_field::most_counted_bits) return;
  primitives::refuse("--offsets is for keys of up to {} bits; one of {} has too many categories for offsets",
                     bit_field::most_counted_bits, o.bits->count);
}

void require_as_many(const split_command& o, const_records in, const_records keys) {
  if (o.in.empty() || o.keys.empty() || in.count == keys.count) return;
  io::fail(o.keys, "{} keys, but {} has {} records", keys.count, io::shown_input(o.in), in.count);
}

void open_inputs(split_command& o, split_inputs& files) {
  if (!o.in.empty()) files.in_file.emplace(o.in, o.record_bytes, "--record-bytes");
  if (!o.keys.empty()) files.key_file.emplace(o.keys, o.key_bytes, "--key-bytes");
  if (o.has_categories()) {
    require_category_type(*files.key_file, "record");
    return;
  }
  const io::record_file& file = files.key_file ? *files.key_file : *files.in_file;
  o.bits = bits_of_key(o.key, o.part, o.order, file, file.unmapped_rows(primitives::most_record_bytes).record_bytes);
}

// Finds how many records and keys there are, and how wide.
void measure_inputs(const split_command& command, const context& ctx, split_inputs& files) {
  if (files.in_file) files.in = planned_rows(ctx, *files.in_file);
  if (files.key_file) files.keys = planned_rows(ctx, *files.key_file);
  if (command.has_categories()) files.keys.data = nullptr;  // of which calls get aligned numbers
  require_as_many(command, files.in, files.keys);
}

void read_inputs(const split_command& command, split_inputs& files) {
  if (files.in_file) files.in = files.in_file->rows(primitives::most_record_bytes);
  if (files.key_file) files.keys = files.key_file->rows(primitives::most_record_bytes);
  if (!command.has_categories()) return;
  files.categories = io::native_numbers(files.keys, files.key_file->type());
  files.keys.data = files.categories.data();
}

explanation explain(const split_command& o, const context& ctx, const split_views& views, index_type type) {
  const split_options options{o.common.variant()};
  if (o.index.empty()) return explain_split(ctx, views.in, views.key, !o.unstable, options);
  return o.gathers() ? explain_split_gather_index(ctx, views.key, type, options)
                     : explain_split_scatter_index(ctx, views.key, type, options);
}

std::string_view call_of(const split_command& o) {
  if (o.index.empty()) return o.unstable ? "split_unstable" : "split";
  return o.gathers() ? "split_gather_index" : "split_scatter_index";
}

planned_call plan_of(const split_command& o, const context& ctx, const split_views& views, std::uint64_t count,
                     index_type type) {
  primitives::problem_spec problem{.primitive = call_of(o),
                                   .record_bytes = o.index.empty() ? views.in.record_bytes : bytes(type),
                                   .index = type,
                                   .count = count,
                                   .key_bytes = views.key.keys.record_bytes};
  const bool has_bits = views.key.from != split_key::kind::category;
  if (views.key.from == split_key::kind::record_bits) problem.key_bytes = 0;
  problem.part<primitives::split_part>() = {views.key.bits.order, has_bits ? 0 : views.key.categories};
  if (has_bits) {
    problem.part<primitives::key_part>().bits = views.key.bits.count;
    problem.part<primitives::key_part>().first_bit = static_cast<std::uint32_t>(views.key.bits.first);
  }
  return {call_words_of(problem), explain(o, ctx, views, type)};
}

// Queues the call. @param to  for as many records, or entries of an index of this type
void split_to(const split_command& command, const context& ctx, const split_views& views, std::byte* to,
              std::uint64_t count, index_type type, std::span<std::uint64_t> offsets) {
  const split_options options{command.common.variant()};
  if (command.index.empty()) {
    const records rows(to, count, views.in.record_bytes);
    return (command.unstable ? split_unstable : split)(ctx, views.in, views.key, rows, offsets, options);
  }
  (command.gathers() ? split_gather_index : split_scatter_index)(ctx, views.key, {to, count, type}, offsets, options);
}

// Records that may be in several categories.
void run_of_several(const split_command& o) {
  multi_split_command command;
  command.common = o.common;
  command.subcommand = "split";
  command.in = o.in;
  command.row_offsets = o.row_offsets;
  command.row_offset_type = o.row_offset_type;
  command.keys = o.keys;
  command.key_bytes = o.key_bytes;
  command.categories = o.categories;
  command.writes_index = !o.index.empty();
  (command.writes_index ? command.sources : command.output) = o.output;
  if (!command.writes_index) command.sources = o.sources;
  command.sources_type = o.index_kind;
  command.offsets = o.offsets;
  command.record_bytes = o.record_bytes;
  run_multi_split(command);
}

// The result, the offsets, and copies of these and the inputs on a device.
io::held_memory hold_buffers(const split_command& command, const context& ctx, const split_inputs& files,
                             const split_views& views, std::uint64_t result_bytes) {
  const std::uint64_t offset_bytes = command.offsets.empty() ? 0 : bytes_of(views.key.categories + 1, 8);
  const std::uint64_t read_bytes =
      bytes_of(files.in.count, files.in.record_bytes) + bytes_of(files.keys.count, files.keys.record_bytes);
  const bool has_copy = command.has_categories() && !files.key_file->has_native_numbers();
  return io::held_memory(
      {{"the result", result_bytes},
       {"the offsets", offset_bytes},
       {"categories as numbers of this machine",
        has_copy && command.common.plans_only ? bytes_of(files.keys.count, files.keys.record_bytes) : 0},
       {"copies on the device", bytes_on_device(ctx, read_bytes + result_bytes + offset_bytes)}});
}

// What one rank opens.
struct split_of_rank {
  split_command command;
  split_inputs files;

  explicit split_of_rank(split_command of) : command(std::move(of)) {
    open_inputs(command, files);
    require_offsets(command);
    require_distinct_outputs(command);
    require_name_of_kind(command.output, files.like());
    files.in = files.in_file->unmapped_rows(primitives::most_record_bytes);
    if (files.key_file) files.keys = files.key_file->unmapped_rows(primitives::most_record_bytes);
    require_as_many(command, files.in, files.keys);
  }
};

// On ranks.
void run_divided(const split_command& command) {
  const auto open = [&]() -> opened_split {
    const refused_option options[] = {{"--index", !command.index.empty()}};
    refuse_on_ranks(options);
    refuse_streams({command.in, command.keys, command.output, command.offsets});
    const auto mine = std::make_shared<const split_of_rank>(command);
    const split_inputs& files = mine->files;
    return {mine, *files.in_file, files.key_file ? &*files.key_file : nullptr, command.has_categories(),
            [&of = mine->command](const_records in, const_records keys) { return views_of(of, in, keys).key; }};
  };
  split_on_ranks({command.common, command.keys, command.output, command.offsets, open, command.in});
}

void run(split_command command) {
  const bool has_output = !command.output.empty() || (!command.row_offsets.empty() && !command.sources.empty());
  if (!has_output && !command.common.plans_only) throw CLI::RequiredError("--output");
  require_memberships(command);
  require_options(command);
  if (!command.row_offsets.empty()) return run_of_several(command);
  if (is_divided(command.common)) return run_divided(command);
  const context ctx = command.common.make_context();
  split_inputs files;
  open_inputs(command, files);
  require_offsets(command);
  require_distinct_outputs(command);
  require_name_of_kind(command.output, files.like());
  measure_inputs(command, ctx, files);
  const std::uint64_t count = files.count();
  const index_type type = index_type_for(command.index_kind, count);
  const std::uint64_t width = command.index.empty() ? files.in.record_bytes : bytes(type);
  const split_views planned_views = views_of(command, files.in, files.keys);
  const io::held_memory buffers = hold_buffers(command, ctx, files, planned_views, bytes_of(count, width));
  command.common.limit_scratch(ctx);
  command.common.require_memory_to_verify(bytes_of(count, width + (command.unstable ? 8 : 0)));
  // Plans before the output is opened, so that a key that does not fit is found first.
  const planned_call planned = plan_of(command, ctx, planned_views, count, type);
  if (command.common.plans_only) {
    return print_plan(command.common, ctx, work_of("split", planned, read_when_opened({command.in, command.keys})));
  }
  command.common.require_scratch(planned.plan);
  read_inputs(command, files);

  const context_input in(ctx, files.in.data, files.in.count * files.in.record_bytes);
  const context_input keys(ctx, files.keys.data, files.keys.count * files.keys.record_bytes);
  const split_views views = views_of(command, {in.data(), files.in.count, files.in.record_bytes},
                                     {keys.data(), files.keys.count, files.keys.record_bytes});
  record_output out(command.output,
                    command.index.empty()
                        ? output_header(*files.in_file, std::span(&count, 1), files.in_file->row_shape())
                        : index_header(files.like(), type, count),
                    count, width);
  std::optional<record_output> bounds;
  const std::uint64_t bound_count = views.key.categories + 1;
  if (!command.offsets.empty()) bounds.emplace(command.offsets, numbers_header("'<u8'", bound_count), bound_count, 8);
  const context_output context_out(ctx, out);
  const auto context_bounds = bounds ? std::make_unique<context_output>(ctx, *bounds) : nullptr;
  const auto values_of = [&](std::byte* data) {
    return std::span(reinterpret_cast<std::uint64_t*>(data), bounds ? bound_count : 0);
  };
  const std::span<std::uint64_t> offsets = values_of(bounds ? context_bounds->data() : nullptr);
  const auto split = [&] { split_to(command, ctx, views, context_out.data(), count, type, offsets); };
  const run_times times = timed_runs(ctx, command.keys, command.common.runs, split, planned.plan);
  context_out.fetch();
  if (bounds) context_bounds->fetch();
  if (command.common.verify) {
    const split_views on_host = views_of(command, files.in, files.keys);
    const auto found = values_of(bounds ? bounds->rows().data : nullptr);
    require_right(
        command.index.empty()
            ? jobs::split_mistake(on_host.in, on_host.key, !command.unstable, out.rows(), found)
            : jobs::split_index_mistake(on_host.key, command.gathers(), {out.rows().data, count, type}, found));
  }
  out.commit();
  if (bounds) bounds->commit();
  print_report(command.common, command.output, ctx, planned.plan, count, width, times);
}

}  // namespace

void add_split(CLI::App& app) {
  const auto command = std::make_shared<split_command>();
  CLI::App* subcommand = app.add_subcommand("split", "Bring the records of each category together, in order");
  add_input(*subcommand, "IN", command->in, "Records: .npy, .npz, or raw with --record-bytes");
  add_output(*subcommand, command->output);
  const auto [key, bits] = add_key(*subcommand, command->key, command->part, command->order);
  CLI::Option* const keys =
      subcommand
          ->add_option("--keys", command->keys,
                       "File of the keys, one row for each record, if they are not in the records; with --categories "
                       "the category of each record, or with --row-offsets all of them, record by record: '|u1', "
                       "'<u2' or '<u4'")
          ->type_name("FILE");
  CLI::Option* const categories = add_categories(*subcommand, command->categories);
  categories->needs(keys)->excludes(key)->excludes(bits);
  add_row_offsets(*subcommand, command->row_offsets, command->row_offset_type)->needs(categories);
  add_sources(*subcommand, command->sources);
  subcommand->add_flag("--unstable", command->unstable, "Records of a category in any order, which is faster");
  subcommand
      ->add_option("--index", command->index, "Write where records come from (gather) or go (scatter) instead of them")
      ->check(CLI::IsMember({"gather", "scatter"}));
  add_index_type(*subcommand, command->index_kind,
                 "Type of the index or sources written; u32 unless there are too many records", "--output-type");
  subcommand
      ->add_option("--offsets", command->offsets, "Also write where each category begins, and where the last ends: u8")
      ->type_name("FILE.npy");
  add_record_bytes(*subcommand, command->record_bytes);
  add_record_bytes(*subcommand, command->key_bytes, "--key-bytes", "Width of raw KEYS; .npy files know their own");
  command->common.add_variant_to(*subcommand, "split");
  command->common.add_runs_to(*subcommand);
  command->common.add_to(*subcommand, common_options::by_reference);
  command->common.add_devices_to(*subcommand);
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(split_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
