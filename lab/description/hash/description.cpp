#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <sheaf/hash_search.hpp>
#include <sheaf/memory.hpp>

#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/hash/items.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/job.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "primitives/hash/search.hpp"
#include "primitives/words.hpp"

// The entries of hash search: the build of an index, and the searches of one that a variant of the same backend has
// built. A problem says how often keys repeat in the table, in what order probes ask for its keys, and how many of them
// it has.
namespace sheaf::primitives {
namespace {

constexpr std::uint32_t least_load_percent = 5;
constexpr std::uint32_t most_load_percent = 99;
constexpr std::uint32_t usual_load_percent = 0;  // what the backend finds best
constexpr std::string_view power_law_word = "zipf";
constexpr std::string_view build_name = "build_hash_index";

bool is_build(const problem_spec& p) { return p.primitive == build_name; }

// Entries of the output, and the type of record numbers, where options give neither.
void number_table(problem_spec& p) {
  p.index = id_type(table_records(p));
  p.record_bytes = p.primitive == "hash_contains" ? 1 : bytes(p.index);
}

std::uint64_t parse_repeats(std::string_view text) {
  if (text == power_law_word) return power_law_repeats;
  const std::optional<std::uint64_t> number = parse_number(text);
  if (!number || *number == 0) {
    refuse("'{}' is not a number of records that share a key, from 1, or {}", core::printable(text), power_law_word);
  }
  return *number;
}

const problem_field records_field{.option = fields::count.option,
                                  .help = "Records whose keys are indexed",
                                  .type_name = fields::count.type_name,
                                  .read = [](problem_spec& p, std::span<const std::string> texts) {
                                    fields::count.read(p, texts);
                                    number_table(p);
                                  }};
const problem_field probes_field{.option = fields::count.option,
                                 .help = "Keys to search for",
                                 .type_name = fields::count.type_name,
                                 .read = fields::count.read};
const problem_field table_field{.option = fields::table.option,
                                .help = "Records that a hash search looks among",
                                .type_name = fields::table.type_name,
                                .read = [](problem_spec& p, std::span<const std::string> texts) {
                                  fields::table.read(p, texts);
                                  number_table(p);
                                }};
const problem_field key_field_of_table{.option = fields::key_bytes.option,
                                       .help = "Width of a hash search's keys, 4 or 8; 8 unless given",
                                       .type_name = fields::key_bytes.type_name,
                                       .read = [](problem_spec& p, std::span<const std::string> texts) {
                                         const std::string& text = texts.front();
                                         if (text != "4" && text != "8") {
                                           refuse("{}: '{}' is not 4 or 8", fields::key_bytes.option,
                                                  core::printable(text));
                                         }
                                         p.key_bytes = text == "4" ? 4 : 8;
                                       }};
const problem_field repeats_field{
    .option = "--repeats",
    .help = "Records of a hash search's table that share a key: a number, or zipf for a power law; 1 unless given",
    .type_name = "N|zipf",
    .read = [](problem_spec& p, std::span<const std::string> texts) {
      p.part<hash_part>().repeats = parse_repeats(texts.front());
    }};
const problem_field load_field{
    .option = "--load",
    .help = "Load factor of a hash table, in per cent; what the backend finds best unless given",
    .type_name = "PERCENT",
    .read = [](problem_spec& p, std::span<const std::string> texts) {
      p.part<hash_part>().load_percent =
          static_cast<std::uint32_t>(number_of("--load", texts, least_load_percent, most_load_percent));
    }};

void keys_of_8_bytes(problem_spec& p) { p.key_bytes = 8; }

constexpr field_use taken_by_build[] = {required(records_field), optional(key_field_of_table, keys_of_8_bytes),
                                        optional(repeats_field), optional(load_field)};
constexpr field_use taken_by_search[] = {required(probes_field), optional(table_field, number_table),
                                         optional(key_field_of_table, keys_of_8_bytes), optional(repeats_field),
                                         optional(load_field)};

std::string type_text(const problem_spec& p) {
  const hash_part& hash = p.part<hash_part>();
  const std::string keys = fmt::format("k{}", 8 * p.key_bytes);
  return hash.load_percent == usual_load_percent ? keys : fmt::format("{}+load{}", keys, hash.load_percent);
}

void read_type(const name_part& type, problem_spec& p) {
  const auto [keys, load] = type.cut_at("+");
  if (keys.text() != "k32" && keys.text() != "k64") keys.refuse("the width of keys: k32 or k64");
  p.key_bytes = keys.text() == "k32" ? 4 : 8;
  if (!load) return;
  constexpr std::string_view expected = "a load factor in per cent, load5 to load99";
  p.part<hash_part>().load_percent = static_cast<std::uint32_t>(
      load->behind("load", expected).number(least_load_percent, most_load_percent, expected));
}

void read_repeats(const name_part& repeats, problem_spec& p) {
  p.part<hash_part>().repeats = repeats.read(parse_repeats);
}

row_words write_build(const problem_spec& p) {
  return {fmt::format("x{}", repeats_text(p.part<hash_part>().repeats)), type_text(p)};
}

void read_build(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_repeats(pattern.behind("x", "the records of a key, such as x16"), p);
  read_type(type, p);
  p.index = id_type(p.count);
  if (p.record_bytes != bytes(p.index)) {
    type.refuse(fmt::format("of record numbers of {} bytes, but {} records have numbers of {}", p.record_bytes, p.count,
                            bytes(p.index)));
  }
}

row_words write_search(const problem_spec& p) {
  const hash_part& hash = p.part<hash_part>();
  const std::string order = p.table ? order_and_table(p, true) : name(p.pattern);
  return {fmt::format("{}:x{}:h{}", order, repeats_text(hash.repeats), hash.hit_percent), type_text(p)};
}

void read_search(const name_part& pattern, const name_part& type, problem_spec& p) {
  constexpr std::string_view expected =
      "an order, the records of a key and the per cent of hits, such as uniform:x1:h50";
  const auto [order_and_repeats, hits] = pattern.cut_at_last(":h");
  if (!hits) pattern.refuse(expected);
  p.part<hash_part>().hit_percent = static_cast<std::uint32_t>(hits->number(0, 100, "a number of hits in per cent"));
  const auto [order, repeats] = order_and_repeats.cut_at_last(":x");
  if (!repeats) pattern.refuse(expected);
  read_repeats(*repeats, p);
  read_order_and_table(order, p);
  read_type(type, p);
  p.index = id_type(p.indexed_count());
}

// Record numbers are as wide as the index's; numbers of records have to hold the most that a key has.
void read_search_for_ids(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_search(pattern, type, p);
  if (p.record_bytes != bytes(p.index)) {
    type.refuse(fmt::format("of record numbers of {} bytes, but {} records have numbers of {}", p.record_bytes,
                            p.indexed_count(), bytes(p.index)));
  }
}

void read_count(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_search(pattern, type, p);
  if (p.record_bytes != 4 && p.record_bytes != 8) type.refuse("of counts, which have 4 or 8 bytes");
}

void read_contains(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_search(pattern, type, p);
  if (p.record_bytes != 1) type.refuse("of answers of one byte");
}

std::string keys_text(const problem_spec& p) {
  const hash_part& hash = p.part<hash_part>();
  const std::string repeats =
      hash.repeats == power_law_repeats ? "shared as by a power law" : fmt::format("each of {} records", hash.repeats);
  const std::string keys = fmt::format("keys of {} bytes, {}", p.key_bytes, repeats);
  return hash.load_percent == usual_load_percent ? keys : fmt::format("{}, load {} %", keys, hash.load_percent);
}

std::string text_of_build(const problem_spec& p) { return fmt::format("{} records, {}", p.count, keys_text(p)); }

std::string text_of_search(const problem_spec& p) {
  return fmt::format("{} keys among {} records, {}", p.count, p.indexed_count(), keys_text(p));
}

std::vector<fact> facts_of_build(const problem_spec& p) {
  const hash_part& hash = p.part<hash_part>();
  return {{"count", p.count},
          {"record_bytes", p.record_bytes},
          {"key_bytes", p.key_bytes},
          {"repeats", repeats_text(hash.repeats)},
          {"distinct", table_of(p).distinct},
          {"load_percent", std::uint64_t{hash.load_percent}}};
}

std::vector<fact> facts_of_search(const problem_spec& p) {
  std::vector<fact> facts = facts_of_build(p);
  facts.insert(facts.begin() + 2, {"table", p.indexed_count()});
  return facts;
}

std::string label_of_keys(const problem_spec& p) {
  const hash_part& table = p.part<hash_part>();
  const std::string repeats = table.repeats == power_law_repeats ? "of many records or few"
                              : table.repeats == 1               ? "one record each"
                                                                 : fmt::format("{} records each", table.repeats);
  const std::string load =
      table.load_percent == usual_load_percent ? "" : fmt::format(", load 0.{:02}", table.load_percent);
  return fmt::format("keys of {} bytes, {}{}", p.key_bytes, repeats, load);
}

row_labels labels_of_build(const problem_spec& p) {
  return {fmt::format("index {} {}", count_text(p.count), label_of_keys(p)), {{label_of_keys(p)}}};
}

row_labels labels_of_search(const problem_spec& p) {
  const std::string_view asked = p.primitive == "hash_search" ? "all"
                                 : p.primitive == "hash_find" ? "the first"
                                                              : "less";
  const std::string order = p.pattern.kind == pattern_kind::identity ? "in order" : order_text(name(p.pattern));
  const std::string keys = fmt::format("{}; {} % found, {}", label_of_keys(p), p.part<hash_part>().hit_percent, order);
  return {fmt::format("search {} records {} times for {}, {}", count_text(p.indexed_count()), count_text(p.count),
                      asked, keys),
          {varying_count(p.indexed_count()), {" records, " + keys}}};
}

hash_build_problem build_problem(const problem_spec& p, backend_kind backend) {
  return {.backend = backend,
          .count = p.count,
          .key_bytes = p.key_bytes,
          .key_stride_bytes = p.key_bytes,
          .id = p.index,
          .load = load_of(p)};
}

/// The search of an index that some variant of the backend builds.
template <hash_output Output>
hash_search_problem search_problem(const problem_spec& p, backend_kind backend) {
  const keyed_table table = table_of(p);
  hash_search_problem search;
  search.output = Output;
  search.probes = p.count;
  search.probe_stride_bytes = p.key_bytes;
  search.out_bytes = Output == hash_output::matches ? sizeof(std::uint64_t) : p.record_bytes;
  search.hit_share = p.part<hash_part>().hit_percent / 100.0;
  search.index.backend = backend;
  search.index.records = table.records;
  search.index.distinct = table.distinct;
  search.index.longest_chain = table.longest_chain();
  search.index.key_bytes = p.key_bytes;
  search.index.id = p.index;
  search.index.load = load_of(p);
  return search;
}

explanation explain_build(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_build_hash_index(ctx, {nullptr, p.count, p.key_bytes}, {.load = load_of(p), .variant = variant});
}

template <hash_output Output>
explanation explain_search(const context& ctx, const problem_spec& p, std::string_view variant) {
  hash_search_problem problem = search_problem<Output>(p, ctx.backend());
  problem.index.device = ctx.device();
  // The reference searches what it has built, and runs where both are asked for.
  if (variant.starts_with("reference.")) problem.index.built_by = variant;
  return plan::explain(p.primitive, hash_search_variants(), problem, ctx, variant);
}

}  // namespace

index_type id_type(std::uint64_t records) { return records >> 32 == 0 ? index_type::u32 : index_type::u64; }
std::uint64_t table_records(const problem_spec& p) { return is_build(p) ? p.count : p.indexed_count(); }
keyed_table table_of(const problem_spec& p) { return keyed_table_of(table_records(p), p.part<hash_part>().repeats); }
std::string repeats_text(std::uint64_t repeats) {
  return repeats == power_law_repeats ? std::string(power_law_word) : fmt::to_string(repeats);
}

double load_of(const problem_spec& p) { return p.part<hash_part>().load_percent / 100.0; }

std::uint64_t most_matches(const problem_spec& p) {
  constexpr std::uint64_t unknown = ~std::uint64_t{0};
  const keyed_table table = table_of(p);
  if (p.part<hash_part>().hit_percent == 0 || p.count == 0 || table.records == 0) return 0;
  const auto product = [](std::uint64_t a, std::uint64_t b) {
    std::uint64_t both = 0;
    return __builtin_mul_overflow(a, b, &both) ? unknown : both;
  };
  const std::uint64_t by_probes =
      table.levels > 1 && !is_distinct(p.pattern) ? unknown : product(p.count, table.longest_chain());
  if (!is_distinct(p.pattern)) return by_probes;
  return std::min(by_probes, product((p.count - 1) / table.distinct + 1, table.records));
}

}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using primitives::hash_part;
using primitives::problem_spec;

constexpr std::uint64_t unknown = ~std::uint64_t{0};

/// The mean records of a key.
double mean_chain(const primitives::keyed_table& t) {
  return static_cast<double>(t.records) / static_cast<double>(t.distinct);
}

/// The mean records of what a probe asks for by a power law. The first ranks are looked up: some of them are asked for
/// by every tenth probe. Others are so many that they have the mean of all keys.
double mean_by_power_law(const primitives::keyed_table& t, std::uint64_t seed) {
  constexpr std::uint64_t most_looked_up = 1 << 16;
  if (t.distinct == 1) return static_cast<double>(t.records_of_key(0));
  const double all = std::log2(static_cast<double>(t.distinct));
  const std::uint64_t looked_up = std::min(t.distinct - 1, most_looked_up);
  double sum = 0;
  for (std::uint64_t rank = 0; rank < looked_up; ++rank) {
    const double share = std::log2(static_cast<double>(rank + 2) / static_cast<double>(rank + 1)) / all;
    sum += share * static_cast<double>(t.records_of_key(inputs::permute(rank, t.distinct, seed + 1)));
  }
  return sum + (1 - std::log2(static_cast<double>(looked_up + 1)) / all) * mean_chain(t);
}

}  // namespace

std::uint64_t likely_matches(const problem_spec& p) {
  const std::uint64_t most = primitives::most_matches(p);
  if (most != unknown) return most;
  const primitives::keyed_table table = primitives::table_of(p);
  const inputs::pattern order = pattern_of_copy(p, 0);
  double mean = mean_chain(table);
  if (order.kind == inputs::pattern_kind::zipf) mean = mean_by_power_law(table, order.seed);
  if (order.kind == inputs::pattern_kind::same) {
    mean = static_cast<double>(table.records_of_key(inputs::pattern_entry(order, 0, table.distinct)));
  }
  const double matches = mean * static_cast<double>(p.count) * p.part<hash_part>().hit_percent / 100;
  constexpr double most_counted = 0x1p62;
  return static_cast<std::uint64_t>(std::min(matches, most_counted));
}

std::uint64_t room_for_matches(const problem_spec& p) {
  const std::uint64_t likely = likely_matches(p);
  if (primitives::most_matches(p) != unknown) return likely;
  return likely + likely / 4 + primitives::table_of(p).longest_chain();
}

namespace {

// The jobs of hash search: builds of indices of tables whose keys are functions of the record's number, and searches of
// them by probes that are functions of theirs.
// Places past those that several primitives have.
constexpr std::size_t found_place = 6;  ///< of a build: the first record that each record's key finds

constexpr std::uint64_t most_ids = std::uint64_t{1} << 40;  ///< far past any memory, below any overflow

probe_source source_of(const problem_spec& p, std::uint64_t copy) {
  return {.table = primitives::table_of(p),
          .order = pattern_of_copy(p, copy),
          .key_bytes = p.key_bytes,
          .hit_percent = p.part<hash_part>().hit_percent};
}

std::string table_text(const problem_spec& p) {
  return fmt::format("{} keys of {} bytes, {} each", primitives::table_records(p), p.key_bytes,
                     primitives::repeats_text(p.part<hash_part>().repeats));
}

array_shape table_shape(const problem_spec& p) {
  return {primitives::table_records(p), p.key_bytes, array_role::input, table_text(p)};
}

array_shapes build_shapes(const problem_spec& p) {
  array_shapes all;
  all[places::source] = table_shape(p);
  all[places::target] = {facts_of_build, sizeof(std::uint64_t), array_role::output};
  all[found_place] = {p.count, p.record_bytes, array_role::side_output};
  return all;
}

array_shapes search_shapes(const problem_spec& p) {
  array_shapes all;
  all[places::source] = table_shape(p);
  all[places::index] = {p.count, p.key_bytes, array_role::input,
                        fmt::format("{} probes {}, {} % of which find some of {}", p.count, inputs::name(p.pattern),
                                    p.part<hash_part>().hit_percent, table_text(p))};
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  return all;
}

array_shapes shapes_with_matches(const problem_spec& p) {
  array_shapes all = search_shapes(p);
  all[places::target].count = room_for_matches(p);
  all[places::offsets] = {p.count + 1, sizeof(std::uint64_t), array_role::output};
  return all;
}

std::uint64_t bytes_of_calls(const problem_spec& p) { return p.count * (p.key_bytes + p.record_bytes); }
std::uint64_t bytes_with_matches(const problem_spec& p) {
  return p.count * (p.key_bytes + sizeof(std::uint64_t)) + likely_matches(p) * p.record_bytes;
}

std::string unchecked(const problem_spec& p) {
  const primitives::keyed_table table = primitives::table_of(p);
  if (p.count > most_ids || table.records > most_ids) return "more keys than any memory has";
  if (p.key_bytes == 4 && 2 * table.distinct > std::uint64_t{1} << 32) return "keys are too narrow to be told apart";
  return "";
}

std::string unchecked_search(const problem_spec& p) {
  const primitives::keyed_table table = primitives::table_of(p);
  if (p.count > 0 && table.records == 0 && p.part<hash_part>().hit_percent > 0)
    return "nothing can be found among no records";
  if (table.longest_chain() >> 32 != 0 && p.record_bytes == 4) return "counts are too narrow for the records of a key";
  return unchecked(p);
}

std::string unchecked_matches(const problem_spec& p) {
  if (std::string why = unchecked_search(p); !why.empty()) return why;
  return room_for_matches(p) > most_ids ? "more matches than any memory has" : "";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  const probe_source source = source_of(p, copy);
  switch (place) {
    case places::source: over_items(ctx, array.count, fill_table_keys{source, array.data}); break;
    case places::index: over_items(ctx, array.count, fill_probes{source, array.data}); break;
    default: wipe(ctx, array);
  }
}

const_records table_keys(const problem_spec& p, const array_set& arrays) {
  return {arrays[places::source].data, primitives::table_records(p), p.key_bytes};
}

const_records probes_of(const problem_spec& p, const array_set& arrays) {
  return {arrays[places::index].data, p.count, p.key_bytes};
}

index_type entry_type(const problem_spec& p) { return p.record_bytes == 4 ? index_type::u32 : index_type::u64; }

// The time of a build has that of giving the index back. What the index finds is written where side outputs are.
void run_build(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const const_records keys = table_keys(p, arrays);
  const hash_index index = build_hash_index(ctx, keys, {.load = primitives::load_of(p), .variant = settings.variant});
  const std::array<std::uint64_t, facts_of_build> facts{index.count(), index.distinct(), index.longest_chain()};
  copy_bytes(ctx, arrays[places::target].data, facts.data(), sizeof facts);
  if (!settings.with_side_outputs) return;
  hash_find(ctx, index, keys, {arrays[found_place].data, p.count, p.index}, {});
  ctx.wait();  // the index is given back here
}

// The reference searches no index but its own, which is built for the call.
template <class Search>
void with_index(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings,
                Search search) {
  const auto& made = *static_cast<const hash_index*>(arrays.made.get());
  const bool is_reference = settings.variant.starts_with("reference.");
  if (!is_reference || made.variant() == settings.variant) return search(made);
  const hash_index index =
      build_hash_index(ctx, table_keys(p, arrays), {.load = primitives::load_of(p), .variant = settings.variant});
  search(index);
}

void run_search(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const index_output offsets{arrays[places::offsets].data, p.count + 1, index_type::u64};
  const index_output ids{arrays[places::target].data, room_for_matches(p), p.index};
  with_index(ctx, p, arrays, settings, [&](const hash_index& index) {
    hash_search_into(ctx, index, probes_of(p, arrays), offsets, ids, {.variant = settings.variant});
  });
}

void run_count(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const index_output counts{arrays[places::target].data, p.count, entry_type(p)};
  with_index(ctx, p, arrays, settings, [&](const hash_index& index) {
    hash_count(ctx, index, probes_of(p, arrays), counts, {.variant = settings.variant});
  });
}

void run_contains(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const records found{arrays[places::target].data, p.count, 1};
  with_index(ctx, p, arrays, settings, [&](const hash_index& index) {
    hash_contains(ctx, index, probes_of(p, arrays), found, {.variant = settings.variant});
  });
}

void run_find(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const index_output ids{arrays[places::target].data, p.count, p.index};
  with_index(ctx, p, arrays, settings, [&](const hash_index& index) {
    hash_find(ctx, index, probes_of(p, arrays), ids, {.variant = settings.variant});
  });
}

std::uint64_t build_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool side_outputs) {
  const probe_source source = source_of(p, 0);
  const auto* const facts = reinterpret_cast<const std::uint64_t*>(arrays[places::target].data);
  const std::uint64_t wrong = over_items(ctx, facts_of_build, check_build{source, facts}).mismatches;
  if (!side_outputs) return wrong;
  return wrong + over_items(ctx, p.count, check_found{source, arrays[found_place].data, p.record_bytes}).mismatches;
}

std::uint64_t search_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const probe_source source = source_of(p, 0);
  const auto* const offsets = reinterpret_cast<const std::uint64_t*>(arrays[places::offsets].data);
  const records& ids = arrays[places::target];
  return over_items(ctx, p.count + 1, check_offsets{source, offsets}).mismatches +
         over_items(ctx, ids.count, check_ids{source, offsets, p.count, ids.data, p.record_bytes}).mismatches;
}

template <answer_kind Kind>
std::uint64_t answer_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const check_answers check{source_of(p, 0), Kind, arrays[places::target].data, p.record_bytes};
  return over_items(ctx, p.count, check).mismatches;
}

std::string kind_of_index(const problem_spec& p) {
  return fmt::format("an index of load {} %", p.part<hash_part>().load_percent);
}

constexpr std::uint64_t least_usual_load = 50;  ///< per cent, of indices whose load the backend chooses

// A place takes up to twice the wider of key and number, and record numbers of keys that repeat up to three words for
// two records.
std::uint64_t bytes_of_index(const problem_spec& p) {
  const hash_part& hash = p.part<hash_part>();
  const std::uint64_t load = hash.load_percent > 0 ? hash.load_percent : least_usual_load;
  return primitives::table_records(p) *
         (200 * std::max<std::uint64_t>(p.key_bytes, bytes(p.index)) / load + 3 * bytes(p.index) / 2);
}

// Hashes and record numbers, which builds sort from one array to another, with as much again to sort in.
std::uint64_t bytes_of_index_making(const problem_spec& p) {
  return primitives::table_records(p) * 3 * (p.key_bytes + bytes(p.index));
}

std::shared_ptr<const void> make_index(const context& ctx, const problem_spec& p, const array_set& arrays) {
  return std::make_shared<const hash_index>(
      build_hash_index(ctx, table_keys(p, arrays), {.load = primitives::load_of(p)}));
}

// Where the name leaves the load to the backend, this is the one that it has chosen.
std::vector<primitives::fact> facts_of_index(const void* made) {
  const auto& index = *static_cast<const hash_index*>(made);
  return {{"index_load_percent", static_cast<std::uint64_t>(std::lround(index.load() * 100))},
          {"index_bytes", index.bytes()}};
}

constexpr made_object index_of_table{.kind = kind_of_index,
                                     .bytes = bytes_of_index,
                                     .making_bytes = bytes_of_index_making,
                                     .make = make_index,
                                     .facts = facts_of_index};

constexpr sample build_samples[] = {{"build_hash_index/x1/r4/k64"}, {"build_hash_index/xzipf/r4/k32"}};
constexpr sample search_samples[] = {{"hash_search/permutation:s65536:x1:h100/r4/k64"},
                                     {"hash_search/permutation:s65536:xzipf:h50/r4/k64"},
                                     {"hash_search/zipf:s65536:x2:h50/r4/k32"}};
constexpr sample count_samples[] = {{"hash_count/uniform:s65536:x16:h100/r4/k32"}};
constexpr sample contains_samples[] = {{"hash_contains/zipf:s65536:x1:h50/r1/k64"}};
constexpr sample find_samples[] = {{"hash_find/uniform:x1:h100/r4/k64"}};

constexpr job build_hash_index_job{.samples = build_samples,
                                   .shapes = build_shapes,
                                   .moved_bytes = bytes_of_calls,
                                   .unchecked = unchecked,
                                   .fill = fill_array,
                                   .run = run_build,
                                   .count_mistakes = build_mistakes,
                                   .plain_loop = plain_build_hash_index};

constexpr job hash_search_job{.samples = search_samples,
                              .shapes = shapes_with_matches,
                              .moved_bytes = bytes_with_matches,
                              .unchecked = unchecked_matches,
                              .fill = fill_array,
                              .run = run_search,
                              .count_mistakes = search_mistakes,
                              .plain_loop = plain_hash_search,
                              .made = &index_of_table};

// A search with one answer for each probe.
template <answer_kind Kind>
constexpr job job_of_answers(std::span<const sample> samples, decltype(job::run) run,
                             decltype(job::plain_loop) plain_loop) {
  return {.samples = samples,
          .shapes = search_shapes,
          .moved_bytes = bytes_of_calls,
          .unchecked = unchecked_search,
          .fill = fill_array,
          .run = run,
          .count_mistakes = answer_mistakes<Kind>,
          .plain_loop = plain_loop,
          .made = &index_of_table};
}

constexpr job hash_count_job = job_of_answers<answer_kind::count>(count_samples, run_count, plain_hash_count);
constexpr job hash_contains_job =
    job_of_answers<answer_kind::contains>(contains_samples, run_contains, plain_hash_contains);
constexpr job hash_find_job = job_of_answers<answer_kind::first>(find_samples, run_find, plain_hash_find);

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {
namespace {

using read_function = void(const name_part& pattern, const name_part& type, problem_spec& p);

template <hash_output Output>
constexpr entry entry_of_search(std::string_view name, std::string_view example, read_function* read,
                                const jobs::job& job) {
  return {.name = name,
          .family = "hash",
          .fields = taken_by_search,
          .example = example,
          .write = write_search,
          .read = read,
          .text = text_of_search,
          .facts = facts_of_search,
          .labels = labels_of_search,
          .explain = explain_search<Output>,
          .estimates = estimates_by<search_problem<Output>, hash_search_variants>,
          .job = &job};
}

}  // namespace

constexpr entry build_hash_index_entry{.name = build_name,
                                       .family = "hash",
                                       .fields = taken_by_build,
                                       .example = "--count 100000000 --key-bytes 8 --load 99",
                                       .write = write_build,
                                       .read = read_build,
                                       .text = text_of_build,
                                       .facts = facts_of_build,
                                       .labels = labels_of_build,
                                       .explain = explain_build,
                                       .estimates = estimates_by<build_problem, hash_build_variants>,
                                       .job = &jobs::build_hash_index_job};
constexpr entry hash_search_entry = entry_of_search<hash_output::matches>(
    "hash_search", "--count 100000000 --table 4000000 --repeats 16", read_search_for_ids, jobs::hash_search_job);
constexpr entry hash_count_entry = entry_of_search<hash_output::counts>(
    "hash_count", "--count 100000000 --table 4000000 --repeats zipf", read_count, jobs::hash_count_job);
constexpr entry hash_contains_entry = entry_of_search<hash_output::contains>(
    "hash_contains", "--count 100000000 --table 4000000 --key-bytes 4", read_contains, jobs::hash_contains_job);
constexpr entry hash_find_entry = entry_of_search<hash_output::first>("hash_find", "--count 100000000 --table 4000000",
                                                                      read_search_for_ids, jobs::hash_find_job);

}  // namespace sheaf::primitives
