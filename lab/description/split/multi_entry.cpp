#include "primitives/split/multi_contract.hpp"

#include "lab/description/entry.hpp"
#include "lab/description/movement/entry_parts.hpp"
#include "lab/description/split/calls.hpp"
#include "primitives/words.hpp"

// A multi_split is a split of record numbers and a gather by them. Its variants are those of its split, which is what
// the variant that a caller names decides; the other two steps go by their cheapest variant.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t category_bytes = 4;
constexpr std::uint64_t most_categories = std::uint64_t{1} << 32;

const problem_field records_field{
    .option = "--records",
    .help = "multi_split: records, each of which belongs to any number of categories",
    .type_name = "N",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.table = number_of("--records", texts, 0); }};
const problem_field categories_field{.option = "--categories",
                                     .help = "multi_split: categories, of which there are N",
                                     .type_name = "N",
                                     .read = [](problem_spec& p, std::span<const std::string> texts) {
                                       p.categories = number_of("--categories", texts, 1, most_categories);
                                     }};

constexpr field_use taken[] = {required(fields::count), required(records_field), required(fields::bytes),
                               required(categories_field)};

std::uint64_t categories_of(const problem_spec& p) {
  return p.categories != 0 ? p.categories : std::uint64_t{1} << p.bits;
}

index_type number_type(const problem_spec& p) {
  return p.indexed_count() >= std::uint64_t{1} << 32 ? index_type::u64 : index_type::u32;
}

row_words write(const problem_spec& p) {
  return {fmt::format("{}:b{}:s{}", name(p.keys), p.bits, p.indexed_count()), fmt::format("k{}", 8 * category_bytes)};
}

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  if (type.text() != "k32") type.refuse("the width of a category: k32");
  const auto [categories, records] = pattern.cut_at_last(":s");
  const auto [keys, bits] = categories.cut_at_last(":b");
  if (!records || !bits) pattern.refuse("a distribution, bits and records, such as uniform:b8:s1024");
  p.key_bytes = category_bytes;
  p.keys = keys.read(parse_key_distribution);
  p.bits = static_cast<std::uint32_t>(bits->number(1, 8 * category_bytes, "1 to 32 bits of a category"));
  p.table = records->number(0, ~std::uint64_t{0}, "a number of records");
}

std::string text(const problem_spec& p) {
  return fmt::format("{} memberships of {} records of {} bytes in {} categories", p.count, p.indexed_count(),
                     p.record_bytes, categories_of(p));
}

std::vector<fact> facts(const problem_spec& p) {
  return {{"count", p.count},
          {"records", p.indexed_count()},
          {"record_bytes", p.record_bytes},
          {"categories", categories_of(p)}};
}

problem_spec split_of_numbers(const problem_spec& p) {
  return {.primitive = "split",
          .record_bytes = bytes(number_type(p)),
          .count = p.count,
          .key_bytes = category_bytes,
          .categories = categories_of(p)};
}

multi_split_problem problem_of(const problem_spec& p, backend_kind backend) {
  const problem_spec moved{.primitive = "gather",
                           .record_bytes = p.record_bytes,
                           .index = number_type(p),
                           .count = p.count,
                           .table = p.indexed_count()};
  return {.rows = {backend, p.indexed_count(), p.count, number_type(p)},
          .split = split_problem_of(split_of_numbers(p), 0, split_product::records, true, backend),
          .gather = gather_problem{movement_of(moved, backend)},
          .has_own_sources = true};
}

// Makes the estimates of the split those of the whole call.
void add_other_calls(std::vector<variant_estimate>& variants, const problem_spec& p, backend_kind backend,
                     const plan::scope& in) {
  const multi_split_problem problem = problem_of(p, backend);
  for (variant_estimate& v : variants) {
    if (!v.applicable) continue;
    const std::optional<multi_split_plan> calls = plan_multi_split(problem, in, v.variant);
    if (!calls) {
      v.applicable = v.chosen = false;
      v.reason = "the calls around it take more scratch than the context's limit";
      continue;
    }
    v.seconds += calls->rows.plan.seconds + calls->gather.plan.seconds;
    v.terms.push_back({"record numbers", calls->rows.plan.seconds});
    v.terms.push_back({"gather", calls->gather.plan.seconds});
    v.scratch_bytes = calls->scratch_bytes;
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

extern const entry multi_split_entry{.name = "multi_split",
                                     .family = "split",
                                     .fields = taken,
                                     .example = "--count 100000000 --records 30000000 --bytes 12 --categories 2000000",
                                     .write = write,
                                     .read = read,
                                     .text = text,
                                     .facts = facts,
                                     .explain = explain,
                                     .estimates = estimates};

}  // namespace sheaf::primitives
