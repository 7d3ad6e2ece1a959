#include "lab/description/estimates.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/hash/search.hpp"

// The entries of hash search: the build of an index, and the searches of one that a variant of the same backend has
// built. A problem says how often keys repeat in the table, in what order probes ask for its keys, and how many of them
// it has.
namespace sheaf::primitives {
namespace {

constexpr std::uint32_t usual_load_percent = 0;  // what the backend finds best
constexpr std::string_view power_law_word = "zipf";
constexpr std::string_view build_name = "build_hash_index";

bool is_build(const problem_spec& p) { return p.primitive == build_name; }

// Entries of the output, and the type of record numbers, where options give neither.
void number_table(problem_spec& p) {
  p.index = id_type(table_records(p));
  p.record_bytes = p.primitive == "hash_contains" ? 1 : bytes(p.index);
}

const problem_field records_field{fields::count.option, "Records whose keys are indexed", fields::count.type_name,
                                  [](problem_spec& p, option_texts texts) {
                                    fields::count.read(p, texts);
                                    number_table(p);
                                  }};
const problem_field probes_field = fields::count.with_help("Keys to search for");
const problem_field table_field{fields::table.option, "Records that a hash search looks among", fields::table.type_name,
                                [](problem_spec& p, option_texts texts) {
                                  fields::table.read(p, texts);
                                  number_table(p);
                                }};
const problem_field key_field_of_table{
    fields::key_bytes.option, "Width of a hash search's keys, 4 or 8; 8 unless given", fields::key_bytes.type_name,
    [](problem_spec& p, option_texts texts) { p.key_bytes = key_bytes_of(fields::key_bytes.option, texts.front()); }};
const problem_field repeats_field{
    "--repeats", "Records of a hash search's table that share a key: a number, or zipf for a power law; 1 unless given",
    "N|zipf", [](problem_spec& p, option_texts texts) { p.part<hash_part>().repeats = parse_repeats(texts.front()); }};
const problem_field load_field{
    "--load", "Load factor of a hash table, in per cent; what the backend finds best unless given", "PERCENT",
    [](problem_spec& p, option_texts texts) {
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

void read_type(const name_part& type, problem_spec& problem) {
  const auto [keys, load] = type.cut_at("+");
  if (keys.text() != "k32" && keys.text() != "k64") keys.refuse("the width of keys: k32 or k64");
  problem.key_bytes = keys.text() == "k32" ? 4 : 8;
  if (!load) return;
  constexpr std::string_view expected = "a load factor in per cent, load5 to load99";
  problem.part<hash_part>().load_percent = static_cast<std::uint32_t>(
      load->behind("load", expected).number(least_load_percent, most_load_percent, expected));
}

void read_repeats(const name_part& repeats, problem_spec& p) {
  p.part<hash_part>().repeats = repeats.read(parse_repeats);
}

row_parts write_build(const problem_spec& p) {
  return {fmt::format("x{}", repeats_text(p.part<hash_part>().repeats)), type_text(p)};
}

void read_build(const name_part& pattern, const name_part& type, problem_spec& problem) {
  read_repeats(pattern.behind("x", "the records of a key, such as x16"), problem);
  read_type(type, problem);
  problem.index = id_type(problem.count);
  if (problem.record_bytes != bytes(problem.index)) {
    type.refuse(fmt::format("allowed with record numbers of {} bytes: {} records have numbers of {}",
                            problem.record_bytes, problem.count, bytes(problem.index)));
  }
}

row_parts write_search(const problem_spec& p) {
  const hash_part& hash = p.part<hash_part>();
  const std::string order = p.table ? order_and_table(p, true) : name(p.pattern);
  return {fmt::format("{}:x{}:h{}", order, repeats_text(hash.repeats), hash.hit_percent), type_text(p)};
}

void read_search(const name_part& pattern, const name_part& type, problem_spec& problem) {
  constexpr std::string_view expected =
      "an order, the records of a key and the per cent of hits, such as uniform:x1:h50";
  const auto [order_and_repeats, hits] = pattern.cut_at_last(":h");
  if (!hits) pattern.refuse(expected);
  problem.part<hash_part>().hit_percent =
      static_cast<std::uint32_t>(hits->number(0, 100, "a number of hits in per cent"));
  const auto [order, repeats] = order_and_repeats.cut_at_last(":x");
  if (!repeats) pattern.refuse(expected);
  read_repeats(*repeats, problem);
  read_order_and_table(order, problem);
  read_type(type, problem);
  problem.index = id_type(problem.indexed_count());
}

// Record numbers are as wide as the index's; numbers of records have to hold the most that a key has.
void read_search_for_ids(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_search(pattern, type, p);
  if (p.record_bytes != bytes(p.index)) {
    type.refuse(fmt::format("allowed with record numbers of {} bytes: {} records have numbers of {}", p.record_bytes,
                            p.indexed_count(), bytes(p.index)));
  }
}

void read_count(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_search(pattern, type, p);
  if (p.record_bytes != 4 && p.record_bytes != 8) type.refuse("allowed: counts have 4 or 8 bytes");
}

void read_contains(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_search(pattern, type, p);
  if (p.record_bytes != 1) type.refuse("allowed: answers have one byte");
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

std::vector<fact> facts_of_build(const problem_spec& problem) {
  const hash_part& hash = problem.part<hash_part>();
  return {{"count", problem.count},
          {"record_bytes", problem.record_bytes},
          {"key_bytes", problem.key_bytes},
          {"repeats", repeats_text(hash.repeats)},
          {"distinct", table_of(problem).distinct},
          {"load_percent", std::uint64_t{hash.load_percent}}};
}

std::vector<fact> facts_of_search(const problem_spec& p) {
  const fact table{"table", p.indexed_count()};
  std::vector<fact> facts = facts_of_build(p);
  facts.insert(facts.begin() + 2, table);
  return facts;
}

std::string label_of_keys(const problem_spec& problem) {
  const hash_part& table = problem.part<hash_part>();
  const std::string repeats = table.repeats == power_law_repeats ? "of many records or few"
                              : table.repeats == 1               ? "one record each"
                                                                 : fmt::format("{} records each", table.repeats);
  const std::string load =
      table.load_percent == usual_load_percent ? "" : fmt::format(", load 0.{:02}", table.load_percent);
  return fmt::format("keys of {} bytes, {}{}", problem.key_bytes, repeats, load);
}

row_labels labels_of_build(const problem_spec& p) {
  return {fmt::format("index {} {}", count_text(p.count), label_of_keys(p)), {{label_of_keys(p)}}};
}

row_labels labels_of_search(const problem_spec& problem) {
  const std::string_view asked = problem.primitive == "hash_search"  ? "all"
                                 : problem.primitive == "hash_find"  ? "the first"
                                 : problem.primitive == "hash_count" ? "how many"
                                                                     : "whether any";
  const std::string order =
      problem.pattern.kind == pattern_kind::identity ? "in order" : order_text(name(problem.pattern));
  const std::string keys =
      fmt::format("{}; {} % found, {}", label_of_keys(problem), problem.part<hash_part>().hit_percent, order);
  return {fmt::format("search {} records {} times for {}, {}", count_text(problem.indexed_count()),
                      count_text(problem.count), asked, keys),
          {varying_count(problem.indexed_count()), {" records, " + keys}}};
}

hash_build_problem build_problem(const problem_spec& problem, backend_kind backend) {
  return {.backend = backend,
          .count = problem.count,
          .key_bytes = problem.key_bytes,
          .key_stride_bytes = problem.key_bytes,
          .id = problem.index,
          .load = load_of(problem)};
}

/// The search of an index that some variant of the backend builds.
template <hash_output Output>
hash_search_problem search_problem(const problem_spec& problem, backend_kind backend) {
  const keyed_table table = table_of(problem);
  hash_search_problem search;
  search.output = Output;
  search.probes = problem.count;
  search.probe_stride_bytes = problem.key_bytes;
  search.out_bytes = Output == hash_output::matches ? sizeof(std::uint64_t) : problem.record_bytes;
  search.hit_share = problem.part<hash_part>().hit_percent / 100.0;
  search.index.backend = backend;
  search.index.records = table.records;
  search.index.distinct = table.distinct;
  search.index.longest_chain = table.longest_chain();
  search.index.key_bytes = problem.key_bytes;
  search.index.id = problem.index;
  search.index.load = load_of(problem);
  return search;
}

explanation explain_build(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_build_hash_index(ctx, {nullptr, p.count, p.key_bytes}, {.load = load_of(p), .variant = variant});
}

template <hash_output Output>
explanation explain_search(const context& ctx, const problem_spec& spec, std::string_view variant) {
  hash_search_problem problem = search_problem<Output>(spec, ctx.backend());
  problem.index.device = ctx.device();
  // The reference searches what it has built, and runs where both are asked for.
  if (variant.starts_with("reference.")) problem.index.built_by = variant;
  return plan::explain(spec.primitive, hash_search_variants(), problem, ctx, variant);
}

}  // namespace

index_type id_type(std::uint64_t records) { return records >> 32 == 0 ? index_type::u32 : index_type::u64; }
std::uint64_t table_records(const problem_spec& p) { return is_build(p) ? p.count : p.indexed_count(); }
keyed_table table_of(const problem_spec& p) { return keyed_table_of(table_records(p), p.part<hash_part>().repeats); }
std::string repeats_text(std::uint64_t repeats) {
  return repeats == power_law_repeats ? std::string(power_law_word) : fmt::to_string(repeats);
}

std::uint64_t parse_repeats(std::string_view text) {
  if (text == power_law_word) return power_law_repeats;
  const std::optional<std::uint64_t> number = parse_number(text);
  if (number && *number != 0) return *number;
  refuse("'{}' is not a number of records that share a key, from 1, or {}", core::printable(text), power_law_word);
}

std::uint64_t key_bytes_of(std::string_view option, std::string_view text) {
  if (text == "4" || text == "8") return text == "4" ? 4 : 8;
  refuse("{}: '{}' is not 4 or 8", option, core::printable(text));
}

double load_of(const problem_spec& p) { return p.part<hash_part>().load_percent / 100.0; }

std::uint64_t most_matches(const problem_spec& problem) {
  const keyed_table table = table_of(problem);
  if (problem.part<hash_part>().hit_percent == 0 || problem.count == 0 || table.records == 0) return 0;
  const auto product = [](std::uint64_t a, std::uint64_t b) {
    std::uint64_t both = 0;
    return __builtin_mul_overflow(a, b, &both) ? unknown_matches : both;
  };
  const std::uint64_t by_probes = table.levels > 1 && !is_distinct(problem.pattern)
                                      ? unknown_matches
                                      : product(problem.count, table.longest_chain());
  if (!is_distinct(problem.pattern)) return by_probes;
  return std::min(by_probes, product((problem.count - 1) / table.distinct + 1, table.records));
}

namespace {

using read_function = void(const name_part& pattern, const name_part& type, problem_spec& problem);

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
          .place = place_by<search_problem<Output>>,
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
                                       .place = place_by<build_problem>,
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
