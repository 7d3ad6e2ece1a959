#include <numeric>

#include "lab/description/movement/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/split/items.hpp"
#include "lab/description/split/problem.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/split/multi_contract.hpp"

// A multi_split is a split of record numbers and a gather by them. Its variants are those of its split, which is what
// the variant that a caller names decides; the other two steps go by their cheapest variant.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t category_bytes = 4;  // unless the problem says another width
constexpr std::uint64_t most_categories = std::uint64_t{1} << 32;

const problem_field records_field{
    "--records", "multi_split: records, each of which belongs to any number of categories", "N",
    [](problem_spec& p, option_texts texts) { p.table = number_of("--records", texts, 0); }};
const problem_field categories_field{
    "--categories", "multi_split: categories, of which there are N", "N", [](problem_spec& p, option_texts texts) {
      p.part<split_part>().categories = number_of("--categories", texts, 1, most_categories);
    }};

constexpr field_use taken[] = {required(fields::count), required(records_field), required(fields::bytes),
                               required(categories_field)};

std::uint64_t categories_of(const problem_spec& p) {
  const split_part& split = p.part<split_part>();
  return split.categories != 0 ? split.categories : std::uint64_t{1} << p.part<key_part>().bits;
}

index_type number_type(const problem_spec& p) {
  const bool is_wide = bytes(p.index) == 8 || p.indexed_count() >= std::uint64_t{1} << 32;
  return is_wide ? index_type::u64 : index_type::u32;
}

// Records of no bytes are not moved: multi_split_index, which the command explains by this entry.
bool moves_records(const problem_spec& p) { return p.record_bytes != 0; }

row_parts write(const problem_spec& p) {
  const key_part& key = p.part<key_part>();
  return {fmt::format("{}:b{}:s{}", name(key.keys), key.bits, p.indexed_count()),
          fmt::format("k{}", 8 * category_bytes)};
}

void read(const name_part& pattern, const name_part& type, problem_spec& problem) {
  key_part& key = problem.part<key_part>();
  if (type.text() != "k32") type.refuse("the width of a category: k32");
  const auto [categories, records] = pattern.cut_at_last(":s");
  const auto [keys, bits] = categories.cut_at_last(":b");
  if (!records || !bits) pattern.refuse("a distribution, bits and records, such as uniform:b8:s1024");
  problem.key_bytes = category_bytes;
  key.keys = keys.read(parse_key_distribution);
  key.bits = static_cast<std::uint32_t>(bits->number(1, 8 * category_bytes, "1 to 32 bits of a category"));
  problem.table = records->number(0, ~std::uint64_t{0}, "a number of records");
}

std::string text(const problem_spec& p) {
  return fmt::format("{} memberships of {} records{} in {} categories", p.count, p.indexed_count(),
                     moves_records(p) ? fmt::format(" of {} bytes", p.record_bytes) : "", categories_of(p));
}

std::vector<fact> facts(const problem_spec& p) {
  return {{"count", p.count},
          {"records", p.indexed_count()},
          {"record_bytes", p.record_bytes},
          {"categories", categories_of(p)}};
}

row_labels labels(const problem_spec& problem) {
  return {fmt::format("split {} memberships of {} records of {} bytes to {} categories", count_text(problem.count),
                      count_text(problem.indexed_count()), problem.record_bytes, categories_of(problem)),
          {{"records of "},
           varying(problem.record_bytes),
           {" bytes by "},
           varying(problem.part<key_part>().bits, "bit"),
           {" of their categories, "},
           varying(order_text(name(problem.part<key_part>().keys)))}};
}

problem_spec split_of_numbers(const problem_spec& p) {
  problem_spec numbers{.primitive = "split",
                       .record_bytes = bytes(number_type(p)),
                       .count = p.count,
                       .key_bytes = p.key_bytes != 0 ? p.key_bytes : category_bytes};
  numbers.part<split_part>().categories = categories_of(p);
  return numbers;
}

multi_split_problem problem_of(const problem_spec& problem, backend_kind backend) {
  multi_split_problem calls{
      .rows = {backend, problem.indexed_count(), problem.count, number_type(problem)},
      .split = split_problem_of(split_of_numbers(problem), 0, split_product::records, true, backend),
      .gather = {}};
  if (!moves_records(problem)) return calls;
  const problem_spec moved{.primitive = "gather",
                           .record_bytes = problem.record_bytes,
                           .index = number_type(problem),
                           .count = problem.count,
                           .table = problem.indexed_count()};
  calls.gather = gather_problem{movement_of(moved, backend)};
  calls.has_own_sources = true;
  return calls;
}

// Makes the estimates of the split those of the whole call.
void add_other_calls(std::vector<variant_estimate>& variants, const problem_spec& p, backend_kind backend,
                     const plan::scope& in) {
  const multi_split_problem problem = problem_of(p, backend);
  for (variant_estimate& estimate : variants) {
    if (!estimate.applicable) continue;
    const std::optional<multi_split_plan> calls = plan_multi_split(problem, in, estimate.variant);
    if (!calls) {
      estimate.applicable = estimate.chosen = false;
      estimate.reason = "the calls around it take more scratch than the context's limit";
      continue;
    }
    estimate.seconds += calls->rows.plan.seconds;
    estimate.terms.push_back({"record numbers", calls->rows.plan.seconds});
    estimate.scratch_bytes = calls->scratch_bytes;
    if (!problem.gather) continue;
    estimate.seconds += calls->gather.plan.seconds;
    estimate.terms.push_back({"gather", calls->gather.plan.seconds});
  }
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  const problem_spec numbers = split_of_numbers(p);
  explanation why = entry_of(numbers).explain(ctx, numbers, variant);
  why.primitive = p.primitive;
  add_other_calls(why.variants, p, ctx.backend(), plan::scope_of(ctx));
  if (why.choice() != nullptr || !plan::forced_name("split", variant, &ctx.state()).empty()) return why;
  // The split that would be taken alone leaves too little scratch for the calls around it.
  if (const variant_estimate* const next = cheapest(why.variants)) {
    why.variants[static_cast<std::size_t>(next - why.variants.data())].chosen = true;
  }
  return why;
}

std::vector<variant_estimate> estimates(const problem_spec& p, backend_kind backend, const machine& profile) {
  const problem_spec numbers = split_of_numbers(p);
  std::vector<variant_estimate> all = entry_of(numbers).estimates(numbers, backend, profile);
  add_other_calls(all, p, backend, profile);
  return all;
}

}  // namespace

}  // namespace sheaf::primitives

// The job of multi_split. Categories of the output follow from its offsets, so that the check needs no order of the
// memberships but the one that the output has.
namespace sheaf::jobs {
namespace {

using multi_split_places::first;
using multi_split_places::sources;
using primitives::categories_of;
using primitives::key_part;
using primitives::number_type;
using primitives::split_part;
constexpr std::uint32_t most_bits = 24;

membership_source source_of(const problem_spec& problem, std::uint64_t copy) {
  const key_part& key = problem.part<key_part>();
  return {{key.keys, key.bits, problem.key_bytes, problem.record_bytes, problem.count, records_seed + copy},
          problem.count,
          problem.indexed_count(),
          problem.record_bytes,
          records_seed};
}

array_shapes shapes(const problem_spec& problem) {
  const key_part& key = problem.part<key_part>();
  const std::uint64_t records = problem.indexed_count();
  array_shapes all;
  all[places::source] = {records, problem.record_bytes, array_role::input,
                         fmt::format("records {} {}", problem.record_bytes, records)};
  all[places::index] = {problem.count, problem.key_bytes, array_role::input,
                        fmt::format("categories {}:b{} {}", inputs::name(key.keys), key.bits, problem.count)};
  all[first] = {records + 1, sizeof(std::uint64_t), array_role::input,
                fmt::format("first {} {}", records, problem.count)};
  all[places::target] = {problem.count, problem.record_bytes, array_role::output};
  all[sources] = {problem.count, bytes(number_type(problem)), array_role::output};
  if (key.bits <= most_bits)
    all[places::offsets] = {categories_of(problem) + 1, sizeof(std::uint64_t), array_role::output};
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) { return p.count * (2 * p.record_bytes + p.key_bytes); }

std::string unchecked(const problem_spec& p) {
  if (p.part<split_part>().categories != 0 || p.part<key_part>().bits > most_bits)
    return "only up to 2^24 categories, a power of two, are generated";
  return p.count > 0 && p.indexed_count() == 0 ? "memberships of no records" : "";
}

std::uint64_t* words_of(records array) { return reinterpret_cast<std::uint64_t*>(array.data); }

void fill_array(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: return inputs::fill_records(ctx, array, records_seed);
    case places::index:
      over_items(ctx, problem.count,
                 fill_categories{source_of(problem, copy), reinterpret_cast<std::uint32_t*>(array.data)});
      return;
    case first: over_items(ctx, array.count, fill_first{source_of(problem, copy), words_of(array)}); return;
    default: return wipe(ctx, array);
  }
}

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const membership of{{words_of(arrays[first]), arrays[first].count}, arrays[places::index], categories_of(p)};
  multi_split(ctx, arrays[places::source], of, arrays[places::target],
              {arrays[sources].data, arrays[sources].count, number_type(p)},
              {words_of(arrays[places::offsets]), arrays[places::offsets].count}, {settings.variant});
}

std::uint64_t mistakes(const context& ctx, const problem_spec& problem, const array_set& arrays, bool) {
  const std::uint64_t* const offsets = words_of(arrays[places::offsets]);
  const tally ascending =
      over_items(ctx, categories_of(problem), check_ascending_offsets{offsets, categories_of(problem), problem.count});
  if (ascending.mismatches != 0) return ascending.mismatches;
  const tally found = over_items(ctx, problem.count,
                                 check_members{source_of(problem, 0), arrays[places::target].data, arrays[sources].data,
                                               arrays[sources].record_bytes, offsets, categories_of(problem)});
  return found.mismatches + (found.sum != 0);
}

constexpr sample samples[] = {{"multi_split/uniform:b8:s65536/r8/k32"}, {"multi_split/zipf:b16:s30000/r12/k32"}};

template <class Record>
void split_members(std::uint64_t records, std::uint64_t categories, const std::uint64_t* begins,
                   const std::uint32_t* category_of, const Record* in, Record* out, std::uint32_t* numbers,
                   std::uint64_t* offsets) {
  std::vector<std::uint64_t> next(categories + 1);
  for (std::uint64_t e = 0; e < begins[records]; ++e) ++next[category_of[e]];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::uint64_t{0});
  std::ranges::copy(next, offsets);
  for (std::uint64_t record = 0; record < records; ++record) {
    for (std::uint64_t e = begins[record]; e < begins[record + 1]; ++e) {
      const std::uint64_t place = next[category_of[e]]++;
      out[place] = in[record];
      numbers[place] = static_cast<std::uint32_t>(record);
    }
  }
}

plain_call plain_multi_split(const context&, const problem_spec& problem, const array_set& arrays) {
  if (problem.key_bytes != sizeof(std::uint32_t) || number_type(problem) != index_type::u32) return {};
  return with_record_type(problem.record_bytes, [&]<class Record>(std::type_identity<Record>) -> plain_call {
    return [arrays, records = problem.indexed_count(), categories = categories_of(problem)] {
      split_members(records, categories, items_of<const std::uint64_t>(arrays[multi_split_places::first]),
                    items_of<const std::uint32_t>(arrays[places::index]),
                    items_of<const Record>(arrays[places::source]), items_of<Record>(arrays[places::target]),
                    items_of<std::uint32_t>(arrays[sources]), items_of<std::uint64_t>(arrays[places::offsets]));
    };
  });
}

constexpr job multi_split_job{.samples = samples,
                              .shapes = shapes,
                              .moved_bytes = moved_bytes,
                              .unchecked = unchecked,
                              .fill = fill_array,
                              .run = run,
                              .count_mistakes = mistakes,
                              .plain_loop = plain_multi_split};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {

constexpr entry multi_split_entry{
    .name = "multi_split",
    .family = "split",
    .fields = taken,
    .example = "--count 100000000 --records 30000000 --record-bytes 12 --categories 2000000",
    .write = write,
    .read = read,
    .text = text,
    .facts = facts,
    .labels = labels,
    .explain = explain,
    .estimates = estimates,
    .job = &jobs::multi_split_job};

}  // namespace sheaf::primitives
