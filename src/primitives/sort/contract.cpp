#include "primitives/sort/contract.hpp"

#include <iterator>

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {

std::span<const sort_variant> sort_variants() { return list_of<sort_variant>(); }

namespace {

constexpr std::uint32_t most_field_bytes = 32;

void require_field(std::string_view call, const key_field& field, std::uint64_t row_bytes) {
  require_enumerator(call, "the type of a key field", field.type, key_type::bytes);
  const bool fits = field.type == key_type::floating ? field.bytes == 2 || field.bytes == 4 || field.bytes == 8
                                                     : field.bytes >= 1 && field.bytes <= most_field_bytes;
  if (!fits) {
    refuse("{}: a key field of {} bytes, not {}", call, field.bytes,
           field.type == key_type::floating ? "2, 4 or 8 for a float" : "1 to 32");
  }
  if (field.offset > row_bytes || field.bytes > row_bytes - field.offset) {
    refuse("{}: a key field of {} bytes from byte {} on reaches past a row of {} bytes", call, field.bytes,
           field.offset, row_bytes);
  }
  const std::uint32_t all = field.bytes * 8;
  if (field.first_bit >= all) refuse("{}: bit {} lies past a key field of {} bits", call, field.first_bit, all);
  if (field.bit_count > all - field.first_bit) {
    refuse("{}: {} bits from bit {} on reach past a key field of {} bits", call, field.bit_count, field.first_bit, all);
  }
}

key_layout layout_of(std::string_view call, const sort_key& key, std::uint64_t row_bytes) {
  if (key.count == 0 || key.count > sort_key::most_fields)
    refuse("{}: a key of {} fields, not 1 to 8", call, key.count);
  key_layout layout;
  for (std::size_t i = 0; i < key.count; ++i) {
    require_field(call, key.fields[i], row_bytes);
    layout.fields[layout.field_count++] = key.fields[i];
    layout.bits += bits_of(key.fields[i]);
  }
  if (layout.bits > sort_key::most_bits) refuse("{}: a key of {} bits, more than 256", call, layout.bits);
  return layout;
}

sorted_array array_of(const_records in, records out) {
  const bool written = out.data != nullptr || out.stride_bytes != 0;
  sorted_array array;
  array.record_bytes = in.record_bytes;
  array.in_stride_bytes = in.stride_bytes;
  array.out_stride_bytes = written ? out.stride_bytes : 0;
  array.access_bytes =
      widest_word(reinterpret_cast<std::uintptr_t>(in.data) | reinterpret_cast<std::uintptr_t>(out.data) |
                  in.stride_bytes | array.out_stride_bytes | in.record_bytes);
  return array;
}

// The part of a problem that all calls have: a key, and rows that hold it.
sort_problem describe(std::string_view call, const context& ctx, const_records in, std::string_view in_name,
                      const sort_key& key, records out) {
  require_shape(call, in, in_name);
  sort_problem problem;
  problem.backend = ctx.backend();
  problem.count = in.count;
  problem.key = layout_of(call, key, in.record_bytes);
  problem.rows = array_of(in, out);
  return problem;
}

void require_same_shape(std::string_view call, const_records in, std::string_view in_name, records out,
                        std::string_view out_name) {
  require_shape(call, in, in_name);
  require_shape(call, out, out_name);
  if (in.record_bytes != out.record_bytes) {
    refuse("{}: {} has rows of {} bytes, but {} has {}", call, in_name, in.record_bytes, out_name, out.record_bytes);
  }
  if (in.count != out.count) refuse("{}: {} has {} rows, but {} has {}", call, in_name, in.count, out_name, out.count);
}

// An array of a call, named for messages. No array that is written may overlap another.
struct named_view {
  const void* data;
  std::uint64_t bytes;
  std::string_view name;
  bool is_written;
};

struct column_name {
  std::string_view in;
  std::string_view out;
};
constexpr column_name column_names[] = {{"values[0].in", "values[0].out"}, {"values[1].in", "values[1].out"},
                                        {"values[2].in", "values[2].out"}, {"values[3].in", "values[3].out"},
                                        {"values[4].in", "values[4].out"}, {"values[5].in", "values[5].out"},
                                        {"values[6].in", "values[6].out"}, {"values[7].in", "values[7].out"}};
static_assert(std::size(column_names) == most_sort_columns);

void require_no_overlaps(std::string_view call, const context& ctx, std::span<const named_view> views) {
  for (const named_view& v : views) require_memory(call, ctx, v.data, v.bytes, v.name);
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t j = i + 1; j < views.size(); ++j) {
      if (!views[i].is_written && !views[j].is_written) continue;
      require_no_overlap(call, views[i].data, views[i].bytes, views[i].name, views[j].data, views[j].bytes,
                         views[j].name);
    }
  }
}

named_view view_of(const_records r, std::string_view name, bool is_written) {
  return {r.data, extent(r), name, is_written};
}

sort_problem describe_pairs(std::string_view call, const context& ctx, const_records keys, const sort_key& key,
                            records keys_out, bool writes_keys, std::span<const sort_column> values) {
  sort_problem problem = describe(call, ctx, keys, "keys", key, keys_out);
  problem.writes_rows = writes_keys;
  if (values.size() > most_sort_columns) refuse("{}: {} arrays of values, more than 8", call, values.size());
  for (const sort_column& v : values) {
    const auto [in_name, out_name] = column_names[problem.column_count];
    require_same_shape(call, v.in, in_name, v.out, out_name);
    if (v.in.count != keys.count) refuse("{}: {} keys, but {} has {} values", call, keys.count, in_name, v.in.count);
    problem.columns[problem.column_count++] = array_of(v.in, v.out);
  }
  return problem;
}

sort_problem describe_index(std::string_view call, const context& ctx, const_records in, const sort_key& key,
                            index_type type) {
  sort_problem p = describe(call, ctx, in, "in", key, {});
  p.product = sort_product::gather_index;
  p.writes_rows = false;
  p.index = type;
  return p;
}

void run(std::string_view call, const context& ctx, const sort_problem& p, const sort_buffers& b,
         const sort_options& options) {
  plan::execute(call, sort_variants(), p, ctx, options.variant, b);
}

constexpr std::string_view records_call = "sort_records";
constexpr std::string_view pairs_call = "sort_pairs";
constexpr std::string_view index_call = "sort_gather_index";

}  // namespace
}  // namespace primitives

void sort_records(const context& ctx, const_records in, const sort_key& key, records out, const sort_options& options) {
  using namespace primitives;
  require_same_shape(records_call, in, "in", out, "out");
  const sort_problem p = describe(records_call, ctx, in, "in", key, out);
  const named_view views[] = {view_of(in, "in", false), view_of(out, "out", true)};
  require_no_overlaps(records_call, ctx, views);
  if (p.count == 0) return;
  run(records_call, ctx, p, {.in = in, .out = out}, options);
}

void sort_pairs(const context& ctx, const_records keys, const sort_key& key, records keys_out,
                std::span<const sort_column> values, const sort_options& options) {
  using namespace primitives;
  const bool writes_keys = keys_out.data != nullptr || keys_out.count > 0;
  if (writes_keys) require_same_shape(pairs_call, keys, "keys", keys_out, "keys_out");
  const sort_problem problem = describe_pairs(pairs_call, ctx, keys, key, keys_out, writes_keys, values);
  std::vector<named_view> views{view_of(keys, "keys", false)};
  if (writes_keys) views.push_back(view_of(keys_out, "keys_out", true));
  sort_buffers buffers{.in = keys, .out = keys_out};
  for (std::size_t i = 0; i < values.size(); ++i) {
    views.push_back(view_of(values[i].in, column_names[i].in, false));
    views.push_back(view_of(values[i].out, column_names[i].out, true));
    buffers.columns[i] = values[i];
  }
  require_no_overlaps(pairs_call, ctx, views);
  if (problem.count == 0 || (!writes_keys && values.empty())) return;
  run(pairs_call, ctx, problem, buffers, options);
}

void sort_gather_index(const context& ctx, const_records in, const sort_key& key, index_output gather_index,
                       const sort_options& options) {
  using namespace primitives;
  const sort_problem problem = describe_index(index_call, ctx, in, key, gather_index.type);
  if (gather_index.count != in.count) {
    refuse("{}: the index has {} entries, but there are {} rows", index_call, gather_index.count, in.count);
  }
  require_index_output(index_call, ctx, gather_index, "the index", in.count);
  const named_view views[] = {view_of(in, "in", false),
                              {gather_index.data, gather_index.count * bytes(gather_index.type), "the index", true}};
  require_no_overlaps(index_call, ctx, views);
  if (problem.count == 0) return;
  run(index_call, ctx, problem, {.in = in, .index = gather_index}, options);
}

explanation explain_sort_records(const context& ctx, const_records in, const sort_key& key,
                                 const sort_options& options) {
  using namespace primitives;
  const records out(nullptr, in.count, in.record_bytes);
  const sort_problem p = describe(records_call, ctx, in, "in", key, out);
  return plan::explain(records_call, sort_variants(), p, ctx, options.variant);
}

explanation explain_sort_pairs(const context& ctx, const_records keys, const sort_key& key, bool writes_keys,
                               std::span<const sort_column> values, const sort_options& options) {
  using namespace primitives;
  const records out = writes_keys ? records(nullptr, keys.count, keys.record_bytes) : records();
  const sort_problem p = describe_pairs(pairs_call, ctx, keys, key, out, writes_keys, values);
  return plan::explain(pairs_call, sort_variants(), p, ctx, options.variant);
}

explanation explain_sort_gather_index(const context& ctx, const_records in, const sort_key& key, index_type type,
                                      const sort_options& options) {
  using namespace primitives;
  const sort_problem p = describe_index(index_call, ctx, in, key, type);
  require_index_width(index_call, type, "the index", in.count);
  return plan::explain(index_call, sort_variants(), p, ctx, options.variant);
}

}  // namespace sheaf
