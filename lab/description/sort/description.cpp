#include <numeric>

#include <fmt/ranges.h>

#include "lab/description/estimates.hpp"
#include "lab/description/keys.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sort/items.hpp"
#include "lab/description/sort/problem.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::primitives {

/// The key that a sort compares by: key_fields, or else one field at the beginning of a row.
sort_key key_of(const problem_spec& p) {
  const key_part& by = p.part<key_part>();
  const sort_part& sort = p.part<sort_part>();
  if (sort.key_fields.empty()) {
    return key_field{0, static_cast<std::uint32_t>(p.key_bytes), by.number, false, by.first_bit, by.bits};
  }
  sort_key key{};
  if (sort.key_fields.size() > sort_key::most_fields) refuse("{} key fields, more than 8", sort.key_fields.size());
  for (const key_field& f : sort.key_fields) key.fields[key.count++] = f;
  return key;
}

namespace {

constexpr std::uint64_t most_key_bytes = sort_key::most_bits / 8;
constexpr const char* key_help =
    "Sorts: OFFSET:BYTES[:TYPE][:asc|desc] as in sheaf sort, up to 8 times; the whole record as an unsigned number "
    "unless given";

void set_key(problem_spec& p, std::span<const std::string> texts, std::uint64_t width, std::string_view rows) {
  const sort_key key = key_of_texts(texts, width, false, rows);
  p.part<sort_part>().key_fields.assign(key.fields.begin(),
                                        key.fields.begin() + static_cast<std::ptrdiff_t>(key.count));
}

void take_whole_row(problem_spec& p, std::uint64_t width, std::string_view rows) {
  if (width > most_key_bytes) {
    refuse("{} of {} bytes need --key: a key has at most {} of them", rows, width, most_key_bytes);
  }
  p.part<sort_part>().key_fields = {key_field{0, static_cast<std::uint32_t>(width)}};
}

constexpr problem_field key_field_read_by(decltype(problem_field::read) read) {
  return {"--key", key_help, "KEY", read, true};
}
constexpr problem_field key_of_records =
    key_field_read_by([](problem_spec& p, option_texts texts) { set_key(p, texts, p.record_bytes, "records"); });
constexpr problem_field key_of_keys =
    key_field_read_by([](problem_spec& p, option_texts texts) { set_key(p, texts, p.key_bytes, "keys"); });
constexpr problem_field key_of_rows =
    key_field_read_by([](problem_spec& p, option_texts texts) { set_key(p, texts, p.key_bytes, "records"); });

const problem_field value_bytes{"--value-bytes", "sort_pairs: bytes of a value, once for each array of values", "N",
                                [](problem_spec& p, option_texts texts) {
                                  for (std::size_t i = 0; i < texts.size(); ++i) {
                                    const std::uint64_t width = number_of("--value-bytes", texts.subspan(i, 1), 1);
                                    if (i == 0) p.record_bytes = width;
                                    if (i > 0) p.part<sort_part>().more_value_bytes.push_back(width);
                                  }
                                },
                                true};
/// The rows of sort_gather_index stay where they are; what it writes is an index.
const problem_field bytes_of_rows{
    fields::bytes.option, fields::bytes.help, fields::bytes.type_name,
    [](problem_spec& p, option_texts texts) { p.key_bytes = number_of("--record-bytes", texts, 1); }};

void whole_record(problem_spec& p) { take_whole_row(p, p.record_bytes, "records"); }
void whole_key(problem_spec& p) { take_whole_row(p, p.key_bytes, "keys"); }
void whole_row(problem_spec& p) { take_whole_row(p, p.key_bytes, "records"); }
void four_bytes(problem_spec& p) { p.key_bytes = 4; }

constexpr field_use taken_by_records[] = {required(fields::count), required(fields::bytes),
                                          optional(key_of_records, whole_record)};
constexpr field_use taken_by_pairs[] = {required(fields::count), required(value_bytes),
                                        optional(fields::key_bytes, four_bytes), optional(key_of_keys, whole_key)};
constexpr field_use taken_by_index[] = {required(fields::count), required(bytes_of_rows),
                                        optional(fields::written_index, fields::write_all_numbers),
                                        optional(key_of_rows, whole_row)};

row_parts write(const problem_spec& p) {
  const key_part& key = p.part<key_part>();
  std::string pattern(name(key.keys));
  if (key.bits != 8 * p.key_bytes) pattern += fmt::format(":b{}-{}", key.first_bit, key.first_bit + key.bits - 1);
  return {pattern, key_name(key.number, p.key_bytes)};
}

void read(const name_part& pattern, const name_part& type, problem_spec& problem) {
  key_part& key = problem.part<key_part>();
  const std::optional<key_kind> kind = parse_key_name(type.text());
  if (!kind || kind->bytes > most_key_bytes) type.refuse("a type of keys: u32, i64, f32, bytes10 and the like");
  key.number = kind->type;
  problem.key_bytes = kind->bytes;
  key.bits = static_cast<std::uint32_t>(8 * problem.key_bytes);
  const auto [keys, range] = pattern.cut_at_last(":b");
  key.keys = keys.read(parse_key_distribution);
  if (!range) return;
  const auto [first, last] = range->cut_at("-");
  constexpr std::string_view expected = "a range of the key's bits, such as 8-15";
  if (!last) range->refuse(expected);
  key.first_bit = static_cast<std::uint32_t>(first.number(0, key.bits - 1, expected));
  key.bits = static_cast<std::uint32_t>(last->number(key.first_bit, key.bits - 1, expected)) + 1 - key.first_bit;
}

void read_with_key(const name_part& pattern, const name_part& type, problem_spec& p) {
  read(pattern, type, p);
  if (p.key_bytes > p.record_bytes) type.refuse(fmt::format("a key that records of {} bytes hold", p.record_bytes));
}

void read_keys(const name_part& pattern, const name_part& type, problem_spec& p) {
  read(pattern, type, p);
  if (p.key_bytes != p.record_bytes) type.refuse(fmt::format("a key of {} bytes", p.record_bytes));
}

void read_of_index(const name_part& pattern, const name_part& type, problem_spec& p) {
  read(pattern, type, p);
  read_written_index(type, p);
}

std::vector<std::uint64_t> values_of(const problem_spec& p) {
  const sort_part& sort = p.part<sort_part>();
  std::vector<std::uint64_t> widths{p.record_bytes};
  widths.insert(widths.end(), sort.more_value_bytes.begin(), sort.more_value_bytes.end());
  return widths;
}

std::vector<std::string> field_texts(const problem_spec& p) {
  const sort_key key = key_of(p);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < key.count; ++i) texts.push_back(text_of(key.fields[i]));
  return texts;
}

std::string with_key(const problem_spec& p, const std::string& what) {
  return fmt::format("{}, by {} ({} bits)", what, fmt::join(field_texts(p), ", then "), layout_of(key_of(p)).bits);
}

std::string text_of_records(const problem_spec& p) {
  return with_key(p, fmt::format("{} records of {} bytes", p.count, p.record_bytes));
}
std::string text_of_pairs(const problem_spec& p) {
  return with_key(p, fmt::format("{} keys of {} bytes with values of {} bytes", p.count, p.key_bytes,
                                 fmt::join(values_of(p), " and ")));
}
std::string text_of_index(const problem_spec& p) {
  return with_key(p, fmt::format("{} index of {} records of {} bytes", name(p.index), p.count, p.key_bytes));
}

std::vector<fact> facts(const problem_spec& p, std::initializer_list<fact> more) {
  std::vector<fact> all{
      {"count", p.count}, {"key", field_texts(p)}, {"key_bits", std::uint64_t{layout_of(key_of(p)).bits}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
std::vector<fact> facts_of_records(const problem_spec& p) { return facts(p, {{"record_bytes", p.record_bytes}}); }
std::vector<fact> facts_of_pairs(const problem_spec& p) {
  return facts(p, {{"key_bytes", p.key_bytes}, {"value_bytes", values_of(p)}});
}
std::vector<fact> facts_of_index(const problem_spec& p) {
  return facts(p, {{"record_bytes", p.key_bytes}, {"index_type", std::string(name(p.index))}});
}

std::string label_of_bits(const problem_spec& p) {
  return p.part<key_part>().bits == 8 * p.key_bytes ? ""
                                                    : fmt::format(", by {} bits of the key", p.part<key_part>().bits);
}

std::string headline_of_sort(const problem_spec& p, const std::string& what) {
  const std::string order =
      p.part<key_part>().keys == key_distribution::uniform ? "" : ", " + order_text(name(p.part<key_part>().keys));
  return what + order + label_of_bits(p);
}

// Rows by some bits of the key are alike whatever its distribution.
std::vector<label_part> line_of_sort(const problem_spec& problem, std::initializer_list<label_part> payload) {
  std::vector<label_part> line{
      {fmt::format("keys of {} bytes (", problem.key_bytes)}, varying(write(problem).type), {")"}};
  line.insert(line.end(), payload.begin(), payload.end());
  line.push_back({label_of_bits(problem) + ", "});
  const bool all_decide = problem.part<key_part>().bits == 8 * problem.key_bytes;
  line.push_back({.text = order_text(name(problem.part<key_part>().keys)), .varies = !all_decide});
  return line;
}

row_labels labels_of_keys(const problem_spec& p) {
  return {headline_of_sort(p, fmt::format("sort {} keys of {} bytes", count_text(p.count), p.key_bytes)),
          line_of_sort(p, {})};
}
row_labels labels_of_pairs(const problem_spec& p) {
  return {headline_of_sort(p, fmt::format("sort {} keys of {} bytes with values of {}", count_text(p.count),
                                          p.key_bytes, p.record_bytes)),
          line_of_sort(p, {{" with values of "}, varying(p.record_bytes), {" bytes"}})};
}
row_labels labels_of_records(const problem_spec& p) {
  return {headline_of_sort(p, fmt::format("sort {} records of {} bytes by a key of {} bytes", count_text(p.count),
                                          p.record_bytes, p.key_bytes)),
          line_of_sort(p, {{" in records of "}, varying(p.record_bytes), {" bytes"}})};
}
row_labels labels_of_index(const problem_spec& p) {
  return {headline_of_sort(p, fmt::format("argsort {} keys of {} bytes", count_text(p.count), p.key_bytes)),
          line_of_sort(p, {})};
}

explanation explain_records(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_sort_records(ctx, {nullptr, p.count, p.record_bytes}, key_of(p), {variant});
}
explanation explain_pairs(const context& ctx, const problem_spec& p, std::string_view variant) {
  std::vector<sort_column> columns;
  for (const std::uint64_t width : values_of(p))
    columns.push_back({{nullptr, p.count, width}, {nullptr, p.count, width}});
  return explain_sort_pairs(ctx, {nullptr, p.count, p.key_bytes}, key_of(p), true, columns, {variant});
}
explanation explain_index(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_sort_gather_index(ctx, {nullptr, p.count, p.key_bytes}, key_of(p), p.index, {variant});
}

sorted_array moved(std::uint64_t width) { return {width, width, width, widest_word(width)}; }

sort_problem problem_by_key(const problem_spec& p, std::uint64_t width, backend_kind backend) {
  sort_problem problem;
  problem.backend = backend;
  problem.count = p.count;
  problem.key = layout_of(key_of(p));
  problem.rows = moved(width);
  return problem;
}
sort_problem problem_of_records(const problem_spec& p, backend_kind backend) {
  return problem_by_key(p, p.record_bytes, backend);
}
sort_problem problem_of_pairs(const problem_spec& p, backend_kind backend) {
  sort_problem s = problem_by_key(p, p.key_bytes, backend);
  for (const std::uint64_t width : values_of(p)) s.columns.at(s.column_count++) = moved(width);
  return s;
}
sort_problem problem_of_index(const problem_spec& problem, backend_kind backend) {
  sort_problem sort = problem_by_key(problem, problem.key_bytes, backend);
  sort.product = sort_product::gather_index;
  sort.writes_rows = false;
  sort.rows.out_stride_bytes = 0;
  sort.index = problem.index;
  return sort;
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using primitives::key_part;
using primitives::sort_part;

bool is_whole_word(const problem_spec& p) {
  const key_part& key = p.part<key_part>();
  return key.number == key_type::unsigned_integer && key.bits == 8 * p.key_bytes &&
         (p.key_bytes == 4 || p.key_bytes == 8);
}

template <class Key>
plain_call key_sort(const problem_spec& p, const array_set& arrays) {
  return
      [count = p.count, in = items_of<const Key>(arrays[places::source]), out = items_of<Key>(arrays[places::target])] {
        std::copy(in, in + count, out);
        std::sort(out, out + count);
      };
}

// Copies rows and sorts them in their place.
template <class Row, class Less>
plain_call row_sort(const problem_spec& p, const array_set& arrays, Less less) {
  return [count = p.count, less, in = items_of<const Row>(arrays[places::source]),
          out = items_of<Row>(arrays[places::target])] {
    std::copy(in, in + count, out);
    std::stable_sort(out, out + count, less);
  };
}

// Sorts structs of a key and its value, and takes them apart again.
template <class Key, class Value>
plain_call pair_sort(const problem_spec& problem, const array_set& arrays) {
  struct pair {
    Key key;
    Value value;
  };
  return [count = problem.count, keys = items_of<const Key>(arrays[places::index]),
          values = items_of<const Value>(arrays[places::source]), keys_out = items_of<Key>(arrays[places::sorted_keys]),
          values_out = items_of<Value>(arrays[places::target])] {
    std::vector<pair> pairs(count);
    for (std::uint64_t i = 0; i < count; ++i) pairs[i] = {keys[i], values[i]};
    std::stable_sort(pairs.begin(), pairs.end(), [](const pair& a, const pair& b) { return a.key < b.key; });
    for (std::uint64_t i = 0; i < count; ++i) {
      keys_out[i] = pairs[i].key;
      values_out[i] = pairs[i].value;
    }
  };
}

// Sorts row numbers by the keys that they name.
template <class Key>
plain_call index_sort(const problem_spec& p, const array_set& arrays) {
  return [count = p.count, keys = items_of<const Key>(arrays[places::index]),
          out = items_of<std::uint32_t>(arrays[places::target])] {
    std::iota(out, out + count, 0U);
    std::stable_sort(out, out + count, [keys](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  };
}

plain_call plain_sort_keys(const context&, const problem_spec& problem, const array_set& arrays) {
  const key_part& key = problem.part<key_part>();
  if (key.bits != 8 * problem.key_bytes) return {};
  const bool is_short = problem.key_bytes == 4;
  if (!is_short && problem.key_bytes != 8) return {};
  switch (key.number) {
    case key_type::unsigned_integer:
      return is_short ? key_sort<std::uint32_t>(problem, arrays) : key_sort<std::uint64_t>(problem, arrays);
    case key_type::signed_integer:
      return is_short ? key_sort<std::int32_t>(problem, arrays) : key_sort<std::int64_t>(problem, arrays);
    case key_type::floating: return is_short ? key_sort<float>(problem, arrays) : key_sort<double>(problem, arrays);
    case key_type::bytes: return {};
  }
  return {};
}

plain_call plain_sort_pairs(const context&, const problem_spec& problem, const array_set& arrays) {
  if (!is_whole_word(problem)) return {};
  if (problem.key_bytes == 4)
    return problem.record_bytes == 4 ? pair_sort<std::uint32_t, std::uint32_t>(problem, arrays) : plain_call{};
  switch (problem.record_bytes) {
    case 4: return pair_sort<std::uint64_t, std::uint32_t>(problem, arrays);
    case 8: return pair_sort<std::uint64_t, std::uint64_t>(problem, arrays);
    case 16: return pair_sort<std::uint64_t, plain_record<16>>(problem, arrays);
    default: return {};
  }
}

plain_call plain_sort_records(const context&, const problem_spec& problem, const array_set& arrays) {
  if (is_whole_word(problem) && problem.key_bytes == 8 && problem.record_bytes == 16) {
    struct row {
      std::uint64_t key;
      std::uint64_t rest;
    };
    return row_sort<row>(problem, arrays, [](const row& a, const row& b) { return a.key < b.key; });
  }
  if (problem.part<key_part>().number == key_type::bytes && problem.record_bytes == 100) {
    using row = plain_record<100>;
    return row_sort<row>(problem, arrays, [bytes = problem.key_bytes](const row& a, const row& b) {
      return std::memcmp(&a, &b, bytes) < 0;
    });
  }
  return {};
}

plain_call plain_sort_index(const context&, const problem_spec& p, const array_set& arrays) {
  if (!is_whole_word(p) || p.index != index_type::u32) return {};
  return p.key_bytes == 4 ? index_sort<std::uint32_t>(p, arrays) : index_sort<std::uint64_t>(p, arrays);
}

// Jobs of the sorts. The rank of a key is drawn first and its bytes follow from the rank; a row holds its number, from
// which all of its bytes follow. The check compares ranks of neighbours.
constexpr std::uint64_t most_generated_key_bytes = 16;

bool keys_in_rows(const problem_spec& p) { return p.primitive == "sort_keys" || p.primitive == "sort_records"; }

sort_source source_of(const problem_spec& problem, std::uint64_t copy) {
  const key_part& key = problem.part<key_part>();
  return {.distribution = key.keys,
          .type = key.number,
          .key_bytes = static_cast<std::uint32_t>(problem.key_bytes),
          .first_bit = key.first_bit,
          .bits = key.bits,
          .record_bytes = problem.record_bytes,
          .keys_in_rows = keys_in_rows(problem),
          .count = problem.count,
          .seed = records_seed + copy};
}

array_shapes shapes(const problem_spec& problem) {
  const std::string keys =
      fmt::format("{} {} {}", primitives::pattern_name(problem), primitives::type_name(problem), problem.count);
  array_shapes all;
  if (!primitives::entry_of(problem).writes_index) {
    all[places::source] = {
        problem.count, problem.record_bytes, array_role::input,
        fmt::format("sort rows {} {} {}", problem.record_bytes, problem.count, keys_in_rows(problem) ? keys : "")};
  }
  if (!keys_in_rows(problem))
    all[places::index] = {problem.count, problem.key_bytes, array_role::input, "sort keys " + keys};
  all[places::target] = {problem.count, problem.record_bytes, array_role::output};
  if (problem.primitive == "sort_pairs") {
    all[places::sorted_keys] = {problem.count, problem.key_bytes, array_role::output};
  }
  return all;
}

std::uint64_t bytes_of_records(const problem_spec& p) { return 2 * p.count * p.record_bytes; }
std::uint64_t bytes_of_pairs(const problem_spec& p) { return 2 * p.count * (p.record_bytes + p.key_bytes); }
std::uint64_t bytes_of_index(const problem_spec& p) { return p.count * (p.record_bytes + p.key_bytes); }

std::string unchecked(const problem_spec& problem) {
  const key_part& key = problem.part<key_part>();
  const sort_part& sort = problem.part<sort_part>();
  const bool is_float = key.number == key_type::floating;
  if (!sort.key_fields.empty() || !sort.more_value_bytes.empty() || problem.key_bytes > most_generated_key_bytes ||
      (is_float && problem.key_bytes != 4 && problem.key_bytes != 8) ||
      (is_float && key.bits != 8 * problem.key_bytes)) {
    return "such keys are not generated";
  }
  return "";
}

std::string unchecked_rows(const problem_spec& p) {
  if (std::string why_not = unchecked(p); !why_not.empty()) return why_not;
  const bool has_room = !keys_in_rows(p) || p.record_bytes > p.key_bytes;
  return has_room && source_of(p, 0).holds_whole_number() ? "" : "rows are too narrow to be told apart";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: over_items(ctx, p.count, fill_sort_rows{source_of(p, copy), array.data}); break;
    case places::index: over_items(ctx, p.count, fill_sort_keys{source_of(p, copy), array.data}); break;
    default: wipe(ctx, array);
  }
}

void run_records(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  sort_records(ctx, arrays[places::source], primitives::key_of(p), arrays[places::target], {settings.variant});
}

void run_pairs(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const sort_column values{arrays[places::source], arrays[places::target]};
  sort_pairs(ctx, arrays[places::index], primitives::key_of(p), arrays[places::sorted_keys], std::span(&values, 1),
             {settings.variant});
}

void run_index(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  sort_gather_index(ctx, arrays[places::index], primitives::key_of(p), {arrays[places::target].data, p.count, p.index},
                    {settings.variant});
}

std::uint64_t mistakes_of_keys(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const tally keys = over_items(ctx, p.count, check_sorted_keys{source_of(p, 0), arrays[places::target].data});
  return keys.mismatches + (keys.sum != 0);
}

// The sorted keys of pairs are in an array of their own; records hold theirs.
std::uint64_t mistakes_of_rows(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const std::byte* const keys = arrays[places::sorted_keys].data;
  return over_items(ctx, p.count, check_sorted_rows{source_of(p, 0), arrays[places::target].data, keys}).mismatches;
}

std::uint64_t mistakes_of_index(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  return over_items(ctx, p.count, check_sort_index{source_of(p, 0), arrays[places::target].data, p.record_bytes})
      .mismatches;
}

constexpr sample keys_samples[] = {
    {"sort_keys/uniform/r4/u32"}, {"sort_keys/zipf/r8/u64"}, {"sort_keys/uniform/r4/f32"}, {"sort_keys/nested/r8/i64"}};

constexpr sample pairs_samples[] = {
    {"sort_pairs/uniform/r4/u32"}, {"sort_pairs/uniform/r8/u64"}, {"sort_pairs/zipf/r16/u64"}};

constexpr sample records_samples[] = {{"sort_records/uniform/r16/u64"}, {"sort_records/uniform/r100/bytes10"}};

constexpr sample index_samples[] = {{"sort_gather_index/uniform/r4/u32"}, {"sort_gather_index/uniform/r4/u64"}};

constexpr std::string_view calibrated_keys[] = {"sort_keys/uniform/r4/u32", "sort_keys/uniform/r8/u64"};

constexpr std::string_view calibrated_pairs[] = {"sort_pairs/uniform/r4/u32", "sort_pairs/uniform/r8/u64"};

constexpr std::string_view calibrated_records[] = {"sort_records/uniform/r16/u64", "sort_records/uniform/r100/bytes10"};

constexpr std::string_view calibrated_indices[] = {"sort_gather_index/uniform/r4/u32",
                                                   "sort_gather_index/uniform/r4/u64"};

constexpr job job_of_sort(std::span<const sample> samples, std::span<const std::string_view> calibrated,
                          decltype(job::moved_bytes) moved_bytes, decltype(job::unchecked) why_unchecked,
                          decltype(job::run) run, decltype(job::count_mistakes) count_mistakes,
                          decltype(job::plain_loop) plain_loop) {
  return {.samples = samples,
          .calibrated = calibrated,
          .shapes = shapes,
          .moved_bytes = moved_bytes,
          .unchecked = why_unchecked,
          .fill = fill_array,
          .run = run,
          .count_mistakes = count_mistakes,
          .plain_loop = plain_loop};
}

constexpr job sort_keys_job = job_of_sort(keys_samples, calibrated_keys, bytes_of_records, unchecked, run_records,
                                          mistakes_of_keys, plain_sort_keys);
constexpr job sort_pairs_job = job_of_sort(pairs_samples, calibrated_pairs, bytes_of_pairs, unchecked_rows, run_pairs,
                                           mistakes_of_rows, plain_sort_pairs);
constexpr job sort_records_job = job_of_sort(records_samples, calibrated_records, bytes_of_records, unchecked_rows,
                                             run_records, mistakes_of_rows, plain_sort_records);
constexpr job sort_gather_index_job = job_of_sort(index_samples, calibrated_indices, bytes_of_index, unchecked,
                                                  run_index, mistakes_of_index, plain_sort_index);

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {
namespace {

/// Keys are records that hold nothing else.
constexpr entry entry_of_records(std::string_view name, std::string_view example, decltype(entry::read) read_row,
                                 decltype(entry::labels) labels, const jobs::job& job) {
  return {.name = name,
          .family = "sort",
          .fields = taken_by_records,
          .example = example,
          .write = write,
          .read = read_row,
          .text = text_of_records,
          .facts = facts_of_records,
          .labels = labels,
          .explain = explain_records,
          .estimates = estimates_by<problem_of_records, sort_variants>,
          .place = place_by<problem_of_records>,
          .job = &job};
}

}  // namespace

constexpr entry sort_keys_entry =
    entry_of_records("sort_keys", "--count 100000000 --record-bytes 8", read_keys, labels_of_keys, jobs::sort_keys_job);
constexpr entry sort_records_entry = entry_of_records("sort_records", "--count 100000000 --record-bytes 100 --key 0:10",
                                                      read_with_key, labels_of_records, jobs::sort_records_job);

constexpr entry sort_pairs_entry{.name = "sort_pairs",
                                 .family = "sort",
                                 .fields = taken_by_pairs,
                                 .example = "--count 100000000 --key-bytes 8 --value-bytes 4 --value-bytes 16",
                                 .write = write,
                                 .read = read,
                                 .text = text_of_pairs,
                                 .facts = facts_of_pairs,
                                 .labels = labels_of_pairs,
                                 .explain = explain_pairs,
                                 .estimates = estimates_by<problem_of_pairs, sort_variants>,
                                 .place = place_by<problem_of_pairs>,
                                 .job = &jobs::sort_pairs_job};

constexpr entry sort_gather_index_entry{.name = "sort_gather_index",
                                        .family = "sort",
                                        .fields = taken_by_index,
                                        .example = "--count 100000000 --record-bytes 16 --key 8:8:i",
                                        .writes_index = true,
                                        .write = write,
                                        .read = read_of_index,
                                        .text = text_of_index,
                                        .facts = facts_of_index,
                                        .labels = labels_of_index,
                                        .explain = explain_index,
                                        .estimates = estimates_by<problem_of_index, sort_variants>,
                                        .place = place_by<problem_of_index>,
                                        .job = &jobs::sort_gather_index_job};

}  // namespace sheaf::primitives
