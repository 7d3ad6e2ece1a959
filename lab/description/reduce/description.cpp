#include "lab/description/estimates.hpp"
#include "lab/description/found_order.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/reduce/items.hpp"
#include "lab/description/reduce/problem.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/reduce/contract.hpp"

namespace sheaf::primitives {
namespace {

constexpr enum_name<reduction> number_reductions[] = {
    {"add", reduction::add}, {"min", reduction::min}, {"max", reduction::max}, {"subtract", reduction::subtract}};

const problem_field type_field =
    fields::value_type.with_help("Type of the values that scatter_reduce combines; f32 unless given");
const problem_field op_field{"--op", "How scatter_reduce combines values; add unless given", "add|min|max|subtract",
                             [](problem_spec& p, option_texts texts) {
                               p.part<reduce_part>().op = value_of(texts.front(), number_reductions, "a reduction");
                             }};
const problem_field order_field{"--order",
                                "What may decide the order of scatter_reduce's additions and subtractions; "
                                "deterministic unless given",
                                "deterministic|unordered", [](problem_spec& p, option_texts texts) {
                                  p.part<reduce_part>().order = parse_reduction_order(texts.front());
                                }};

constexpr field_use taken[] = {required(fields::count),      required(fields::table),
                               optional(fields::index_type), optional(fields::pattern),
                               optional(fields::bounds),     optional(type_field, fields::value_width),
                               optional(op_field),           optional(order_field)};

row_parts write(const problem_spec& p) {
  const reduce_part& sum = p.part<reduce_part>();
  return {order_and_table(p, true),
          fmt::format("{}+{}{}{}", name(p.index), name(p.value),
                      sum.op == reduction::add ? "" : fmt::format("+{}", text_of(sum.op, reductions)),
                      sum.order == reduction_order::unordered ? "+unordered" : "")};
}

void read(const name_part& pattern, const name_part& type, problem_spec& problem) {
  reduce_part& sum = problem.part<reduce_part>();
  read_order_and_table(pattern, problem);
  if (!problem.table) pattern.refuse("an order and a number of slots, such as uniform:s1024");
  std::optional<name_part> rest = read_index_type(type, problem);
  if (!rest) type.refuse("an index type and a value type, such as u32+f32");
  const auto [value, after_value] = rest->cut_at("+");
  problem.value = value.read(parse_value_type);
  if (bytes(problem.value) != problem.record_bytes)
    value.refuse(fmt::format("a type of {} bytes", problem.record_bytes));
  rest = after_value;
  for (const enum_name<reduction>& n : number_reductions) {
    if (!rest || rest->cut_at("+").first.text() != n.text) continue;
    sum.op = n.value;
    rest = rest->cut_at("+").second;
  }
  if (!rest) return;
  if (rest->text() != "unordered") rest->refuse("a reduction or an order: add, min, max, subtract, unordered");
  sum.order = reduction_order::unordered;
}

row_labels labels(const problem_spec& problem) {
  const reduce_part& sums = problem.part<reduce_part>();
  const bool is_float = problem.value == value_type::f32 || problem.value == value_type::f64;
  const bool is_unordered = sums.order == reduction_order::unordered;
  const std::string kind = !is_float      ? "integers"
                           : is_unordered ? "floats in any order"
                                          : "floats, the same sum in every run";
  const std::string ending = !is_float ? "" : is_unordered ? ", any order" : ", the same sum in every run";
  const std::string order = order_text(name(problem.pattern));
  const std::string op(sums.op == reduction::add ? "" : text_of(sums.op, reductions));
  return {fmt::format("{} {} {} to {} slots, {}{}", op.empty() ? "add" : op, count_text(problem.count),
                      name(problem.value), count_text(problem.indexed_count()), order, ending),
          {{fmt::format("{}{}; values of ", op.empty() ? "" : op + " of ", kind)},
           varying(problem.record_bytes),
           {" bytes into "},
           varying_count(problem.indexed_count()),
           {" slots, " + order}}};
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  const reduce_part& sum = p.part<reduce_part>();
  return explain_scatter_reduce(ctx, {nullptr, p.count, p.value}, {nullptr, p.count, p.index},
                                {nullptr, p.indexed_count(), p.value}, sum.op,
                                {.pattern = p.access, .bounds = p.bounds, .order = sum.order, .variant = variant});
}

scatter_reduce_problem problem_of(const problem_spec& p, backend_kind backend) {
  const reduce_part& sum = p.part<reduce_part>();
  return {movement_of(p, backend), p.value, sum.op, sum.order};
}

}  // namespace
}  // namespace sheaf::primitives

// The job of scatter_reduce: sums of values by index. The check compares sums of all values with sums of all slots,
// each with the weight of its slot.
namespace sheaf::jobs {
namespace {

using primitives::reduce_part;

// Slots begin with small numbers for every copy alike, and so does the pattern that the check follows.
reduce_source source_of(const problem_spec& p) { return {p.value, pattern_of_copy(p, 0), p.indexed_count()}; }

array_shapes shapes(const problem_spec& problem) {
  array_shapes all;
  all[places::source] = {problem.count, problem.record_bytes, array_role::input,
                         fmt::format("values {} {}", primitives::name(problem.value), problem.count)};
  all[places::index] = {problem.count, bytes(problem.index), array_role::input,
                        fmt::format("index {} {} {} of {}", inputs::name(problem.pattern),
                                    primitives::name(problem.index), problem.count, problem.indexed_count())};
  // Float sums begin with small whole numbers in every row, so that they stay exact.
  all[places::target] = {problem.indexed_count(), problem.record_bytes, array_role::in_out};
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) { return 2 * p.count * p.record_bytes; }

std::string unchecked(const problem_spec& p) {
  if (p.part<reduce_part>().op != reduction::add) return "only sums are checked";
  return p.count > 0 && p.indexed_count() == 0 ? "an index into no values" : "";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: over_items(ctx, p.count, fill_values{source_of(p), array.data}); break;
    case places::index: fill_index_list(ctx, p, copy, array); break;
    default: over_items(ctx, array.count, fill_slots{source_of(p), array.data});
  }
}

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const reduce_part& sum = p.part<reduce_part>();
  scatter_reduce(ctx, {arrays[places::source].data, p.count, p.value}, {arrays[places::index].data, p.count, p.index},
                 {arrays[places::target].data, p.indexed_count(), p.value}, sum.op,
                 {.pattern = p.access, .bounds = p.bounds, .order = sum.order, .variant = settings.variant});
}

std::uint64_t mistakes(const context& ctx, const problem_spec& problem, const array_set& arrays, bool) {
  const reduce_source from = source_of(problem);
  const tally added = over_items(ctx, problem.indexed_count(), checksum_slots{from, arrays[places::target].data});
  const std::uint64_t difference = added.sum - over_items(ctx, problem.count, checksum_values{from}).sum;
  // Integers of 4 bytes wrap around at 2^32, and so does their weighted sum.
  const bool is_narrow = bytes(problem.value) == 4 && !is_float(from.type);
  return added.mismatches + ((is_narrow ? difference & 0xffffffffU : difference) != 0);
}

template <class Value, class Index>
void add_loop(std::uint64_t count, const Value* values, const Index* index, Value* slots) {
  for (std::uint64_t i = 0; i < count; ++i) slots[index[i]] += values[i];
}

plain_call plain_scatter_reduce(const context&, const problem_spec& p, const array_set& arrays) {
  if (p.part<reduce_part>().op != reduction::add) return {};
  return with_sum_type(p.value, [&]<class Value>(std::type_identity<Value>) {
    return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
      return [count = p.count, arrays] {
        add_loop(count, items_of<const Value>(arrays[places::source]), items_of<const Index>(arrays[places::index]),
                 items_of<Value>(arrays[places::target]));
      };
    });
  });
}

constexpr sample samples[] = {{"scatter_reduce/uniform:s65536/r4/u32+u32"},
                              {"scatter_reduce/uniform:s65536/r4/u32+f32"},
                              {"scatter_reduce/zipf:s65536/r8/u32+f64"},
                              {"scatter_reduce/uniform:s1048576/r4/u32+f32"},
                              {"scatter_reduce/uniform:s1048576/r4/u32+f32+unordered"},
                              {"scatter_reduce/uniform:s1048576/r8/u32+u64"}};

// By widths and orders, into slots that a core's cache holds and into slots that no cache holds. In any order, because
// then all variants compete.
constexpr std::string_view calibrated_on_host[] = {
    "scatter_reduce/identity:s32768/r4/u32+f32+unordered",
    "scatter_reduce/uniform:s32768/r4/u32+f32+unordered",
    "scatter_reduce/zipf:s32768/r4/u32+f32+unordered",
    "scatter_reduce/partitioned:250:s32768/r4/u32+f32+unordered",
    "scatter_reduce/identity:s4194304/r4/u32+f32+unordered",
    "scatter_reduce/uniform:s4194304/r4/u32+f32+unordered",
    "scatter_reduce/zipf:s4194304/r4/u32+f32+unordered",
    "scatter_reduce/partitioned:250:s4194304/r4/u32+f32+unordered",
    "scatter_reduce/strided:20:s4194304/r4/u32+f32+unordered",
    "scatter_reduce/identity:s32768/r8/u32+u64",
    "scatter_reduce/uniform:s32768/r8/u32+u64",
    "scatter_reduce/identity:s4194304/r8/u32+u64",
    "scatter_reduce/uniform:s4194304/r8/u32+u64",
};

constexpr job scatter_reduce_job{.samples = samples,
                                 .calibrated_on_host = calibrated_on_host,
                                 .shapes = shapes,
                                 .moved_bytes = moved_bytes,
                                 .unchecked = unchecked,
                                 .fill = fill_array,
                                 .run = run,
                                 .count_mistakes = mistakes,
                                 .plain_loop = plain_scatter_reduce};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {

extern const entry scatter_reduce_rows_entry, gather_reduce_entry;  // in rows.cpp
void add_rows(const sweep& sweep, const entry& of, std::vector<problem_spec>& problems);
void read_row_list(sweep& sweep, std::string_view list, option_texts texts);

namespace {

constexpr entry scatter_reduce_entry{
    .name = "scatter_reduce",
    .family = "reduce",
    .fields = taken,
    .example = "--count 100000000 --table 1000000 --value-type f64 --op max --pattern skewed",
    .write = write,
    .read = read,
    .text = movement_text,
    .facts = movement_facts,
    .labels = labels,
    .explain = explain,
    .estimates = estimates_by<problem_of, scatter_reduce_variants>,
    .place = place_by<problem_of>,
    .found = found_order,
    .job = &jobs::scatter_reduce_job};

constexpr const entry* entries_of_family[] = {&scatter_reduce_entry, &scatter_reduce_rows_entry, &gather_reduce_entry};

// Rows: every type by every number of slots.
struct reduce_lists {
  std::vector<value_type> values{value_type::f32};
  std::vector<std::uint64_t> slots{std::uint64_t{1} << 20};
  std::vector<reduction_order> orders{reduction_order::deterministic};
};

// The order of additions shows in floats alone.
void add_orders(std::span<const reduction_order> orders, const problem_spec& p, std::vector<problem_spec>& problems) {
  const bool order_shows = p.value == value_type::f32 || p.value == value_type::f64;
  for (const reduction_order order : orders.first(order_shows ? orders.size() : 1)) {
    problems.push_back(p.with(reduce_part{.order = order}));
  }
}

void add_numbers(const sweep& sweep, const entry& of, std::vector<problem_spec>& problems) {
  const auto& lists = sweep.lists.of<reduce_lists>();
  for (const std::uint64_t count : sweep.counts) {
    for (const value_type value : lists.values) {
      for (const std::uint64_t slots : lists.slots) {
        for (const index_type index : sweep.indices) {
          for (const input_pattern& pattern : sweep.patterns) {
            const problem_spec problem{.primitive = of.name,
                                       .pattern = pattern,
                                       .record_bytes = bytes(value),
                                       .index = index,
                                       .count = count,
                                       .value = value,
                                       .table = slots};
            add_orders(lists.orders, problem, problems);
          }
        }
      }
    }
  }
}

void add(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  for (const entry* const e : entries) {
    e == &scatter_reduce_entry ? add_numbers(sweep, *e, problems) : add_rows(sweep, *e, problems);
  }
}

constexpr named_sweep sets[] = {
    {"reduce",
     "--primitives scatter_reduce --patterns uniform,zipf --log2-sizes 20:28:4 --values f32,u32,f64,u64 "
     "--slots 1048576,268435456 --orders deterministic,unordered"},
    {"rows",
     "--primitives scatter_reduce_rows,gather_reduce --patterns uniform,zipf,identity "
     "--sizes 1000,100000,20000000 --row-values 3,64,256 --row-types f32,bf16_to_f32 "
     "--row-slots 65536,2000000 --row-orders deterministic,unordered --row-starts identity",
     [](sweep& s) { s.is_brief = true; }}};

constexpr list_option lists[] = {
    {"--values", "of reductions: f32, u32, f64, u64",
     [](sweep& s, option_texts texts) { s.lists.of<reduce_lists>().values = parsed_list(texts, parse_value_type); }},
    {"--slots", "of reductions: values that are added to",
     [](sweep& s, option_texts texts) { s.lists.of<reduce_lists>().slots = numbers_in("--slots", texts, 1); }},
    {"--orders", "of reductions: deterministic, unordered",
     [](sweep& s, option_texts texts) {
       s.lists.of<reduce_lists>().orders = parsed_list(texts, parse_reduction_order);
     }},
    {"--row-values", "of reductions of rows: values of a row",
     [](sweep& s, option_texts texts) { read_row_list(s, "--row-values", texts); }},
    {"--row-types", "of reductions of rows: f32, f16, f16_to_f32 (of rows to f32), ...",
     [](sweep& s, option_texts texts) { read_row_list(s, "--row-types", texts); }},
    {"--row-slots", "of reductions of rows: rows of the output, or of the table",
     [](sweep& s, option_texts texts) { read_row_list(s, "--row-slots", texts); }},
    {"--row-orders", "of reductions of rows: deterministic, unordered",
     [](sweep& s, option_texts texts) { read_row_list(s, "--row-orders", texts); }},
    {"--row-starts", "of reductions of rows: out, identity",
     [](sweep& s, option_texts texts) { read_row_list(s, "--row-starts", texts); }},
};

}  // namespace

extern const family reduce_family{"reduce", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
