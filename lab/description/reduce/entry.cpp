#include "primitives/reduce/contract.hpp"

#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/movement/entry_parts.hpp"
#include "primitives/words.hpp"

namespace sheaf::primitives {
namespace {

void value_width(problem_spec& p) { p.record_bytes = bytes(p.value); }

const problem_field type_field{.option = "--type",
                               .help = "What scatter_reduce puts together; f32 unless given",
                               .type_name = "i32|u32|i64|u64|f32|f64",
                               .read = [](problem_spec& p, std::span<const std::string> texts) {
                                 p.value = parse_value_type(texts.front());
                                 value_width(p);
                               }};
const problem_field op_field{.option = "--op",
                             .help = "How scatter_reduce puts values together; add unless given",
                             .type_name = "add|min|max|subtract",
                             .read = [](problem_spec& p, std::span<const std::string> texts) {
                               p.op = value_of(texts.front(), reductions, "a reduction");
                             }};
const problem_field order_field{.option = "--order",
                                .help =
                                    "What may decide the order of scatter_reduce's additions and subtractions; "
                                    "deterministic unless given",
                                .type_name = "deterministic|unordered",
                                .read = [](problem_spec& p, std::span<const std::string> texts) {
                                  p.order = parse_reduction_order(texts.front());
                                }};

constexpr field_use taken[] = {required(fields::count),   required(fields::table),  optional(fields::index_type),
                               optional(fields::pattern), optional(fields::bounds), optional(type_field, value_width),
                               optional(op_field),        optional(order_field)};

row_words write(const problem_spec& p) {
  return {order_and_table(p, true),
          fmt::format("{}+{}{}{}", name(p.index), name(p.value),
                      p.op == reduction::add ? "" : fmt::format("+{}", text_of(p.op, reductions)),
                      p.order == reduction_order::unordered ? "+unordered" : "")};
}

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_order_and_table(pattern, p);
  if (!p.table) pattern.refuse("an order and a number of slots, such as uniform:s1024");
  std::optional<name_part> rest = read_index_type(type, p);
  if (!rest) type.refuse("an index type and a value type, such as u32+f32");
  const auto [value, after_value] = rest->cut_at("+");
  p.value = value.read(parse_value_type);
  if (bytes(p.value) != p.record_bytes) value.refuse(fmt::format("a type of {} bytes", p.record_bytes));
  rest = after_value;
  for (const word<reduction>& w : reductions) {
    if (!rest || rest->cut_at("+").first.text() != w.text) continue;
    p.op = w.value;
    rest = rest->cut_at("+").second;
  }
  if (!rest) return;
  if (rest->text() != "unordered") rest->refuse("a reduction or an order: add, min, max, subtract, unordered");
  p.order = reduction_order::unordered;
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_scatter_reduce(ctx, {nullptr, p.count, p.value}, {nullptr, p.count, p.index},
                                {nullptr, p.indexed_count(), p.value}, p.op,
                                {.pattern = p.access, .bounds = p.bounds, .order = p.order, .variant = variant});
}

scatter_reduce_problem problem_of(const problem_spec& p, backend_kind backend) {
  return {movement_of(p, backend), p.value, p.op, p.order};
}

}  // namespace

extern const entry scatter_reduce_entry{
    .name = "scatter_reduce",
    .family = "reduce",
    .fields = taken,
    .example = "--count 100000000 --table 1000000 --type f64 --op max --pattern skewed",
    .write = write,
    .read = read,
    .text = movement_text,
    .facts = movement_facts,
    .explain = explain,
    .estimates = estimates_by<problem_of, scatter_reduce_variants>,
    .place = place_by<problem_of>};

}  // namespace sheaf::primitives
