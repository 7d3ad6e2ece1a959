#include "primitives/movement/scatter.hpp"

#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/movement/entry_parts.hpp"
#include "primitives/words.hpp"

namespace sheaf::primitives {
namespace {

const problem_field duplicates_field{.option = "--duplicates",
                                     .help = "Which writer of a scatter wins: any or last",
                                     .type_name = "any|last",
                                     .read = [](problem_spec& p, std::span<const std::string> texts) {
                                       p.duplicates =
                                           value_of(texts.front(), duplicates_words, "a rule for duplicates");
                                     }};

constexpr field_use taken[] = {required(fields::count),      required(fields::table),   required(fields::bytes),
                               optional(fields::index_type), optional(fields::pattern), optional(fields::bounds),
                               optional(duplicates_field)};

row_words write(const problem_spec& p) {
  return {order_and_table(p), fmt::format("{}{}", name(p.index), p.duplicates == duplicates::last ? "+last" : "")};
}

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_order_and_table(pattern, p);
  const auto rule = read_index_type(type, p);
  if (!rule) return;
  if (rule->text() != "last") rule->refuse("a rule for duplicates: last");
  p.duplicates = duplicates::last;
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_scatter(ctx, {nullptr, p.count, p.record_bytes}, {nullptr, p.count, p.index},
                         {nullptr, p.indexed_count(), p.record_bytes},
                         {.pattern = p.access, .bounds = p.bounds, .duplicates = p.duplicates, .variant = variant});
}

scatter_problem problem_of(const problem_spec& p, backend_kind backend) {
  return {movement_of(p, backend), p.duplicates};
}

}  // namespace

extern const entry scatter_entry{
    .name = "scatter",
    .family = "movement",
    .fields = taken,
    .example = "--count 100000000 --table 100000000 --bytes 16 --pattern random --duplicates last",
    .write = write,
    .read = read,
    .text = movement_text,
    .facts = movement_facts,
    .explain = explain,
    .estimates = estimates_by<problem_of, scatter_variants>,
    .place = place_by<problem_of>,
    .he2007_seconds = he2007_seconds_of_scatter};

}  // namespace sheaf::primitives
