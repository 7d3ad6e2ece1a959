#include "apps/sheaf/checks/split.hpp"
#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "apps/sheaf/subcommands/files/memberships.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "core/printable.hpp"
#include "lab/description/keys.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* split_footer =
    "IN is an .npy or .npz array (file.npz:NAME), whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. A record's category is a number that lies in the record (--key) or in a row of KEYS (--keys and\n"
    "--key), or that CATEGORIES gives. --key OFFSET:BITS takes bits as they lie. --key NAME takes a field of a\n"
    "structured array as an unsigned number, and NAME:FIRST:BITS takes its bits from FIRST on, of which 0 is the\n"
    "lowest. Records of category 0 come first. Each category is in the order of IN unless --unstable is given.\n"
    "--offsets is for up to 32 bits. By more, a split is a sort by these bits.\n"
    "Records keep their byte order. An index is .npy where IN or its keys are, else raw. IN may be left out where\n"
    "KEYS or CATEGORIES are all that an index needs.\n\n"
    "Example: records of two letters, by the second\n"
    "  printf 'a2b1c2d0e1' > in.bin\n"
    "  sheaf split in.bin --record-bytes 2 --key 8:8 -o out.bin --verify\n"
    "Rows of a table by categories 0 to 3, and where each category begins\n"
    "  python3 -c \"import numpy as np; np.save('table.npy', np.arange(30, dtype='f4').reshape(10, 3))\"\n"
    "  python3 -c \"import numpy as np; np.save('of.npy', (np.arange(10) % 4).astype('u1'))\"\n"
    "  sheaf split table.npy --categories of.npy --count 4 -o sorted.npy --offsets offsets.npy --verify";

// "5:11": OFFSET:BITS, the bits that are the category of a record. @throws CLI::ValidationError
bit_field parse_bit_field(const std::string& text) {
  try {
    const bit_field bits = primitives::parse_bit_field(text);
    if (bits.count == 0 || bits.count > bit_field::most_bits) {
      primitives::refuse("--key: '{}' has {} bits, not 1 to {}", core::printable(text), bits.count,
                         bit_field::most_bits);
    }
    return bits;
  } catch (const error& e) {
    throw CLI::ValidationError(e.what());
  }
}

// --from-left, the direction in which bits are counted.
void add_bit_order(CLI::App& subcommand, bit_order& order) {
  subcommand.add_flag_callback(
      "--from-left", [&order] { order = bit_order::from_left; },
      "Bit 0 is the highest of byte 0, as in the paper; without it the lowest, as in a little-endian number");
}

// --key, OFFSET:BITS or a field, and --from-left. Returns the option --key.
CLI::Option* add_key(CLI::App& subcommand, std::string& key, bit_order& order) {
  CLI::Option* option =
      subcommand
          .add_option_function<std::string>(
              "--key",
              [&key](const std::string& text) {
                if (jobs::is_key_place(text)) static_cast<void>(parse_bit_field(text));
                key = text;
              },
              "The bits that are a record's category: BITS of them, 1 to 96, from bit OFFSET of the record on; or a "
              "field of whole numbers, or BITS of it from its bit FIRST on")
          ->type_name("OFFSET:BITS|NAME[:FIRST:BITS]");
  add_bit_order(subcommand, order);
  return option;
}

// The bits that a --key says: OFFSET:BITS of a row, or NAME or NAME:FIRST:BITS of a field of whole numbers, whose bit 0
// is the lowest of the number, in either order of bytes; with --from-left the highest of its first byte.
// @throws CLI::ValidationError for what is neither, error(bad_input) for a field without such bits
bit_field bits_of_key(const std::string& key, bit_order order, const io::record_file& file) {
  const std::string names = io::field_names(file.type());
  if (jobs::is_key_place(key) || names.empty()) {
    bit_field bits = parse_bit_field(key);
    bits.order = order;
    return bits;
  }
  std::optional<io::npy_field> field = jobs::field_of_rows(file, key);
  std::optional<bit_field> part;
  if (!field) {
    const std::size_t last = key.rfind(':');
    const std::size_t first = last == key.npos || last == 0 ? key.npos : key.rfind(':', last - 1);
    if (first != key.npos) {
      field = jobs::field_of_rows(file, key.substr(0, first));
      if (field) part = parse_bit_field(key.substr(first + 1));
    }
  }
  if (!field) {
    primitives::refuse("--key: '{}' is neither OFFSET:BITS nor a field of {}, whose fields are {}",
                       core::printable(key), file.path(), names);
  }
  const io::npy_type& type = field->type;
  if (field->count != 1 || std::string_view("biu").find(type.kind) == std::string_view::npos) {
    io::fail(file.path(), "--key: field {} is {}{}; a category is a whole number, and OFFSET:BITS takes other bits",
             core::printable(field->name), field->count == 1 ? "" : fmt::format("{} times ", field->count),
             core::printable(type.descr));
  }
  const std::uint64_t width = 8 * type.item_bytes;
  const bit_field of_number = part.value_or(bit_field{0, static_cast<std::uint32_t>(width)});
  if (of_number.first > width || of_number.count > width - of_number.first) {
    primitives::refuse("--key: '{}': {} bits from bit {} on reach past the {} bits of {}", core::printable(key),
                       of_number.count, of_number.first, width, core::printable(field->name));
  }
  if (order == bit_order::from_left) {
    primitives::refuse("--from-left is for --key OFFSET:BITS; the bits of field {} are counted from the lowest",
                       core::printable(field->name));
  }
  const bool reversed = type.order == '>';
  const std::uint64_t first = reversed ? width - of_number.first - of_number.count : of_number.first;
  return {8 * field->offset + first, of_number.count, reversed ? bit_order::from_left : order};
}

struct split_command {
  common_options common;
  std::string in;
  std::string keys;
  std::string categories;
  std::string output;
  std::string offsets;
  std::string index;  ///< kind of index to write, gather or scatter; empty: records
  std::uint64_t record_bytes = 0;
  std::uint64_t key_bytes = 0;
  std::optional<std::uint64_t> count;
  std::string key;                ///< as it is given
  std::optional<bit_field> bits;  ///< that it says, once the file is open
  bit_order order = bit_order::little_endian;
  std::optional<index_type> index_kind;
  bool unstable = false;

  const std::string& key_path() const { return categories.empty() ? keys : categories; }
  bool gathers() const { return index == "gather"; }
};

void require_options(const split_command& command) {
  const bool has_separate_keys = !command.key_path().empty();
  if (!command.categories.empty() && !command.count)
    primitives::refuse("--categories needs --count N, the number of categories");
  if (command.categories.empty() && command.key.empty()) {
    primitives::refuse("give --key OFFSET:BITS, or --categories FILE and --count N");
  }
  if (command.in.empty() && !(has_separate_keys && !command.index.empty())) {
    primitives::refuse("IN may be left out only for an --index by --keys or --categories");
  }
  if (command.in.empty() && command.record_bytes != 0) primitives::refuse("--record-bytes is for IN");
  if (!has_separate_keys && command.key_bytes != 0) primitives::refuse("--key-bytes is for --keys or --categories");
  if (!command.categories.empty() && command.order == bit_order::from_left)
    primitives::refuse("--from-left is for --key");
  if (command.index.empty() && command.index_kind) primitives::refuse("--index-type is for --index");
  if (!command.index.empty() && command.unstable) primitives::refuse("--unstable is for records, not for an index");
}

void require_distinct_outputs(const split_command& o) {
  require_output(o.output, {o.in, o.key_path()});
  if (o.offsets.empty()) return;
  require_output(o.offsets, {o.in, o.key_path()}, "--offsets");
  if (io::name_one_file(o.output, o.offsets)) primitives::refuse("-o and --offsets are both {}", o.offsets);
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
  if (!o.categories.empty()) return {in, split_key::category(keys, *o.count)};
  if (!o.keys.empty()) return {in, split_key::of(keys, bits)};
  return {in, o.index.empty() ? split_key::of_record(bits) : split_key::of(in, bits)};
}

void require_offsets(const split_command& o) {
  if (o.offsets.empty() || !o.bits || o.bits->count <= bit_field::most_counted_bits) return;
  primitives::refuse("--offsets is for keys of up to {} bits; one of {} has too many categories for offsets",
                     bit_field::most_counted_bits, o.bits->count);
}

void require_as_many(const split_command& o, const_records in, const_records keys) {
  if (o.in.empty() || o.key_path().empty() || in.count == keys.count) return;
  io::fail(o.key_path(), "{} keys, but {} has {} records", keys.count, o.in, in.count);
}

void open_inputs(split_command& o, split_inputs& files) {
  if (!o.in.empty()) files.in_file.emplace(o.in, o.record_bytes, "--record-bytes");
  if (!o.key_path().empty()) files.key_file.emplace(o.key_path(), o.key_bytes, "--key-bytes");
  if (!o.categories.empty()) require_category_type(*files.key_file, "record");
  if (!o.key.empty()) o.bits = bits_of_key(o.key, o.order, files.key_file ? *files.key_file : *files.in_file);
}

// The library says this without the names of the option and the file.
void require_bits_in_rows(const split_command& o, const const_records& rows) {
  const std::uint64_t width = 8 * rows.record_bytes;
  if (!o.bits || (o.bits->first <= width && o.bits->count <= width - o.bits->first)) return;
  primitives::refuse("--key: '{}': {} bits from bit {} on reach past the {} bits of a row of {}",
                     core::printable(o.key), o.bits->count, o.bits->first, width,
                     core::printable(o.key_path().empty() ? o.in : o.key_path()));
}

void read_inputs(const split_command& command, split_inputs& files) {
  if (files.in_file) files.in = files.in_file->rows(primitives::most_record_bytes);
  if (files.key_file) files.keys = files.key_file->rows(primitives::most_record_bytes);
  require_bits_in_rows(command, files.key_file ? files.keys : files.in);
  if (!command.categories.empty()) {
    files.categories = io::native_numbers(files.keys, files.key_file->type());
    files.keys.data = files.categories.data();
  }
  require_as_many(command, files.in, files.keys);
}

explanation explain(const split_command& o, const context& ctx, const split_views& views, index_type type) {
  const split_options options{o.common.variant()};
  if (o.index.empty()) return explain_split(ctx, views.in, views.key, !o.unstable, options);
  return o.gathers() ? explain_split_gather_index(ctx, views.key, type, options)
                     : explain_split_scatter_index(ctx, views.key, type, options);
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

void run(split_command command) {
  require_options(command);
  const context ctx = command.common.make_context();
  split_inputs files;
  open_inputs(command, files);
  require_offsets(command);
  require_distinct_outputs(command);
  require_name_of_kind(command.output, files.like());
  read_inputs(command, files);
  const std::uint64_t count = files.count();
  const index_type type = index_type_for(command.index_kind, count);

  const context_input in(ctx, files.in.data, files.in.count * files.in.record_bytes);
  const context_input keys(ctx, files.keys.data, files.keys.count * files.keys.record_bytes);
  const split_views views = views_of(command, {in.data(), files.in.count, files.in.record_bytes},
                                     {keys.data(), files.keys.count, files.keys.record_bytes});
  // Plans before the output is opened, so that a key that does not fit is found first.
  const explanation plan = explain(command, ctx, views, type);
  const std::uint64_t width = command.index.empty() ? files.in.record_bytes : bytes(type);
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
  const double seconds =
      timed(ctx, command.key_path(), [&] { split_to(command, ctx, views, context_out.data(), count, type, offsets); });
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
  print_report(command.common, command.output, ctx, plan, count, width, seconds);
}

}  // namespace

void add_split(CLI::App& app) {
  const auto command = std::make_shared<split_command>();
  CLI::App* subcommand = app.add_subcommand("split", "Bring the records of each category together, in order");
  add_input(*subcommand, "IN", command->in, "Records: .npy, .npz, or raw with --record-bytes");
  add_output(*subcommand, command->output)->required();
  CLI::Option* key = add_key(*subcommand, command->key, command->order);
  CLI::Option* keys =
      subcommand
          ->add_option("--keys", command->keys,
                       "File of the keys, one row for each record, if they are not in the records; --key reads it")
          ->type_name("KEYS")
          ->needs(key);
  CLI::Option* categories =
      subcommand->add_option("--categories", command->categories, "The category of each record: '|u1', '<u2' or '<u4'")
          ->type_name("CATEGORIES")
          ->excludes(key)
          ->excludes(keys);
  add_number(*subcommand, "--count", 1, std::uint64_t{1} << 32, command->count, "Categories in all, numbered from 0")
      ->needs(categories);
  subcommand->add_flag("--unstable", command->unstable, "Records of a category in any order, which is faster");
  subcommand
      ->add_option("--index", command->index, "Write where records come from (gather) or go (scatter) instead of them")
      ->check(CLI::IsMember({"gather", "scatter"}));
  add_index_type(*subcommand, command->index_kind, "Type of the index written; u32 unless there are too many records");
  subcommand
      ->add_option("--offsets", command->offsets, "Also write where each category begins, and where the last ends: u8")
      ->type_name("FILE.npy");
  add_record_bytes(*subcommand, command->record_bytes);
  add_record_bytes(*subcommand, command->key_bytes, "--key-bytes",
                   "Width of raw keys or categories; .npy files know their own");
  command->common.add_to(*subcommand, common_options::by_reference);
  subcommand->footer(split_footer);
  subcommand->callback([command] { run(*command); });
}

}  // namespace sheaf::cli
