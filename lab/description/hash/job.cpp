#include <fmt/format.h>
#include <sheaf/hash_search.hpp>

#include "lab/description/hash/items.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/seeds.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::jobs {
namespace {

using primitives::hash_part;

/// The mean records of a key.
double mean_chain(const primitives::keyed_table& t) {
  return static_cast<double>(t.records) / static_cast<double>(t.distinct);
}

/// The mean records of what a probe asks for by a power law. The first ranks are looked up: some of them are asked for
/// by every tenth probe. Others are so many that they have the mean of all keys.
double mean_by_power_law(const primitives::keyed_table& table, std::uint64_t seed) {
  constexpr std::uint64_t most_looked_up = 1 << 16;
  if (table.distinct == 1) return static_cast<double>(table.records_of_key(0));
  const double all = std::log2(static_cast<double>(table.distinct));
  const std::uint64_t looked_up = std::min(table.distinct - 1, most_looked_up);
  double sum = 0;
  for (std::uint64_t rank = 0; rank < looked_up; ++rank) {
    const double share = std::log2(static_cast<double>(rank + 2) / static_cast<double>(rank + 1)) / all;
    sum += share * static_cast<double>(table.records_of_key(inputs::permute(rank, table.distinct, seed + 1)));
  }
  return sum + (1 - std::log2(static_cast<double>(looked_up + 1)) / all) * mean_chain(table);
}

}  // namespace

std::uint64_t likely_matches(const problem_spec& problem) {
  const std::uint64_t most = primitives::most_matches(problem);
  const primitives::keyed_table table = primitives::table_of(problem);
  if (most == 0) return 0;
  const inputs::pattern order = pattern_of_copy(problem, 0);
  double mean = mean_chain(table);
  if (order.kind == inputs::pattern_kind::zipf) mean = mean_by_power_law(table, order.seed);
  if (order.kind == inputs::pattern_kind::same) {
    mean = static_cast<double>(table.records_of_key(inputs::pattern_entry(order, 0, table.distinct)));
  }
  const double matches = mean * static_cast<double>(problem.count) * problem.part<hash_part>().hit_percent / 100;
  constexpr double most_counted = 0x1p62;
  return std::min(most, static_cast<std::uint64_t>(std::min(matches, most_counted)));
}

std::uint64_t room_for_matches(const problem_spec& p) {
  const std::uint64_t most = primitives::most_matches(p);
  if (most != primitives::unknown_matches) return most;
  const std::uint64_t likely = likely_matches(p);
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

array_shapes search_shapes(const problem_spec& problem) {
  array_shapes all;
  all[places::source] = table_shape(problem);
  all[places::index] = {
      problem.count, problem.key_bytes, array_role::input,
      fmt::format("{} probes {}, {} % of which find some of {}", problem.count, inputs::name(problem.pattern),
                  problem.part<hash_part>().hit_percent, table_text(problem))};
  all[places::target] = {problem.count, problem.record_bytes, array_role::output};
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

std::string unchecked_search(const problem_spec& problem) {
  const primitives::keyed_table table = primitives::table_of(problem);
  if (problem.count > 0 && table.records == 0 && problem.part<hash_part>().hit_percent > 0)
    return "nothing can be found among no records";
  if (table.longest_chain() >> 32 != 0 && problem.record_bytes == 4)
    return "counts are too narrow for the records of a key";
  return unchecked(problem);
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
void run_build(const context& ctx, const problem_spec& problem, const array_set& arrays,
               const call_settings& settings) {
  const const_records keys = table_keys(problem, arrays);
  const hash_index index =
      build_hash_index(ctx, keys, {.load = primitives::load_of(problem), .variant = settings.variant});
  const std::array<std::uint64_t, facts_of_build> facts{index.count(), index.distinct(), index.longest_chain()};
  copy_bytes(ctx, arrays[places::target].data, facts.data(), sizeof facts);
  if (!settings.with_side_outputs) return;
  hash_find(ctx, index, keys, {arrays[found_place].data, problem.count, problem.index}, {});
  ctx.wait();  // the index is given back here
}

// The reference searches no index but its own, which is built for the call.
template <class Search>
void with_index(const context& ctx, const problem_spec& problem, const array_set& arrays, const call_settings& settings,
                Search search) {
  const auto& made = *static_cast<const hash_index*>(arrays.made.get());
  const bool is_reference = settings.variant.starts_with("reference.");
  if (!is_reference || made.variant() == settings.variant) return search(made);
  const hash_index index = build_hash_index(ctx, table_keys(problem, arrays),
                                            {.load = primitives::load_of(problem), .variant = settings.variant});
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

std::uint64_t build_mistakes(const context& ctx, const problem_spec& problem, const array_set& arrays,
                             bool side_outputs) {
  const probe_source source = source_of(problem, 0);
  const auto* const facts = reinterpret_cast<const std::uint64_t*>(arrays[places::target].data);
  const std::uint64_t wrong = over_items(ctx, facts_of_build, check_build{source, facts}).mismatches;
  if (!side_outputs) return wrong;
  return wrong +
         over_items(ctx, problem.count, check_found{source, arrays[found_place].data, problem.record_bytes}).mismatches;
}

std::uint64_t search_mistakes(const context& ctx, const problem_spec& problem, const array_set& arrays, bool) {
  const probe_source source = source_of(problem, 0);
  const auto* const offsets = reinterpret_cast<const std::uint64_t*>(arrays[places::offsets].data);
  const records& ids = arrays[places::target];
  return over_items(ctx, problem.count + 1, check_offsets{source, offsets}).mismatches +
         over_items(ctx, ids.count, check_ids{source, offsets, problem.count, ids.data, problem.record_bytes})
             .mismatches;
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

constexpr std::string_view builds_on_host[] = {"build_hash_index/x1/r4/k64", "build_hash_index/x1/r4/k32"};
// Of indices that a core's cache holds and that it does not, with as many probes that find something as others.
constexpr std::string_view searches_on_host[] = {"hash_search/uniform:s16384:x1:h50/r4/k64",
                                                 "hash_search/uniform:s16384:x1:h50/r4/k32",
                                                 "hash_search/uniform:s1048576:x1:h50/r4/k64"};
constexpr std::string_view counts_on_host[] = {"hash_count/uniform:s16384:x1:h50/r4/k64",
                                               "hash_count/uniform:s16384:x1:h50/r4/k32",
                                               "hash_count/uniform:s1048576:x1:h50/r4/k64"};

// A search with one answer for each probe.
template <answer_kind Kind>
constexpr job job_of_answers(std::span<const sample> samples, decltype(job::run) run,
                             decltype(job::plain_loop) plain_loop,
                             std::span<const std::string_view> calibrated_on_host = {}) {
  return {.samples = samples,
          .calibrated_on_host = calibrated_on_host,
          .shapes = search_shapes,
          .moved_bytes = bytes_of_calls,
          .unchecked = unchecked_search,
          .fill = fill_array,
          .run = run,
          .count_mistakes = answer_mistakes<Kind>,
          .plain_loop = plain_loop,
          .made = &index_of_table};
}

}  // namespace

constexpr job build_hash_index_job{.samples = build_samples,
                                   .calibrated_on_host = builds_on_host,
                                   .shapes = build_shapes,
                                   .moved_bytes = bytes_of_calls,
                                   .unchecked = unchecked,
                                   .fill = fill_array,
                                   .run = run_build,
                                   .count_mistakes = build_mistakes,
                                   .plain_loop = plain_build_hash_index};

constexpr job hash_search_job{.samples = search_samples,
                              .calibrated_on_host = searches_on_host,
                              .shapes = shapes_with_matches,
                              .moved_bytes = bytes_with_matches,
                              .unchecked = unchecked_matches,
                              .fill = fill_array,
                              .run = run_search,
                              .count_mistakes = search_mistakes,
                              .plain_loop = plain_hash_search,
                              .made = &index_of_table};

constexpr job hash_count_job =
    job_of_answers<answer_kind::count>(count_samples, run_count, plain_hash_count, counts_on_host);
constexpr job hash_contains_job =
    job_of_answers<answer_kind::contains>(contains_samples, run_contains, plain_hash_contains);
constexpr job hash_find_job = job_of_answers<answer_kind::first>(find_samples, run_find, plain_hash_find);

}  // namespace sheaf::jobs
