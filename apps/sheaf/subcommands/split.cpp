#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <sheaf/split.hpp>

#include "apps/sheaf/arguments/key.hpp"
#include "apps/sheaf/checks/split.hpp"
#include "apps/sheaf/files/arrays/numbers.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* split_footer =
    "IN is an .npy or .npz array (file.npz:NAME), whose rows along the first axis are the records, or raw records of\n"
    "--record-bytes. A record's category is a number that lies in the record (--key) or in a row of KEYS (--keys and\n"
    "--key), or that CATEGORIES says. --key OFFSET:BITS takes bits as they lie; --key NAME takes a field of a\n"
    "structured array as a number without a sign, and NAME:FIRST:BITS the bits of it from FIRST on, of which 0 is the\n"
    "lowest. Records of category 0 come first, each category in the order of IN unless --unstable; they keep their\n"
    "order of bytes. An index is .npy where IN or its keys are, else raw; IN may be left out where KEYS or CATEGORIES\n"
    "are all that an index needs.\n\n"
    "Example: records of two letters, by the second\n"
    "  printf 'a2b1c2d0e1' > in.bin\n"
    "  sheaf split in.bin --record-bytes 2 --key 8:8 -o out.bin --verify\n"
    "Rows of a table by categories 0 to 3, and where each category begins\n"
    "  python3 -c \"import numpy as np; np.save('table.npy', np.arange(30, dtype='f4').reshape(10, 3))\"\n"
    "  python3 -c \"import numpy as np; np.save('of.npy', (np.arange(10) % 4).astype('u1'))\"\n"
    "  sheaf split table.npy --categories of.npy --count 4 -o sorted.npy --offsets offsets.npy --verify";

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
};

void require_options(const split_command& o) {
  const bool has_separate_keys = !o.key_path().empty();
  if (!o.categories.empty() && !o.count)
    throw error(error_code::bad_argument, "--categories needs --count N, how many");
  if (o.categories.empty() && o.key.empty()) {
    throw error(error_code::bad_argument, "give --key OFFSET:BITS, or --categories FILE and --count N");
  }
  if (o.in.empty() && !(has_separate_keys && !o.index.empty())) {
    throw error(error_code::bad_argument, "IN may be left out for an --index by --keys or --categories alone");
  }
  if (o.in.empty() && o.record_bytes != 0) throw error(error_code::bad_argument, "--record-bytes is for IN");
  if (!has_separate_keys && o.key_bytes != 0) {
    throw error(error_code::bad_argument, "--key-bytes is for --keys or --categories");
  }
  if (!o.categories.empty() && o.order == bit_order::from_left) {
    throw error(error_code::bad_argument, "--from-left is for --key");
  }
  if (o.index.empty() && o.index_kind) throw error(error_code::bad_argument, "--index-type is for --index");
  if (!o.index.empty() && o.unstable)
    throw error(error_code::bad_argument, "--unstable is for records, not for an index");
}

void require_distinct_outputs(const split_command& o) {
  require_output(o.output, {o.in, o.key_path()});
  if (o.offsets.empty()) return;
  require_output(o.offsets, {o.in, o.key_path()}, "--offsets");
  if (io::name_one_file(o.output, o.offsets)) {
    throw error(error_code::bad_argument, fmt::format("-o and --offsets are both {}", o.offsets));
  }
}

// Categories are one unsigned number for each record.
void require_category_type(const io::record_file& file) {
  const io::npy_type& type = file.type();
  const bool known = !file.is_npy() || (type.kind == 'u' && type.item_bytes <= 4);
  if (!known) {
    throw error(error_code::bad_input,
                fmt::format("{}: descr is {}; categories are '|u1', '<u2' or '<u4'", file.path(), type.descr));
  }
  if (file.shape().size() != 1) {
    throw error(error_code::bad_input, fmt::format("{}: shape is {}; categories are one number a record", file.path(),
                                                   io::shape_text(file.shape())));
  }
}

std::optional<io::record_file> opened(const std::string& path, std::uint64_t raw_bytes, const char* option) {
  std::optional<io::record_file> file;
  if (!path.empty()) file.emplace(path, raw_bytes, option);
  return file;
}

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

void require_as_many(const split_command& o, const_records in, const_records keys) {
  if (o.in.empty() || o.key_path().empty() || in.count == keys.count) return;
  throw error(error_code::bad_input,
              fmt::format("{}: {} keys, but {} has {} records", o.key_path(), keys.count, o.in, in.count));
}

void run(split_command o) {
  require_options(o);
  const context ctx = o.common.make_context();
  const auto in_file = opened(o.in, o.record_bytes, "--record-bytes");
  const auto key_file = opened(o.key_path(), o.key_bytes, "--key-bytes");
  if (!o.categories.empty()) require_category_type(*key_file);
  if (!o.key.empty()) o.bits = bits_of_key(o.key, o.order, key_file ? *key_file : *in_file);
  require_distinct_outputs(o);
  require_name_of_kind(o.output, in_file ? *in_file : *key_file);
  const const_records in = in_file ? in_file->rows(primitives::most_record_bytes) : const_records();
  const_records keys = key_file ? key_file->rows(primitives::most_record_bytes) : const_records();
  io::native_numbers categories;
  if (!o.categories.empty()) {
    categories = io::native_numbers(keys, key_file->type());
    keys.data = categories.data();
  }
  require_as_many(o, in, keys);
  const split_views host_views = views_of(o, in, keys);
  const bool gathers = o.index == "gather";
  const std::uint64_t count = in_file ? in.count : keys.count;
  const index_type type = index_type_for(o.index_kind, count);

  const context_input context_in(ctx, in.data, in.count * in.record_bytes);
  const context_input context_keys(ctx, keys.data, keys.count * keys.record_bytes);
  const split_views context_views =
      views_of(o, {context_in.data(), in.count, in.record_bytes}, {context_keys.data(), keys.count, keys.record_bytes});
  const split_options options{o.common.variant()};
  // Plans before the output is opened, so that a key that does not fit is found first.
  const explanation plan = o.index.empty()
                               ? explain_split(ctx, context_views.in, context_views.key, !o.unstable, options)
                           : gathers ? explain_split_gather_index(ctx, context_views.key, type, options)
                                     : explain_split_scatter_index(ctx, context_views.key, type, options);

  record_output out =
      o.index.empty()
          ? record_output(o.output, output_header(*in_file, std::span(&count, 1), in_file->row_shape()), count,
                          in.record_bytes)
          : record_output(o.output, index_header(in_file ? *in_file : *key_file, type, count), count, bytes(type));
  std::optional<record_output> bounds;
  const std::uint64_t bound_count = host_views.key.categories + 1;
  if (!o.offsets.empty()) bounds.emplace(o.offsets, numbers_header("'<u8'", bound_count), bound_count, 8);
  const context_output context_out(ctx, out);
  const auto context_bounds = bounds ? std::make_unique<context_output>(ctx, *bounds) : nullptr;
  const auto values_of = [&](std::byte* data) {
    return std::span(reinterpret_cast<std::uint64_t*>(data), bounds ? bound_count : 0);
  };
  const std::span<std::uint64_t> offsets = values_of(bounds ? context_bounds->data() : nullptr);
  const double seconds = timed(ctx, o.key_path(), [&] {
    const records to(context_out.data(), count, in.record_bytes);
    const index_output index(context_out.data(), count, type);
    if (!o.index.empty()) {
      return (gathers ? split_gather_index : split_scatter_index)(ctx, context_views.key, index, offsets, options);
    }
    (o.unstable ? split_unstable : split)(ctx, context_views.in, context_views.key, to, offsets, options);
  });
  context_out.fetch();
  if (bounds) context_bounds->fetch();
  if (o.common.verify) {
    const auto found = values_of(bounds ? bounds->rows().data : nullptr);
    const auto mistake =
        o.index.empty() ? jobs::split_mistake(host_views.in, host_views.key, !o.unstable, out.rows(), found)
                        : jobs::split_index_mistake(host_views.key, gathers, {out.rows().data, count, type}, found);
    if (mistake) throw verification_failed(*mistake);
  }
  out.commit();
  if (bounds) bounds->commit();
  print_report(o.common, o.output, ctx, plan, count, o.index.empty() ? in.record_bytes : bytes(type), seconds);
}

}  // namespace

void add_split(CLI::App& app) {
  const auto o = std::make_shared<split_command>();
  CLI::App* subcommand = app.add_subcommand("split", "Bring the records of each category together, in order");
  subcommand->add_option("IN", o->in, "Records: .npy, .npz, or raw with --record-bytes")->type_name("");
  subcommand->add_option("-o,--output", o->output, "Where the result goes, whole or not at all")
      ->required()
      ->type_name("FILE");
  CLI::Option* key = add_key(*subcommand, o->key, o->order);
  CLI::Option* keys =
      subcommand
          ->add_option("--keys", o->keys,
                       "File of the keys, one row for each record, if they are not in the records; --key reads it")
          ->type_name("KEYS")
          ->needs(key);
  CLI::Option* categories =
      subcommand->add_option("--categories", o->categories, "The category of each record: '|u1', '<u2' or '<u4'")
          ->type_name("CATEGORIES")
          ->excludes(key)
          ->excludes(keys);
  add_number(
      *subcommand, "--count", 1, std::uint64_t{1} << 32, [o](std::uint64_t n) { o->count = n; },
      "Categories that there are, numbered from 0")
      ->needs(categories);
  subcommand->add_flag("--unstable", o->unstable, "Records of a category in any order, which is faster");
  subcommand->add_option("--index", o->index, "Write where records come from (gather) or go (scatter) instead of them")
      ->check(CLI::IsMember({"gather", "scatter"}));
  add_index_type(*subcommand, o->index_kind, "Type of the index written; u32 unless there are too many records");
  subcommand->add_option("--offsets", o->offsets, "Also write where each category begins, and where the last ends: u8")
      ->type_name("FILE.npy");
  add_number(
      *subcommand, "--record-bytes", 1, primitives::most_record_bytes, [o](std::uint64_t n) { o->record_bytes = n; },
      "Width of raw records; .npy files know their own");
  add_number(
      *subcommand, "--key-bytes", 1, primitives::most_record_bytes, [o](std::uint64_t n) { o->key_bytes = n; },
      "Width of raw keys or categories; .npy files know their own");
  o->common.add_context_to(*subcommand);
  o->common.add_memory_to(*subcommand);
  o->common.add_verify_to(*subcommand);
  o->common.add_json_to(*subcommand);
  o->common.add_quiet_to(*subcommand);
  subcommand->footer(split_footer);
  subcommand->callback([o] { run(*o); });
}

}  // namespace sheaf::cli
