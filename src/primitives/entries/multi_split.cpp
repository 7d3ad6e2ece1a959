#include <algorithm>

#include "primitives/entries/entry.hpp"
#include "primitives/entries/estimates.hpp"
#include "primitives/entries/words.hpp"
#include "primitives/split.hpp"

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

// Adds the steps around the split: the record of each membership before it, and the movement of the records behind it.
void add_steps(std::vector<variant_estimate>& variants, const problem_spec& p, backend_kind backend,
               const machine& profile) {
  const row_of_entry_problem rows{backend, p.indexed_count(), p.count, number_type(p)};
  const auto of_rows = estimates_of(row_of_entry_variants(), rows, profile);
  const problem_spec moved{.primitive = "gather",
                           .record_bytes = p.record_bytes,
                           .index = number_type(p),
                           .count = p.count,
                           .table = p.indexed_count()};
  const auto of_gather = entry_of(moved).estimates(moved, backend, profile);
  const variant_estimate* const row_step = cheapest(of_rows);
  const variant_estimate* const gather_step = cheapest(of_gather);
  const std::uint64_t number_bytes = (p.count * bytes(number_type(p)) + 255) / 256 * 256;
  for (variant_estimate& v : variants) {
    if (!v.applicable || row_step == nullptr || gather_step == nullptr) continue;
    v.seconds += row_step->seconds + gather_step->seconds;
    v.terms.push_back({"record numbers", row_step->seconds});
    v.terms.push_back({"gather", gather_step->seconds});
    // The record numbers of the memberships and those in order, and scratch that the steps use in turn.
    v.scratch_bytes =
        2 * number_bytes + std::max({row_step->scratch_bytes, v.scratch_bytes, gather_step->scratch_bytes});
  }
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  const problem_spec numbers = split_of_numbers(p);
  explanation why = entry_of(numbers).explain(ctx, numbers, variant);
  why.primitive = p.primitive;
  add_steps(why.variants, p, ctx.backend(), ctx.profile());
  return why;
}

std::vector<variant_estimate> estimates(const problem_spec& p, backend_kind backend, const machine& profile) {
  const problem_spec numbers = split_of_numbers(p);
  std::vector<variant_estimate> all = entry_of(numbers).estimates(numbers, backend, profile);
  add_steps(all, p, backend, profile);
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
