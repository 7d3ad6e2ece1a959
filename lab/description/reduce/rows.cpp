#include "lab/description/estimates.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/reduce/problem.hpp"
#include "lab/description/reduce/row_items.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/reduce/gather.hpp"

// The entries of scatter_reduce and gather_reduce of rows. A record is a row that is read, and its values have the
// problem's value type.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_row_values = 65536;

value_type out_of(const problem_spec& p) { return p.part<rows_part>().out.value_or(p.value); }
std::uint64_t width_of(const problem_spec& p) { return p.record_bytes / bytes(p.value); }
std::uint64_t segments_of(const problem_spec& p) {
  const std::uint64_t entries = p.part<rows_part>().segment_entries;
  return p.count / entries + (p.count % entries != 0 ? 1 : 0);
}
bool gathers(const problem_spec& p) { return p.primitive == gather_reduce_call; }

/// The widths of generated rows, and of those that options describe, are whole numbers of values.
void require_whole_rows(const problem_spec& p) {
  const std::uint64_t width = bytes(p.value);
  if (p.record_bytes % width != 0 || p.record_bytes == 0 || p.record_bytes / width > most_row_values) {
    refuse("--record-bytes: a row of {} bytes is not 1 to {} values of type {}", p.record_bytes, most_row_values,
           name(p.value));
  }
}

const problem_field row_bytes_field = fields::bytes.with_help("Bytes of a row that is combined");
const problem_field row_type_field{
    "--value-type", "Type of the values of rows that are combined; f32 unless given",
    "i32|u32|i64|u64|f32|f64|i8|u8|i16|u16|f16|bf16",
    [](problem_spec& p, option_texts texts) { p.value = parse_row_type(texts.front()); }};
const problem_field result_type_field{
    "--result-type", "Type of the values that rows are combined into; that of the rows unless given",
    row_type_field.type_name,
    [](problem_spec& p, option_texts texts) { p.part<rows_part>().out = parse_row_type(texts.front()); }};
const problem_field row_op_field{"--op", "How rows are combined; add unless given",
                                 "add|min|max|subtract|multiply|mean|count", [](problem_spec& p, option_texts texts) {
                                   p.part<reduce_part>().op = value_of(texts.front(), reductions, "a reduction");
                                 }};
const problem_field row_order_field{
    "--order", "What may decide the order in which rows are combined", "deterministic|unordered",
    [](problem_spec& p, option_texts texts) { p.part<reduce_part>().order = parse_reduction_order(texts.front()); }};
const problem_field start_field{"--start", "What rows are combined with: what out holds, or the identity element",
                                "out|identity", [](problem_spec& p, option_texts texts) {
                                  p.part<rows_part>().start =
                                      value_of(texts.front(), reduction_starts, "a start of a reduction");
                                }};
const problem_field segment_field{"--segment-entries", "Entries of each segment; 16 unless given", "N",
                                  [](problem_spec& p, option_texts texts) {
                                    p.part<rows_part>().segment_entries = number_of("--segment-entries", texts, 1);
                                  }};
const problem_field row_weights_field{"--weighted", "Entries have weights", "",
                                      [](problem_spec& p, option_texts) { p.part<rows_part>().has_weights = true; }};

constexpr field_use taken_by_scatter_rows[] = {
    required(fields::count),   required(fields::table),   required(row_bytes_field), optional(fields::index_type),
    optional(fields::pattern), optional(fields::bounds),  optional(row_type_field),  optional(result_type_field),
    optional(row_op_field),    optional(row_order_field), optional(start_field)};
constexpr field_use taken_by_gather_reduce[] = {
    required(fields::count),      required(fields::table),   required(row_bytes_field),  optional(segment_field),
    optional(fields::index_type), optional(fields::pattern), optional(fields::bounds),   optional(row_type_field),
    optional(result_type_field),  optional(row_op_field),    optional(row_weights_field)};

std::string types_text(const problem_spec& p) {
  const value_type out = out_of(p);
  return out == p.value ? std::string(name(p.value)) : fmt::format("{}_to_{}", name(p.value), name(out));
}

void read_types(const name_part& part, problem_spec& p) {
  const auto [in, out] = part.cut_at("_to_");
  p.value = in.read(parse_row_type);
  if (out) p.part<rows_part>().out = out->read(parse_row_type);
  if (p.record_bytes % bytes(p.value) != 0 || p.record_bytes / bytes(p.value) > most_row_values) {
    in.refuse(fmt::format("a type of which {} bytes are 1 to {} values", p.record_bytes, most_row_values));
  }
}

row_parts write_rows(const problem_spec& p) {
  const reduce_part& sum = p.part<reduce_part>();
  const rows_part& rows = p.part<rows_part>();
  std::string type = fmt::format("{}+{}", name(p.index), types_text(p));
  if (sum.op != reduction::add) type += fmt::format("+{}", name(sum.op));
  if (!gathers(p) && sum.order == reduction_order::unordered) type += "+unordered";
  if (!gathers(p) && rows.start == reduction_start::identity) type += "+identity";
  if (gathers(p) && rows.has_weights) type += "+weights";
  std::string pattern = order_and_table(p, true);
  if (gathers(p)) pattern += fmt::format(":x{}", rows.segment_entries);
  return {pattern, type};
}

void read_words(const std::optional<name_part>& words, problem_spec& p) {
  for_each_part(words, "+", [&](const name_part& word) {
    for (const enum_name<reduction>& n : reductions) {
      if (word.text() == n.text && n.value != reduction::add) {
        p.part<reduce_part>().op = n.value;
        return;
      }
    }
    if (!gathers(p) && word.text() == "unordered")
      p.part<reduce_part>().order = reduction_order::unordered;
    else if (!gathers(p) && word.text() == "identity")
      p.part<rows_part>().start = reduction_start::identity;
    else if (gathers(p) && word.text() == "weights")
      p.part<rows_part>().has_weights = true;
    else
      word.refuse("a part of a reduction's type, such as max, mean, unordered, identity or weights");
  });
}

void read_rows(const name_part& pattern, const name_part& type, problem_spec& p) {
  if (gathers(p)) {
    const auto [list, segment] = pattern.cut_at_last(":");
    if (!segment) pattern.refuse("an order, a table and the entries of a segment, such as uniform:s1024:x16");
    constexpr std::string_view expected = "the entries of a segment, such as x16";
    p.part<rows_part>().segment_entries = segment->behind("x", expected).number(1, ~std::uint64_t{0}, expected);
    read_order_and_table(list, p);
  } else {
    read_order_and_table(pattern, p);
  }
  if (!p.table) pattern.refuse("an order and a number of rows, such as uniform:s1024");
  const std::optional<name_part> rest = read_index_type(type, p);
  if (!rest) type.refuse("an index type and a value type, such as u32+f32");
  const auto [types, words] = rest->cut_at("+");
  read_types(types, p);
  read_words(words, p);
}

row_labels labels_of_rows(const problem_spec& p) {
  const reduce_part& sum = p.part<reduce_part>();
  const rows_part& rows = p.part<rows_part>();
  const bool is_unordered = !gathers(p) && sum.order == reduction_order::unordered;
  const std::string what = gathers(p)
                               ? fmt::format("{} of gathered rows{}, {} a segment", name(sum.op),
                                             rows.has_weights ? " with weights" : "", rows.segment_entries)
                               : fmt::format("{} of rows{}{}", name(sum.op), is_unordered ? " in any order" : "",
                                             rows.start == reduction_start::identity ? " from the identity" : "");
  const std::string order = order_text(name(p.pattern));
  return {fmt::format("{}, {} rows of {} {}, {} rows, {}", what, count_text(p.count), width_of(p), types_text(p),
                      count_text(p.indexed_count()), order),
          {{what + "; rows of "},
           varying(width_of(p)),
           {fmt::format(" {}, ", types_text(p))},
           varying_count(p.indexed_count()),
           {" rows, " + order}}};
}

std::string text_of_reduced_rows(const problem_spec& p) {
  return fmt::format("{} rows of {} {}, {}, {} rows, index {}, pattern {}", p.count, width_of(p), types_text(p),
                     name(p.part<reduce_part>().op), p.indexed_count(), name(p.index), name(p.access));
}

std::vector<fact> facts_of_rows(const problem_spec& p) {
  std::vector<fact> facts = movement_facts(p);
  facts.push_back({"value_type", std::string(name(p.value))});
  facts.push_back({"result_type", std::string(name(out_of(p)))});
  facts.push_back({"op", std::string(name(p.part<reduce_part>().op))});
  return facts;
}

explanation explain_rows(const context& ctx, const problem_spec& p, std::string_view variant) {
  require_whole_rows(p);
  const const_value_rows in(nullptr, p.count, width_of(p), p.value);
  const value_rows out(nullptr, p.indexed_count(), width_of(p), out_of(p));
  return explain_scatter_reduce(ctx, in, {nullptr, p.count, p.index}, out, p.part<reduce_part>().op,
                                {.pattern = p.access,
                                 .bounds = p.bounds,
                                 .order = p.part<reduce_part>().order,
                                 .start = p.part<rows_part>().start,
                                 .variant = variant});
}

scatter_reduce_rows_problem rows_problem_of(const problem_spec& p, backend_kind backend) {
  require_whole_rows(p);
  scatter_reduce_rows_problem rows{movement_of(p, backend)};
  rows.in = p.value;
  rows.out = out_of(p);
  rows.values_per_row = width_of(p);
  rows.indexed_stride_bytes = rows.out_row_bytes();
  rows.word_bytes = widest_word(p.record_bytes);
  rows.out_word_bytes = widest_word(rows.out_row_bytes());
  rows.op = p.part<reduce_part>().op;
  rows.order = p.part<reduce_part>().order;
  rows.start = p.part<rows_part>().start;
  return rows;
}

explanation explain_gathered(const context& ctx, const problem_spec& p, std::string_view variant) {
  require_whole_rows(p);
  const const_value_rows table(nullptr, p.indexed_count(), width_of(p), p.value);
  const value_rows out(nullptr, segments_of(p), width_of(p), out_of(p));
  const const_values weights(nullptr, p.part<rows_part>().has_weights ? p.count : 0, p.value);
  return explain_gather_reduce(ctx, table, {nullptr, p.count, p.index}, {nullptr, segments_of(p) + 1, p.index}, out,
                               p.part<reduce_part>().op,
                               {.pattern = p.access, .bounds = p.bounds, .weights = weights, .variant = variant});
}

gather_reduce_problem gathered_problem_of(const problem_spec& p, backend_kind backend) {
  require_whole_rows(p);
  gather_reduce_problem g{movement_of(p, backend)};
  g.sequential_stride_bytes = 0;
  g.segments = segments_of(p);
  g.offset = p.index;
  g.in = p.value;
  g.out = out_of(p);
  g.values_per_row = width_of(p);
  g.out_stride_bytes = g.out_row_bytes();
  g.word_bytes = widest_word(p.record_bytes);
  g.out_word_bytes = widest_word(g.out_row_bytes());
  g.op = p.part<reduce_part>().op;
  g.has_weights = p.part<rows_part>().has_weights;
  g.weight = p.value;
  return g;
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using namespace primitives;

constexpr std::size_t weights_place = 3;
constexpr std::size_t rows_place = 6;  // how many rows came to each

combined_rows_source source_of(const problem_spec& p, std::uint64_t copy) {
  const rows_part& rows = p.part<rows_part>();
  return {.in = p.value,
          .out = out_of(p),
          .pattern = pattern_of_copy(p, copy),
          .indexed = p.indexed_count(),
          .width = width_of(p),
          .entries = p.count,
          .segment_entries = rows.segment_entries,
          .begins_empty = gathers(p) || rows.start == reduction_start::identity,
          .has_weights = rows.has_weights,
          .op = p.part<reduce_part>().op};
}

// Whether sums of wrong values show in a checksum, for which nothing has to be kept: those of 32 bits and more, which
// are exact. Everything else is combined again, value by value.
bool has_checksum(const problem_spec& p) {
  const reduction op = p.part<reduce_part>().op;
  const value_type out = out_of(p);
  return (op == reduction::add || (op == reduction::count && out != value_type::f32)) && bytes(out) >= 4;
}

std::string rows_contents(const problem_spec& p, std::uint64_t rows) {
  return fmt::format("rows {} x{} {}", name(p.value), width_of(p), rows);
}

array_shape shape_of_list(const problem_spec& p) {
  return {p.count, bytes(p.index), array_role::input,
          fmt::format("index {} {} {} of {}", inputs::name(p.pattern), name(p.index), p.count, p.indexed_count())};
}

std::uint64_t out_row_bytes(const problem_spec& p) { return width_of(p) * bytes(out_of(p)); }

array_shapes shapes_of_scatter(const problem_spec& p) {
  array_shapes all;
  all[places::source] = {p.count, p.record_bytes, array_role::input, rows_contents(p, p.count)};
  all[places::index] = shape_of_list(p);
  const bool is_read = p.part<rows_part>().start == reduction_start::out;
  all[places::target] = {p.indexed_count(), out_row_bytes(p), is_read ? array_role::in_out : array_role::output};
  if (!has_checksum(p)) {
    all[places::work] = {p.indexed_count() * width_of(p), sizeof(std::int64_t), array_role::work};
    all[rows_place] = {p.indexed_count(), sizeof(std::uint64_t), array_role::work};
  }
  return all;
}

array_shapes shapes_of_gather(const problem_spec& p) {
  const rows_part& rows = p.part<rows_part>();
  array_shapes all;
  all[places::source] = {p.indexed_count(), p.record_bytes, array_role::input, rows_contents(p, p.indexed_count())};
  all[places::index] = shape_of_list(p);
  all[places::target] = {segments_of(p), out_row_bytes(p), array_role::output};
  all[places::offsets] = {segments_of(p) + 1, bytes(p.index), array_role::input,
                          fmt::format("offsets {} of {} by {}", name(p.index), p.count, rows.segment_entries)};
  if (rows.has_weights) {
    all[weights_place] = {p.count, bytes(p.value), array_role::input,
                          fmt::format("weights {} of {}", name(p.value), p.count)};
  }
  return all;
}

std::uint64_t bytes_of_scatter(const problem_spec& p) {
  const std::uint64_t times = p.part<rows_part>().start == reduction_start::out ? 2 : 1;
  return p.count * p.record_bytes + times * p.indexed_count() * out_row_bytes(p);
}
std::uint64_t bytes_of_gather(const problem_spec& p) {
  return p.count * p.record_bytes + segments_of(p) * out_row_bytes(p);
}

std::string unchecked_row_sums(const problem_spec& p) {
  if (p.record_bytes == 0 || p.record_bytes % bytes(p.value) != 0 || width_of(p) > most_row_values)
    return "rows are no whole number of values";
  const reduction op = p.part<reduce_part>().op;
  if (gathers(p) && op == reduction::subtract) return "gather_reduce does not subtract";
  if (!combines(p.value, out_of(p))) return "such values are not combined";
  if (p.part<rows_part>().has_weights && (!is_row_float(p.value) || (op != reduction::add && op != reduction::mean)))
    return "weights go with sums and means of floats";
  const std::uint64_t most = p.index == index_type::i32 ? std::uint64_t{1} << 31 : std::uint64_t{1} << 32;
  if (gathers(p) && bytes(p.index) == 4 && p.count >= most) return "offsets are too narrow for the entries";
  return p.count > 0 && p.indexed_count() == 0 ? "an index into no rows" : "";
}

void fill_rows_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  const combined_rows_source source = source_of(p, 0);
  switch (place) {
    case places::source: over_items(ctx, array.count * source.width, fill_rows{source, array.data}); break;
    case places::index: fill_index_list(ctx, p, copy, array); break;
    case places::offsets: over_items(ctx, array.count, fill_segment_offsets{source, array.data, bytes(p.index)}); break;
    case weights_place: over_items(ctx, array.count, fill_row_weights{source, array.data}); break;
    case places::target:
      if (source.begins_empty)
        wipe(ctx, array);
      else
        over_items(ctx, array.count * source.width, fill_rows_before{source, array.data});
      break;
    default: break;  // the check fills what it works in
  }
}

const_value_rows rows_in(const problem_spec& p, const array_set& arrays, std::uint64_t rows) {
  return {arrays[places::source].data, rows, width_of(p), p.value};
}
value_rows rows_out(const problem_spec& p, const array_set& arrays, std::uint64_t rows) {
  return {arrays[places::target].data, rows, width_of(p), out_of(p)};
}

void run_scattered_rows(const context& ctx, const problem_spec& p, const array_set& arrays,
                        const call_settings& settings) {
  scatter_reduce(ctx, rows_in(p, arrays, p.count), {arrays[places::index].data, p.count, p.index},
                 rows_out(p, arrays, p.indexed_count()), p.part<reduce_part>().op,
                 {.pattern = p.access,
                  .bounds = p.bounds,
                  .order = p.part<reduce_part>().order,
                  .start = p.part<rows_part>().start,
                  .variant = settings.variant});
}

prepared_run prepare_scatter(const context& ctx, const problem_spec& p, const array_set& arrays,
                             std::uint64_t expected_runs) {
  const auto prepared = prepare_scatter_reduce(ctx, {arrays[places::index].data, p.count, p.index}, p.indexed_count(),
                                               expected_runs, {.pattern = p.access, .row_bytes = p.record_bytes});
  const auto run = [prepared, op = p.part<reduce_part>().op, start = p.part<rows_part>().start,
                    in = rows_in(p, arrays, p.count),
                    out = rows_out(p, arrays, p.indexed_count())] { prepared.run(in, out, op, {.start = start}); };
  return {run, preparation_of(prepared.report(), p.access)};
}

void run_gathered_rows(const context& ctx, const problem_spec& p, const array_set& arrays,
                       const call_settings& settings) {
  const segment_views v = views_of_segments(p, arrays);
  gather_reduce(ctx, v.table, v.index, v.offsets, v.out, p.part<reduce_part>().op,
                {.pattern = p.access, .bounds = p.bounds, .weights = v.weights, .variant = settings.variant});
}

template <class Checksum>
std::uint64_t mistakes_of_row_sums(const context& ctx, const problem_spec& p, const array_set& arrays,
                                   std::uint64_t rows) {
  const combined_rows_source source = source_of(p, 0);
  const tally found = over_items(ctx, rows * source.width, checksum_rows_of_out{source, arrays[places::target].data});
  const std::uint64_t difference = found.sum - over_items(ctx, p.count, Checksum{source}).sum;
  // Integers of 4 bytes wrap around at 2^32, and so does their weighted sum.
  const bool is_narrow = bytes(source.out) == 4 && !jobs::is_float(source.out);
  return found.mismatches + ((is_narrow ? difference & 0xffffffffU : difference) != 0);
}
std::uint64_t mistakes_of_scatter(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  if (!has_checksum(p)) {
    const combined_rows_source source = source_of(p, 0);
    const std::uint64_t values = p.indexed_count() * source.width;
    auto* const whole = items_of<std::int64_t>(arrays[places::work]);
    auto* const rows = items_of<std::uint64_t>(arrays[rows_place]);
    over_items(ctx, values, begin_combined_rows{source, whole, rows});
    over_items(ctx, p.count * source.width, combine_scattered_rows{source, whole, rows});
    return over_items(ctx, values, check_scattered_rows{source, whole, rows, arrays[places::target].data}).mismatches;
  }
  return mistakes_of_row_sums<checksum_scattered_rows>(ctx, p, arrays, p.indexed_count());
}
std::uint64_t mistakes_of_gather(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  if (!has_checksum(p)) {
    const combined_rows_source source = source_of(p, 0);
    return over_items(ctx, segments_of(p) * source.width, check_gathered_rows{source, arrays[places::target].data})
        .mismatches;
  }
  return mistakes_of_row_sums<checksum_gathered_rows>(ctx, p, arrays, segments_of(p));
}

// Sums in the type of out. What a user would write for floats of 16 bits converts each of them, too.
template <class In, class Out, class Index>
void add_rows_loop(std::uint64_t count, std::uint64_t width, const In* in, const Index* index, Out* out) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Out* __restrict const to = out + index[i] * width;
    const In* __restrict const from = in + i * width;
    for (std::uint64_t k = 0; k < width; ++k) to[k] = static_cast<Out>(to[k] + converted<Out>(from[k]));
  }
}

template <class In, class Out, class Index>
void add_segments_loop(std::uint64_t segments, std::uint64_t width, const In* table, const Index* index,
                       const Index* offsets, const In* weights, Out* out, int threads) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t s = 0; s < segments; ++s) {
    std::fill_n(out + s * width, width, Out{0});
    for (std::uint64_t j = offsets[s]; j < offsets[s + 1]; ++j) {
      const Out weight = weights == nullptr ? Out{1} : converted<Out>(weights[j]);
      for (std::uint64_t k = 0; k < width; ++k) {
        Out& to = out[s * width + k];
        to = static_cast<Out>(to + weight * converted<Out>(table[index[j] * width + k]));
      }
    }
  }
}

/// Calls body(In*, Out*, Index*) with null pointers of the types of a problem whose sums are checked.
template <class Body>
plain_call with_row_types(const problem_spec& p, Body body) {
  plain_call made;
  if (p.part<reduce_part>().op != reduction::add || bytes(out_of(p)) < 4) return made;
  // Integers are added as unsigned ones, whose sums are the same bits; those that widen keep their sign.
  with_combined_types(p.value, out_of(p), [&](auto from, auto to) {
    using In = std::remove_cvref_t<decltype(from)>;
    using To = std::remove_cvref_t<decltype(to)>;
    if constexpr (sizeof(To) >= 4) {
      using Out =
          typename std::conditional_t<std::is_integral_v<To>, std::make_unsigned<To>, std::type_identity<To>>::type;
      made = with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) {
        return body(static_cast<const In*>(nullptr), static_cast<Out*>(nullptr), static_cast<const Index*>(nullptr));
      });
    }
  });
  return made;
}

plain_call plain_rows(const context&, const problem_spec& p, const array_set& arrays) {
  return with_row_types(p, [&]<class In, class Out, class Index>(const In*, Out*, const Index*) -> plain_call {
    return [count = p.count, slots = p.indexed_count(), width = width_of(p), arrays,
            clears = p.part<rows_part>().start == reduction_start::identity] {
      auto* const out = items_of<Out>(arrays[places::target]);
      if (clears) std::fill_n(out, slots * width, Out{0});
      add_rows_loop(count, width, items_of<const In>(arrays[places::source]),
                    items_of<const Index>(arrays[places::index]), out);
    };
  });
}

plain_call plain_segments(const context& ctx, const problem_spec& p, const array_set& arrays) {
  return with_row_types(p, [&]<class In, class Out, class Index>(const In*, Out*, const Index*) -> plain_call {
    return [segments = segments_of(p), width = width_of(p), arrays, threads = ctx.threads(),
            weighs = p.part<rows_part>().has_weights] {
      add_segments_loop(segments, width, items_of<const In>(arrays[places::source]),
                        items_of<const Index>(arrays[places::index]), items_of<const Index>(arrays[places::offsets]),
                        weighs ? items_of<const In>(arrays[weights_place]) : nullptr,
                        items_of<Out>(arrays[places::target]), threads);
    };
  });
}

constexpr sample samples_of_scatter[] = {{"scatter_reduce_rows/uniform:s4096/r256/u32+f32"},
                                         {"scatter_reduce_rows/uniform:s4096/r256/u32+f32", true},
                                         {"scatter_reduce_rows/zipf:s4096/r68/u32+f32+identity"},
                                         {"scatter_reduce_rows/uniform:s4096/r128/u64+f16_to_f32"},
                                         {"scatter_reduce_rows/uniform:s4096/r24/i32+u64"}};
constexpr sample samples_of_gather[] = {{"gather_reduce/uniform:s4096:x16/r256/u32+f32"},
                                        {"gather_reduce/zipf:s4096:x5/r28/u32+f32+weights"},
                                        {"gather_reduce/uniform:s4096:x40/r64/i64+i8_to_i32"}};

constexpr job scatter_rows_job{.samples = samples_of_scatter,
                               .shapes = shapes_of_scatter,
                               .moved_bytes = bytes_of_scatter,
                               .unchecked = unchecked_row_sums,
                               .fill = fill_rows_array,
                               .run = run_scattered_rows,
                               .count_mistakes = mistakes_of_scatter,
                               .plain_loop = plain_rows,
                               .prepare = prepare_scatter};
constexpr job gather_rows_job{.samples = samples_of_gather,
                              .shapes = shapes_of_gather,
                              .moved_bytes = bytes_of_gather,
                              .unchecked = unchecked_row_sums,
                              .fill = fill_rows_array,
                              .run = run_gathered_rows,
                              .count_mistakes = mistakes_of_gather,
                              .plain_loop = plain_segments};

}  // namespace

segment_views views_of_segments(const problem_spec& p, const array_set& arrays) {
  return {rows_in(p, arrays, p.indexed_count()),
          {arrays[places::index].data, p.count, p.index},
          {arrays[places::offsets].data, segments_of(p) + 1, p.index},
          rows_out(p, arrays, segments_of(p)),
          {arrays[weights_place].data, p.part<rows_part>().has_weights ? p.count : 0, p.value}};
}

}  // namespace sheaf::jobs

namespace sheaf::primitives {

extern const entry scatter_reduce_rows_entry;
extern const entry gather_reduce_entry;

constexpr entry scatter_reduce_rows_entry{
    .name = "scatter_reduce_rows",
    .family = "reduce",
    .fields = taken_by_scatter_rows,
    .example = "--count 100000000 --table 10000000 --record-bytes 256 --start identity",
    .write = write_rows,
    .read = read_rows,
    .text = text_of_reduced_rows,
    .facts = facts_of_rows,
    .labels = labels_of_rows,
    .explain = explain_rows,
    .estimates = estimates_by<rows_problem_of, scatter_reduce_rows_variants>,
    .has_variants = any_works_on<scatter_reduce_rows_variants>,
    .place = place_by<rows_problem_of>,
    .job = &jobs::scatter_rows_job};

constexpr entry gather_reduce_entry{
    .name = "gather_reduce",
    .family = "reduce",
    .fields = taken_by_gather_reduce,
    .example = "--count 100000000 --table 10000000 --record-bytes 256 --segment-entries 10",
    .write = write_rows,
    .read = read_rows,
    .text = text_of_reduced_rows,
    .facts = facts_of_rows,
    .labels = labels_of_rows,
    .explain = explain_gathered,
    .estimates = estimates_by<gathered_problem_of, gather_reduce_variants>,
    .has_variants = any_works_on<gather_reduce_variants>,
    .place = place_by<gathered_problem_of>,
    .job = &jobs::gather_rows_job};

namespace {

// Rows of sweeps: every type by every width and number of rows.
struct row_lists {
  std::vector<std::string> types{"f32"};
  std::vector<std::uint64_t> values{64};
  std::vector<std::uint64_t> slots{std::uint64_t{1} << 16};
  std::vector<reduction_start> starts{reduction_start::out};
  std::vector<reduction_order> orders{reduction_order::deterministic};
};

void add_starts_and_orders(const row_lists& lists, const entry& of, const problem_spec& p,
                           std::vector<problem_spec>& problems) {
  const bool gathers_rows = of.name == gather_reduce_call;
  for (const reduction_start start : lists.starts) {
    problem_spec with_start = p;
    if (!gathers_rows) with_start.part<rows_part>().start = start;
    for (const reduction_order order : lists.orders) {
      // The order of additions shows in floats alone.
      if (order == reduction_order::unordered && (gathers_rows || !jobs::is_row_float(p.value))) continue;
      with_start.part<reduce_part>().order = order;
      add_if_checked(with_start, problems);
    }
    if (gathers_rows) return;
  }
}

}  // namespace

void add_rows(const sweep& sweep, const entry& of, std::vector<problem_spec>& problems) {
  const auto& lists = sweep.lists.of<row_lists>();
  for (const std::uint64_t count : sweep.counts) {
    for (const std::string& types : lists.types) {
      for (const std::uint64_t values : lists.values) {
        for (const std::uint64_t slots : lists.slots) {
          for (const index_type index : sweep.indices) {
            for (const input_pattern& pattern : sweep.patterns) {
              problem_spec p{.primitive = of.name, .pattern = pattern, .index = index, .count = count, .table = slots};
              const name_part text(types);
              p.record_bytes = values * bytes(text.cut_at("_to_").first.read(parse_row_type));
              read_types(text, p);
              add_starts_and_orders(lists, of, p, problems);
            }
          }
        }
      }
    }
  }
}

void read_row_list(sweep& sweep, std::string_view list, option_texts texts) {
  auto& lists = sweep.lists.of<row_lists>();
  if (list == "--row-values") {
    lists.values = numbers_in(list, texts, 1);
  } else if (list == "--row-slots") {
    lists.slots = numbers_in(list, texts, 1);
  } else if (list == "--row-types") {
    lists.types = checked_list(texts, [](std::string_view text) {
      problem_spec p{.record_bytes = 8};
      read_types(name_part(text), p);
    });
  } else if (list == "--row-orders") {
    lists.orders = parsed_list(texts, parse_reduction_order);
  } else {
    lists.starts = parsed_list(
        texts, [](std::string_view text) { return value_of(text, reduction_starts, "a start of a reduction"); });
  }
}

}  // namespace sheaf::primitives
