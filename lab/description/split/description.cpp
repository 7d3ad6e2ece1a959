#include <numeric>

#include "core/printable.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/keys.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/split/items.hpp"
#include "lab/description/split/problem.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_categories = std::uint64_t{1} << 32;
/// No record has more.
constexpr std::uint64_t most_bits = 8 * most_record_bytes;

const problem_field key_field_of_split{
    "--key", "Splits: OFFSET:BYTES, where a record's category lies; the whole record unless given", "KEY",
    [](problem_spec& problem, option_texts texts) {
      const std::string& text = texts.front();
      const std::size_t colon = text.find(':');
      const auto offset = parse_number(std::string_view(text).substr(0, colon));
      const auto width = colon == text.npos ? std::nullopt : parse_number(std::string_view(text).substr(colon + 1));
      if (!offset || !width || *width == 0) {
        refuse("--key: '{}' is not OFFSET:BYTES, two whole numbers, of which the second is not 0",
               core::printable(text));
      }
      if (*offset > most_record_bytes || *width > most_record_bytes - *offset) {
        refuse("--key: '{}' reaches past the end of any record; --bits FIRST:COUNT takes bits", core::printable(text));
      }
      problem.part<key_part>().first_bit = static_cast<std::uint32_t>(8 * *offset);
      problem.part<key_part>().bits = static_cast<std::uint32_t>(8 * *width);
    }};
// A key of 0 bits stands for the whole record until --bits is read.
void key_is_record(problem_spec& p) { p.part<key_part>().bits = 0; }
const problem_field bits_field{
    "--bits",
    "Splits: FIRST:COUNT, the bits of the key that are the category, 1 to 96 of them; all of --key, or 0:8 of a whole "
    "record, unless given",
    "FIRST:COUNT", [](problem_spec& problem, option_texts texts) {
      const bit_field bits = parse_bit_field(texts.front());
      if (bits.count == 0 || bits.count > bit_field::most_bits) {
        refuse("--bits: '{}' has {} bits, not 1 to {}", core::printable(texts.front()), bits.count,
               bit_field::most_bits);
      }
      key_part& key = problem.part<key_part>();
      if (bits.first > most_bits) {
        refuse("--bits: '{}' begins past the end of any record", core::printable(texts.front()));
      }
      if (key.bits != 0 && bits.first + bits.count > key.bits)
        refuse("--bits: '{}' reaches past the {} bits of --key", core::printable(texts.front()), key.bits);
      key.first_bit += static_cast<std::uint32_t>(bits.first);
      key.bits = bits.count;
    }};
void usual_bits(problem_spec& p) {
  constexpr std::uint32_t usual = 8;
  key_part& key = p.part<key_part>();
  if (key.bits > bit_field::most_bits) {
    refuse("--key has {} bits, more than {}: --bits FIRST:COUNT takes some of them", key.bits, bit_field::most_bits);
  }
  if (key.bits == 0) key.bits = usual;
}
const problem_field from_left{
    "--from-left",
    "Splits: bit 0 is the highest of byte 0, as in the paper; without it the lowest, "
    "as in a little-endian number",
    "", [](problem_spec& p, option_texts) { p.part<split_part>().bits_from = bit_order::from_left; }};
const problem_field categories{"--categories", "Splits: keys are categories, of which there are N", "N",
                               [](problem_spec& p, option_texts texts) {
                                 p.part<split_part>().categories = number_of("--categories", texts, 1, most_categories);
                                 if (p.key_bytes == 0) p.key_bytes = 4;
                               }};

void separate_keys(problem_spec& p) { p.key_bytes = 4; }

constexpr field_use categories_or_key{&categories, false, nullptr, &key_field_of_split};
constexpr field_use bits_or_categories{&bits_field, false, usual_bits, &categories};

constexpr field_use taken_by_records[] = {required(fields::count),
                                          required(fields::bytes),
                                          optional(fields::key_bytes),
                                          optional(key_field_of_split, key_is_record),
                                          bits_or_categories,
                                          optional(from_left),
                                          categories_or_key};
constexpr field_use taken_by_index[] = {required(fields::count),
                                        optional(fields::written_index, fields::write_all_numbers),
                                        optional(fields::key_bytes, separate_keys),
                                        optional(key_field_of_split, key_is_record),
                                        bits_or_categories,
                                        optional(from_left),
                                        categories_or_key};

row_parts write(const problem_spec& p) {
  const key_part& key = p.part<key_part>();
  return {fmt::format("{}:b{}", name(key.keys), key.bits),
          p.key_bytes == 0 ? "own" : fmt::format("k{}", 8 * p.key_bytes)};
}

void read(const name_part& pattern, const name_part& type, problem_spec& problem) {
  key_part& key = problem.part<key_part>();
  if (type.text() != "own") {
    problem.key_bytes = type.behind("k", "own, k32 or k64").number(8, most_bits, "own, k32 or k64") / 8;
  }
  const auto [keys, bits] = pattern.cut_at_last(":b");
  key.keys = keys.read(parse_key_distribution);
  if (!bits) pattern.refuse("a distribution of keys and the bits that decide, such as uniform:b8");
  const std::uint64_t held_bytes = problem.key_bytes == 0 ? problem.record_bytes : problem.key_bytes;
  key.bits = static_cast<std::uint32_t>(bits->number(1, 8 * held_bytes, "a number of bits that the key has"));
}

void read_of_index(const name_part& pattern, const name_part& type, problem_spec& p) {
  read(pattern, type, p);
  if (p.key_bytes == 0) type.refuse("an array of keys: k32 or k64");
  read_written_index(type, p);
}

split_key first_key(const problem_spec& p) { return key_of_call(p, {nullptr, p.count, p.key_bytes}, 0); }

std::string text(const problem_spec& problem) {
  const key_part& key = problem.part<key_part>();
  const split_key by = first_key(problem);
  std::string text = fmt::format("{} records of {} bytes", problem.count, problem.record_bytes);
  if (by.categories != 0) text += fmt::format(", {} categories", by.categories);
  if (by.from != split_key::kind::category) text += fmt::format(" by {} bits from bit {}", key.bits, key.first_bit);
  if (by.from != split_key::kind::record_bits) text += fmt::format(" of keys of {} bytes", problem.key_bytes);
  return text;
}

std::vector<fact> facts(const problem_spec& p) {
  std::vector<fact> all{{"count", p.count}, {"record_bytes", p.record_bytes}};
  const std::uint64_t counted = first_key(p).categories;
  if (counted != 0) all.push_back({"categories", counted});
  return all;
}

std::vector<fact> facts_of_index(const problem_spec& p) {
  std::vector<fact> all = facts(p);
  all.push_back({"index_type", std::string(name(p.index))});
  return all;
}

std::string categories_text(std::uint32_t bits) {
  return bits < 64 ? fmt::to_string(std::uint64_t{1} << bits) : fmt::format("2^{}", bits);
}

row_labels labels(const problem_spec& problem) {
  const bool is_own = problem.key_bytes == 0;
  const std::string by_keys = is_own ? "" : fmt::format(" by keys of {} bits", 8 * problem.key_bytes);
  std::string product;
  if (problem.primitive == "split_unstable") product = ", any order";
  if (entry_of(problem).writes_index) product = fmt::format(" ({})", problem.primitive);
  const std::string kind =
      is_own ? "that lie in the record" : fmt::format("of {} bits in an array of their own", 8 * problem.key_bytes);
  return {fmt::format("split {} of {} bytes to {} categories{}{}", count_text(problem.count), problem.record_bytes,
                      categories_text(problem.part<key_part>().bits), by_keys, product),
          {{"records of "},
           varying(problem.record_bytes),
           {" bytes by "},
           varying(problem.part<key_part>().bits, "bit"),
           {fmt::format(" of keys {}, ", kind)},
           varying(order_text(name(problem.part<key_part>().keys)))}};
}

// The calls of one problem run one after the other, and all but one need memory for the records between them.
void add_call(std::vector<variant_estimate>& all, std::span<const variant_estimate> of_call,
              std::uint64_t between_bytes) {
  for (std::size_t v = 0; v < all.size(); ++v) {
    all[v].seconds += of_call[v].seconds;
    all[v].terms.insert(all[v].terms.end(), of_call[v].terms.begin(), of_call[v].terms.end());
    all[v].scratch_bytes = std::max(all[v].scratch_bytes, of_call[v].scratch_bytes + between_bytes);
  }
}

template <split_product Product, bool Stable>
std::vector<variant_estimate> estimates(const problem_spec& problem, backend_kind backend, const machine& profile) {
  const auto of_call = [&](std::uint32_t call) {
    return estimates_of(split_variants(), split_problem_of(problem, call, Product, Stable, backend), backend, profile);
  };
  std::vector<variant_estimate> all = of_call(0);
  for (std::uint32_t call = 1; call < calls_of(problem); ++call)
    add_call(all, of_call(call), problem.count * problem.record_bytes);
  return all;
}

// A split by many bits lies where its first call does.
template <split_product Product, bool Stable>
plan::measured_place place(const problem_spec& p, backend_kind backend) {
  return place_of(split_problem_of(p, 0, Product, Stable, backend));
}

template <split_product Product, bool Stable>
explanation explain(const context& ctx, const problem_spec& problem, std::string_view variant) {
  const auto of_call = [&](std::uint32_t call) {
    const split_key key = key_of_call(problem, {nullptr, problem.count, problem.key_bytes}, call);
    if (Product == split_product::gather_index) return explain_split_gather_index(ctx, key, problem.index, {variant});
    if (Product == split_product::scatter_index) return explain_split_scatter_index(ctx, key, problem.index, {variant});
    return explain_split(ctx, {nullptr, problem.count, problem.record_bytes}, key, Stable, {variant});
  };
  explanation why = of_call(0);
  for (std::uint32_t call = 1; call < calls_of(problem); ++call) {
    add_call(why.variants, of_call(call).variants, problem.count * problem.record_bytes);
  }
  return why;
}

}  // namespace

std::uint32_t calls_of(const problem_spec& p) {
  const bool can_repeat = p.key_bytes == 0 && p.primitive == "split";
  if (!can_repeat) return 1;
  return std::max<std::uint32_t>(1, (p.part<key_part>().bits + bit_field::most_bits - 1) / bit_field::most_bits);
}

split_key key_of_call(const problem_spec& problem, const_records keys, std::uint32_t call) {
  const key_part& key = problem.part<key_part>();
  const split_part& split = problem.part<split_part>();
  if (split.categories != 0) return split_key::category(keys, split.categories);
  const auto low_bit_of = [&](std::uint64_t of_call) {
    return static_cast<std::uint32_t>(key.bits * of_call / calls_of(problem));
  };
  const std::uint32_t low = low_bit_of(call);
  const bit_field bits =
      part_of({key.first_bit, key.bits, split.bits_from}, low, low_bit_of(std::uint64_t{call} + 1) - low);
  return problem.key_bytes == 0 ? split_key::of_record(bits) : split_key::of(keys, bits);
}

split_problem split_problem_of(const problem_spec& problem, std::uint32_t call, split_product product, bool stable,
                               backend_kind backend) {
  const split_key key = key_of_call(problem, {nullptr, problem.count, problem.key_bytes}, call);
  const bool own = key.from == split_key::kind::record_bits;
  split_problem split;
  split.backend = backend;
  split.product = product;
  split.stable = stable;
  split.count = problem.count;
  split.categories = key.categories;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = problem.record_bytes;
  split.word_bytes = product == split_product::records ? widest_word(problem.record_bytes)
                                                       : static_cast<std::uint32_t>(problem.record_bytes);
  split.index = problem.index;
  split.key_from = key.from;
  split.key_bytes = split.key_stride_bytes = own ? problem.record_bytes : problem.key_bytes;
  split.bits = key.from == split_key::kind::category ? bit_field{0, static_cast<std::uint32_t>(8 * problem.key_bytes)}
                                                     : key.bits;
  split.key_word_bytes = widest_word(split.key_bytes);
  return split;
}

}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using primitives::entry_of;
using primitives::key_part;
using primitives::split_part;

// Nobody writes a counting sort with more counters than fit into a cache.
constexpr std::uint32_t most_counted_bits = 16;

// The category of a record, in the low bits of its key.
struct category_reader {
  const std::byte* first_key;
  std::uint64_t stride_bytes;
  std::uint32_t mask;

  std::uint32_t operator()(std::uint64_t i) const {
    std::uint32_t key;
    std::memcpy(&key, first_key + i * stride_bytes, sizeof key);
    return key & mask;
  }
};

// Counting sort: put(i, place) gets the place in the output of every record.
template <class Put>
void counting_sort(std::uint64_t count, std::uint64_t categories, category_reader category_of, Put put) {
  std::vector<std::uint64_t> next(categories);
  for (std::uint64_t i = 0; i < count; ++i) ++next[category_of(i)];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::uint64_t{0});
  for (std::uint64_t i = 0; i < count; ++i) put(i, next[category_of(i)]++);
}

template <class Index>
plain_call index_split(const problem_spec& p, const array_set& arrays, category_reader category_of) {
  return [count = p.count, categories = std::uint64_t{1} << p.part<key_part>().bits, category_of,
          out = items_of<Index>(arrays[places::target]), gathers = p.primitive == "split_gather_index"] {
    if (gathers) {
      counting_sort(count, categories, category_of,
                    [=](std::uint64_t i, std::uint64_t place) { out[place] = static_cast<Index>(i); });
    } else {
      counting_sort(count, categories, category_of,
                    [=](std::uint64_t i, std::uint64_t place) { out[i] = static_cast<Index>(place); });
    }
  };
}

template <class Record>
plain_call record_split(const problem_spec& p, const array_set& arrays, category_reader category_of) {
  return [count = p.count, categories = std::uint64_t{1} << p.part<key_part>().bits, category_of,
          in = items_of<const Record>(arrays[places::source]), out = items_of<Record>(arrays[places::target])] {
    counting_sort(count, categories, category_of, [=](std::uint64_t i, std::uint64_t place) { out[place] = in[i]; });
  };
}

plain_call plain_split(const context&, const problem_spec& problem, const array_set& arrays) {
  const key_part& key = problem.part<key_part>();
  const records& keys = arrays[problem.key_bytes == 0 ? places::source : places::index];
  if (key.bits > most_counted_bits || keys.record_bytes < sizeof(std::uint32_t)) return {};
  const category_reader category_of{keys.data, keys.record_bytes, (std::uint32_t{1} << key.bits) - 1};
  if (entry_of(problem).writes_index) {
    return with_index_type(problem.index, [&]<class Index>(std::type_identity<Index>) {
      return index_split<Index>(problem, arrays, category_of);
    });
  }
  return with_record_type(problem.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return record_split<Record>(problem, arrays, category_of);
  });
}

// Jobs of the splits. A record holds its number, from which its key and its other bytes follow; the check looks at
// neighbours of the output, and at checksums of all records.
using primitives::calls_of;

constexpr std::uint32_t most_bits_with_offsets = 20;

split_source source_of(const problem_spec& p, std::uint64_t copy) {
  const key_part& key = p.part<key_part>();
  return {key.keys, key.bits, p.key_bytes, p.record_bytes, p.count, records_seed + copy};
}

bool writes_index(const problem_spec& p) { return primitives::entry_of(p).writes_index; }

bool writes_scatter_index(const problem_spec& p) { return p.primitive == "split_scatter_index"; }

array_shapes shapes(const problem_spec& problem) {
  const key_part& key = problem.part<key_part>();
  const std::string keys =
      fmt::format("{}:b{} {} {}", inputs::name(key.keys), key.bits, problem.key_bytes, problem.count);
  array_shapes all;
  if (!writes_index(problem)) {
    all[places::source] = {
        problem.count, problem.record_bytes, array_role::input,
        fmt::format("split records {} {} {}", problem.record_bytes, problem.count, problem.key_bytes == 0 ? keys : "")};
  }
  if (problem.key_bytes != 0)
    all[places::index] = {problem.count, problem.key_bytes, array_role::input, "keys " + keys};
  all[places::target] = {problem.count, problem.record_bytes, array_role::output};
  if (key.bits <= most_bits_with_offsets && calls_of(problem) == 1) {
    all[places::offsets] = {(std::uint64_t{1} << key.bits) + 1, sizeof(std::uint64_t), array_role::side_output};
  }
  // Several calls alternate between the output and this; the check of a scatter index inverts the index into it.
  if (calls_of(problem) > 1 || writes_scatter_index(problem))
    all[places::work] = {problem.count, problem.record_bytes, array_role::work};
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) {
  return p.count * ((writes_index(p) ? 1 : 2) * p.record_bytes + p.key_bytes);
}

std::string unchecked(const problem_spec& problem) {
  const key_part& key = problem.part<key_part>();
  const split_part& split = problem.part<split_part>();
  if (split.categories != 0 || key.first_bit != 0 || split.bits_from != bit_order::little_endian) {
    return "only keys in the lowest bits are generated";
  }
  if (key.bits > bit_field::most_bits * calls_of(problem)) return "no call splits by so many bits";
  const bool by_number = !writes_index(problem) && problem.key_bytes != 0;
  return by_number && source_of(problem, 0).number_bits_dropped() != 0 ? "records are too narrow to be told apart" : "";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: over_items(ctx, p.count, fill_split_records{source_of(p, copy), array.data}); break;
    case places::index: over_items(ctx, p.count, fill_split_keys{source_of(p, copy), array.data}); break;
    default: wipe(ctx, array);
  }
}

std::span<std::uint64_t> offsets_of(const array_set& arrays, bool wanted) {
  const records offsets = arrays[places::offsets];
  if (!wanted || offsets.count == 0) return {};
  return {reinterpret_cast<std::uint64_t*>(offsets.data), offsets.count};
}

template <auto Split>
void run_records(const context& ctx, const problem_spec& problem, const array_set& arrays,
                 const call_settings& settings) {
  const std::span<std::uint64_t> offsets = offsets_of(arrays, settings.with_side_outputs);
  const std::uint32_t calls = calls_of(problem);
  const_records from = arrays[places::source];
  for (std::uint32_t call = 0; call < calls; ++call) {
    const records to = arrays[(calls - call) % 2 == 1 ? places::target : places::work];
    Split(ctx, from, primitives::key_of_call(problem, arrays[places::index], call), to, offsets, {settings.variant});
    from = to;
  }
}

template <auto Split>
void run_index(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  Split(ctx, primitives::key_of_call(p, arrays[places::index], 0), {arrays[places::target].data, p.count, p.index},
        offsets_of(arrays, settings.with_side_outputs), {settings.variant});
}

offset_check offset_check_of(const problem_spec& p, const array_set& arrays, bool with_offsets) {
  const key_part& key = p.part<key_part>();
  const std::span<std::uint64_t> offsets = offsets_of(arrays, with_offsets);
  return {offsets.empty() ? nullptr : offsets.data(), key.bits < 64 ? std::uint64_t{1} << key.bits : 0, p.count};
}

template <bool Stable>
std::uint64_t mistakes_of_records(const context& ctx, const problem_spec& p, const array_set& arrays,
                                  bool with_offsets) {
  const tally found = over_items(ctx, p.count,
                                 check_split_records{source_of(p, 0), arrays[places::target].data, Stable,
                                                     offset_check_of(p, arrays, with_offsets)});
  return found.mismatches + (found.sum != 0);
}

std::uint64_t mistakes_of_gather_index(const context& ctx, const problem_spec& p, const array_set& arrays,
                                       bool with_offsets) {
  return over_items(ctx, p.count,
                    check_gather_index{source_of(p, 0), arrays[places::target].data, p.record_bytes,
                                       offset_check_of(p, arrays, with_offsets)})
      .mismatches;
}

std::uint64_t mistakes_of_scatter_index(const context& ctx, const problem_spec& problem, const array_set& arrays,
                                        bool with_offsets) {
  const std::byte* const found = arrays[places::target].data;
  std::byte* const inverse = arrays[places::work].data;
  over_items(ctx, problem.count * problem.record_bytes, fill_ones{inverse});
  const tally inverted =
      over_items(ctx, problem.count, invert_index{found, inverse, problem.record_bytes, problem.count});
  if (inverted.mismatches != 0) return inverted.mismatches;
  return over_items(ctx, problem.count,
                    check_gather_index{source_of(problem, 0), inverse, problem.record_bytes,
                                       offset_check_of(problem, arrays, with_offsets)})
      .mismatches;
}

constexpr sample split_samples[] = {{"split/uniform:b8/r4/own"},
                                    {"split/uniform:b8/r8/k32"},
                                    {"split/zipf:b11/r16/k32"},
                                    {"split/uniform:b16/r8/own"},
                                    {"split/equal:b8/r100/own"}};

constexpr sample unstable_samples[] = {{"split_unstable/uniform:b1/r8/own"}, {"split_unstable/uniform:b8/r8/k32"}};

constexpr sample gather_index_samples[] = {{"split_gather_index/uniform:b8/r4/k32"},
                                           {"split_gather_index/zipf:b11/r8/k32"}};

constexpr sample scatter_index_samples[] = {{"split_scatter_index/uniform:b8/r4/k32"},
                                            {"split_scatter_index/zipf:b11/r8/k32"}};

constexpr std::string_view calibrated_splits[] = {
    "split/uniform:b5/r4/own",  "split/uniform:b8/r4/own",   "split/uniform:b11/r4/own", "split/uniform:b16/r4/own",
    "split/uniform:b8/r16/k32", "split/uniform:b16/r16/k32", "split/uniform:b8/r100/k32"};
// Records that do not go through buffers, with their keys in them.
constexpr std::string_view splits_on_host[] = {"split/uniform:b4/r24/own", "split/uniform:b14/r24/own"};

// The host's variants are those of stable splits, and are measured there.
constexpr std::string_view unstable_on_devices[] = {
    "split_unstable/uniform:b5/r4/own",  "split_unstable/uniform:b8/r4/own",  "split_unstable/uniform:b11/r4/own",
    "split_unstable/uniform:b16/r4/own", "split_unstable/uniform:b8/r16/k32", "split_unstable/uniform:b16/r16/k32",
    "split_unstable/uniform:b8/r100/k32"};

constexpr std::string_view calibrated_gather_indices[] = {"split_gather_index/uniform:b5/r4/k32",
                                                          "split_gather_index/uniform:b8/r4/k32",
                                                          "split_gather_index/uniform:b16/r4/k32"};

constexpr std::string_view calibrated_scatter_indices[] = {"split_scatter_index/uniform:b5/r4/k32",
                                                           "split_scatter_index/uniform:b8/r4/k32",
                                                           "split_scatter_index/uniform:b16/r4/k32"};

using count_function = std::uint64_t(const context& ctx, const problem_spec& problem, const array_set& arrays, bool);
using run_function = void(const context& ctx, const problem_spec& problem, const array_set& arrays,
                          const call_settings&);

constexpr job job_of_split(std::span<const sample> samples, std::span<const std::string_view> calibrated,
                           run_function* run, count_function* count_mistakes,
                           std::span<const std::string_view> calibrated_on_host = {},
                           std::span<const std::string_view> calibrated_on_devices = {}) {
  return {.samples = samples,
          .calibrated = calibrated,
          .calibrated_on_host = calibrated_on_host,
          .calibrated_on_devices = calibrated_on_devices,
          .shapes = shapes,
          .moved_bytes = moved_bytes,
          .unchecked = unchecked,
          .fill = fill_array,
          .run = run,
          .count_mistakes = count_mistakes,
          .plain_loop = plain_split};
}

constexpr job split_job =
    job_of_split(split_samples, calibrated_splits, run_records<split>, mistakes_of_records<true>, splits_on_host);
constexpr job split_unstable_job = job_of_split(unstable_samples, {}, run_records<split_unstable>,
                                                mistakes_of_records<false>, {}, unstable_on_devices);
constexpr job split_gather_index_job = job_of_split(gather_index_samples, calibrated_gather_indices,
                                                    run_index<split_gather_index>, mistakes_of_gather_index);
constexpr job split_scatter_index_job = job_of_split(scatter_index_samples, calibrated_scatter_indices,
                                                     run_index<split_scatter_index>, mistakes_of_scatter_index);

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {
namespace {

template <split_product Product, bool Stable = true>
constexpr entry entry_of_split(std::string_view name, std::string_view example, const jobs::job& job) {
  constexpr bool writes_index = Product != split_product::records;
  return {.name = name,
          .family = "split",
          .fields = writes_index ? std::span<const field_use>(taken_by_index) : taken_by_records,
          .example = example,
          .writes_index = writes_index,
          .write = write,
          .read = writes_index ? read_of_index : read,
          .text = text,
          .facts = writes_index ? facts_of_index : facts,
          .labels = labels,
          .explain = explain<Product, Stable>,
          .estimates = estimates<Product, Stable>,
          .place = place<Product, Stable>,
          .job = &job};
}

}  // namespace

constexpr entry split_entry =
    entry_of_split<split_product::records>("split", "--count 100000000 --record-bytes 16 --bits 5:11", jobs::split_job);
constexpr entry split_unstable_entry = entry_of_split<split_product::records, false>(
    "split_unstable", "--count 100000000 --record-bytes 4 --categories 1000 --key-bytes 2", jobs::split_unstable_job);
constexpr entry split_gather_index_entry = entry_of_split<split_product::gather_index>(
    "split_gather_index", "--count 100000000 --key-bytes 8 --bits 0:16 --from-left", jobs::split_gather_index_job);
constexpr entry split_scatter_index_entry = entry_of_split<split_product::scatter_index>(
    "split_scatter_index", "--count 100000000 --output-type u64", jobs::split_scatter_index_job);

}  // namespace sheaf::primitives
