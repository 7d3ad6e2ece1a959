#include <charconv>

#include "core/printable.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/linked_list/items.hpp"
#include "lab/description/linked_list/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/operators/scan_value.hpp"

// The entries of linked lists: list_rank, and list_scan with its values in an array of their own or beside the
// successors.
namespace sheaf::primitives {
namespace {

void rank_width(problem_spec& p) { p.record_bytes = p.count >> 32 == 0 ? 4 : 8; }

const problem_field nodes_field = fields::count.with_help("Nodes of linked lists");
const problem_field lists_field{"--lists", "How many lists the nodes make; one unless given", "one|many",
                                [](problem_spec& p, option_texts texts) {
                                  p.part<list_part>().lists = value_of(texts.front(), list_counts, "a number of lists");
                                }};
const problem_field rank_type_field{
    "--output-type", "Type of the ranks of list_rank; u32 unless there are too many nodes", "u32|u64|i32|i64",
    [](problem_spec& p, option_texts texts) { p.record_bytes = bytes(parse_index_type(texts.front())); }};
const problem_field value_type_field =
    fields::value_type.with_help("Type of the values that list_scan combines; f32 unless given");
const problem_field op_field{
    "--op", "How list_scan combines values: add, min, max, mul or, for integers, and, or, xor; add unless given",
    "add|min|max|mul|and|or|xor", [](problem_spec& p, option_texts texts) {
      p.part<list_part>().op = value_of(texts.front(), scan_operators, "an operator");
    }};
const problem_field exclusive_field{
    "--exclusive-from", "A node's result of list_scan combines only the values before it, from this number on",
    "NUMBER", [](problem_spec& p, option_texts texts) {
      // A plan needs no more of the number than that there is one.
      double number = 0;
      const std::string& text = texts.front();
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (problem != std::errc{} || end != text.data() + text.size())
        refuse("--exclusive-from: '{}' is not a number", core::printable(text));
      p.part<list_part>().is_exclusive = true;
    }};
const problem_field packed_field{"--packed", "Values of 4 bytes lie beside successors of 4 bytes", "",
                                 [](problem_spec& p, option_texts) { p.part<list_part>().is_packed = true; }};

constexpr field_use taken_by_rank[] = {required(nodes_field), optional(lists_field),
                                       optional(fields::index_type, fields::number_all_records),
                                       optional(rank_type_field, rank_width), optional(fields::pattern)};
constexpr field_use taken_by_scan[] = {required(nodes_field),
                                       optional(lists_field),
                                       optional(fields::index_type, fields::number_all_records),
                                       optional(value_type_field, fields::value_width),
                                       optional(op_field),
                                       optional(exclusive_field),
                                       optional(packed_field),
                                       optional(fields::pattern)};

void read_order(const name_part& pattern, problem_spec& p) {
  p.pattern = pattern.read(parse_pattern);
  if (!is_distinct(p.pattern)) pattern.refuse("an order that goes through every node once");
}

// The word "many" ends the name of a problem of many lists.
void read_lists(const name_part& word, problem_spec& p) {
  if (word.text() != "many") word.refuse("the number of lists: many");
  p.part<list_part>().lists = list_count::many;
}

std::string many_text(const problem_spec& p) { return p.part<list_part>().lists == list_count::many ? "+many" : ""; }

row_parts write_rank(const problem_spec& p) {
  return {name(p.pattern), fmt::format("{}{}", name(p.index), many_text(p))};
}

void read_rank(const name_part& pattern, const name_part& type, problem_spec& problem) {
  read_order(pattern, problem);
  const auto [index, rest] = type.cut_at("+");
  problem.index = index.read(parse_index_type);
  if (rest) read_lists(*rest, problem);
  if (problem.record_bytes != 4 && problem.record_bytes != 8) type.refuse("allowed: ranks have 4 or 8 bytes");
}

row_parts write_scan(const problem_spec& problem) {
  const list_part& list = problem.part<list_part>();
  return {name(problem.pattern),
          fmt::format("{}+{}{}{}{}{}", name(problem.index), name(problem.value),
                      list.op == scan_operator::add ? "" : fmt::format("+{}", text_of(list.op, scan_operators)),
                      list.is_exclusive ? "+exclusive" : "", list.is_packed ? "+packed" : "", many_text(problem))};
}

// One word behind the types of a scan: an operator, or what is not as usual.
void read_scan_word(const name_part& word, problem_spec& problem) {
  list_part& list = problem.part<list_part>();
  if (word.text() == "exclusive") {
    list.is_exclusive = true;
  } else if (word.text() == "packed") {
    if (bytes(problem.index) != 4 || bytes(problem.value) != 4)
      word.refuse("allowed: it needs values and successors of 4 bytes");
    list.is_packed = true;
  } else if (word.text() == "many") {
    list.lists = list_count::many;
  } else {
    for (const primitives::enum_name<scan_operator>& w : scan_operators) {
      if (w.text != word.text()) continue;
      if (!takes(w.value, problem.value)) word.refuse("an operator of floats: add, min, max, mul");
      list.op = w.value;
      return;
    }
    word.refuse("part of a scan's type: an operator, exclusive, packed, many");
  }
}

void read_scan(const name_part& pattern, const name_part& type, problem_spec& problem) {
  read_order(pattern, problem);
  const auto [index, behind_index] = type.cut_at("+");
  problem.index = index.read(parse_index_type);
  if (!behind_index) type.refuse("an index type and a value type, such as u32+f32");
  const auto [value, rest] = behind_index->cut_at("+");
  problem.value = value.read(parse_value_type);
  if (bytes(problem.value) != problem.record_bytes)
    value.refuse(fmt::format("a type of {} bytes", problem.record_bytes));
  for_each_part(rest, "+", [&](const name_part& word) { read_scan_word(word, problem); });
}

std::string nodes_text(const problem_spec& p) {
  return fmt::format("{} nodes in {}, {} successors", p.count,
                     p.part<list_part>().lists == list_count::one ? "one list" : "any number of lists", name(p.index));
}

std::string text_of_rank(const problem_spec& p) {
  return fmt::format("{}, ranks of {} bytes, pattern {}", nodes_text(p), p.record_bytes, name(p.access));
}

std::string text_of_scan(const problem_spec& p) {
  const list_part& list = p.part<list_part>();
  return fmt::format("{}, {} values {}, {} {}, pattern {}", nodes_text(p), name(p.value),
                     list.is_packed ? "beside them" : "apart", list.is_exclusive ? "exclusive" : "inclusive",
                     text_of(list.op, scan_operators), name(p.access));
}

std::vector<fact> facts_of_rank(const problem_spec& problem) {
  return {{"count", problem.count},
          {"record_bytes", problem.record_bytes},
          {"index_type", std::string(name(problem.index))},
          {"lists", std::string(text_of(problem.part<list_part>().lists, list_counts))},
          {"pattern", name(problem.access)}};
}

std::vector<fact> facts_of_scan(const problem_spec& p) {
  const list_part& list = p.part<list_part>();
  std::vector<fact> facts = facts_of_rank(p);
  facts.push_back({"value_type", std::string(name(p.value))});
  facts.push_back({"op", std::string(text_of(list.op, scan_operators))});
  facts.push_back({"scan", std::string(list.is_exclusive ? "exclusive" : "inclusive")});
  const std::string layout = list.is_packed ? "packed" : "apart";
  facts.push_back({"layout", layout});
  return facts;
}

// Lists of one kind are alike whatever the stride.
row_labels labels_of_list(const problem_spec& problem, const std::string& what) {
  const std::string call = (problem.part<list_part>().lists == list_count::many ? "many lists, " : "") + what;
  const std::string order = list_text(problem.pattern);
  row_labels labels{fmt::format("{} of {} nodes, {}", call, count_text(problem.count), order), {}};
  if (problem.pattern.kind == pattern_kind::strided) {
    labels.line = {{call + ", stride of "}, varying(problem.pattern.parameter), {" records"}};
  } else {
    labels.line = {{call + ", " + order}};
  }
  return labels;
}

row_labels labels_of_rank(const problem_spec& p) {
  return labels_of_list(p, fmt::format("ranks of {} bytes, {} successors", p.record_bytes, name(p.index)));
}

row_labels labels_of_scan(const problem_spec& p) {
  const list_part& list = p.part<list_part>();
  return labels_of_list(p, fmt::format("{}{} of {} values{}, {} successors", list.is_exclusive ? "exclusive " : "",
                                       list.op == scan_operator::add ? "sums" : text_of(list.op, scan_operators),
                                       name(p.value), list.is_packed ? " in packed nodes" : "", name(p.index)));
}

explanation explain_rank(const context& ctx, const problem_spec& p, std::string_view variant) {
  const index_type ranks = p.record_bytes == 4 ? index_type::u32 : index_type::u64;
  return explain_list_rank(ctx, {nullptr, p.count, p.index}, {nullptr, p.count, ranks},
                           {.lists = p.part<list_part>().lists, .pattern = p.access, .variant = variant});
}

explanation explain_scan(const context& ctx, const problem_spec& problem, std::string_view variant) {
  const list_part& list = problem.part<list_part>();
  list_scan_options options{.lists = list.lists, .pattern = problem.access, .variant = variant};
  if (list.is_exclusive) {
    options.exclusive_from.emplace();
    options.exclusive_from->type = problem.value;
  }
  const values out{nullptr, problem.count, problem.value};
  if (list.is_packed)
    return explain_list_scan(ctx, {nullptr, problem.count, problem.value, problem.index}, out, list.op, options);
  return explain_list_scan(ctx, {nullptr, problem.count, problem.index}, {nullptr, problem.count, problem.value}, out,
                           list.op, options);
}

list_problem rank_problem(const problem_spec& problem, backend_kind backend) {
  return {.backend = backend,
          .count = problem.count,
          .successor = problem.index,
          .out_bytes = problem.record_bytes,
          .lists = problem.part<list_part>().lists,
          .pattern = problem.access};
}

list_problem scan_problem(const problem_spec& problem, backend_kind backend) {
  const list_part& list = problem.part<list_part>();
  return {.backend = backend,
          .count = problem.count,
          .successor = problem.index,
          .value_bytes = problem.record_bytes,
          .out_bytes = problem.record_bytes,
          .is_packed = list.is_packed,
          .is_exclusive = list.is_exclusive,
          .lists = list.lists,
          .pattern = problem.access};
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using primitives::list_part;

// All bits set end a list.
template <class Index>
constexpr Index no_node = static_cast<Index>(~Index{0});

template <class Value>
struct packed_node {
  Value value;
  std::uint32_t successor;
};

// A walk with the successor of each node and what to do there, from the head of a list on.
template <class Index, class SuccessorOf, class Visit>
void walk(Index head, SuccessorOf successor_of, Visit visit) {
  for (Index node = head; node != no_node<Index>; node = successor_of(node)) visit(node);
}

// Every node but the head is one node's successor, so the head is what the sum of all nodes has beyond the sum of all
// successors.
template <class Index, class SuccessorOf, class Visit>
void walk_one(std::uint64_t count, SuccessorOf successor_of, Visit visit) {
  std::uint64_t head = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Index next = successor_of(i);
    head += i - (next == no_node<Index> ? 0 : next);
  }
  if (count > 0) walk(static_cast<Index>(head), successor_of, visit);
}

template <class Index, class SuccessorOf, class Begin, class Visit>
void walk_many(std::uint64_t count, SuccessorOf successor_of, Begin begin, Visit visit) {
  std::vector<bool> has_predecessor(count, false);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Index next = successor_of(i);
    if (next != no_node<Index>) has_predecessor[next] = true;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (has_predecessor[i]) continue;
    begin();
    walk(static_cast<Index>(i), successor_of, visit);
  }
}

// Calls visit for the nodes of all lists; begin() before each but the first of one list.
template <class Index, class SuccessorOf, class Begin, class Visit>
void walk_all(const problem_spec& p, SuccessorOf successor_of, Begin begin, Visit visit) {
  if (p.part<list_part>().lists == list_count::one) {
    walk_one<Index>(p.count, successor_of, visit);
  } else {
    walk_many<Index>(p.count, successor_of, begin, visit);
  }
}

template <class Index, class Rank>
plain_call rank_walk(const problem_spec& problem, const array_set& arrays) {
  return [problem, arrays] {
    const auto* const successor = items_of<const Index>(arrays[places::index]);
    auto* const ranks = items_of<Rank>(arrays[places::target]);
    Rank rank = 0;
    walk_all<Index>(
        problem, [successor](std::uint64_t node) { return successor[node]; }, [&] { rank = 0; },
        [&](std::uint64_t node) { ranks[node] = rank++; });
  };
}

template <class Value>
plain_call scan_walk(const problem_spec& problem, const array_set& arrays) {
  if (problem.part<list_part>().is_packed) {
    return [problem, arrays] {
      const auto* const nodes = items_of<const packed_node<Value>>(arrays[places::source]);
      auto* const out = items_of<Value>(arrays[places::target]);
      Value sum = 0;
      walk_all<std::uint32_t>(
          problem, [nodes](std::uint64_t node) { return nodes[node].successor; }, [&] { sum = 0; },
          [&](std::uint64_t node) { out[node] = sum += nodes[node].value; });
    };
  }
  return with_index_type(problem.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    return [problem, arrays] {
      const auto* const successor = items_of<const Index>(arrays[places::index]);
      const auto* const in = items_of<const Value>(arrays[places::source]);
      auto* const out = items_of<Value>(arrays[places::target]);
      Value sum = 0;
      walk_all<Index>(
          problem, [successor](std::uint64_t node) { return successor[node]; }, [&] { sum = 0; },
          [&](std::uint64_t node) { out[node] = sum += in[node]; });
    };
  });
}

plain_call plain_list_rank(const context&, const problem_spec& p, const array_set& arrays) {
  return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    return p.record_bytes == 4 ? rank_walk<Index, std::uint32_t>(p, arrays)
                               : rank_walk<Index, std::uint64_t>(p, arrays);
  });
}

plain_call plain_list_scan(const context&, const problem_spec& p, const array_set& arrays) {
  const list_part& list = p.part<list_part>();
  if (list.op != scan_operator::add || list.is_exclusive) return {};
  return with_sum_type(p.value, [&]<class Value>(std::type_identity<Value>) { return scan_walk<Value>(p, arrays); });
}

// The jobs of list_rank and list_scan: lists whose nodes lie in the order of a pattern, and answers that are functions
// of the rank.
constexpr std::uint64_t packed_bytes = 8;

list_source source_of(const problem_spec& problem, std::uint64_t copy) {
  const list_part& list = problem.part<list_part>();
  const std::uint64_t list_nodes = list.lists == list_count::one ? problem.count : nodes_of_many;
  return {.order = pattern_of_copy(problem, copy),
          .count = problem.count,
          .list_nodes = std::max<std::uint64_t>(list_nodes, 1),
          .type = problem.value,
          .op = list.op,
          .is_exclusive = list.is_exclusive};
}

std::string list_text(const problem_spec& p) {
  return fmt::format("{} {} {} {}", inputs::name(p.pattern), primitives::name(p.index), p.count,
                     primitives::text_of(p.part<list_part>().lists, primitives::list_counts));
}

// Exclusive scans have the inputs of inclusive ones.
std::string values_text(const problem_spec& p) {
  return fmt::format("{} {} of {}", primitives::name(p.value),
                     primitives::text_of(p.part<list_part>().op, primitives::scan_operators), list_text(p));
}

array_shapes rank_shapes(const problem_spec& p) {
  array_shapes all;
  all[places::index] = {p.count, bytes(p.index), array_role::input, "list " + list_text(p)};
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  return all;
}

array_shapes scan_shapes(const problem_spec& problem) {
  array_shapes all;
  if (problem.part<list_part>().is_packed) {
    all[places::source] = {problem.count, packed_bytes, array_role::input, "nodes " + values_text(problem)};
  } else {
    all[places::source] = {problem.count, problem.record_bytes, array_role::input, "values " + values_text(problem)};
    all[places::index] = {problem.count, bytes(problem.index), array_role::input, "list " + list_text(problem)};
  }
  all[places::target] = {problem.count, problem.record_bytes, array_role::output};
  return all;
}

std::uint64_t bytes_of_rank(const problem_spec& p) { return p.count * (bytes(p.index) + p.record_bytes); }
std::uint64_t bytes_of_scan(const problem_spec& p) { return p.count * (bytes(p.index) + 2 * p.record_bytes); }

// A number of 4 bytes tells fewer than 2^32 nodes apart, of which all bits set is none.
bool is_too_narrow(std::uint64_t number_bytes, index_type type, std::uint64_t nodes) {
  const int bits = type == index_type::i32 ? 31 : 32;
  return number_bytes == 4 && nodes >= std::uint64_t{1} << bits;
}

std::string unchecked_list(const problem_spec& p) {
  if (!is_distinct(p.pattern)) return "an order that goes through nodes twice is not a list";
  return is_too_narrow(bytes(p.index), p.index, p.count) ? "successors are too narrow for the nodes" : "";
}

std::string unchecked_rank(const problem_spec& p) {
  const bool narrow = is_too_narrow(p.record_bytes, index_type::u32, p.count);
  return narrow ? "ranks are too narrow for the nodes" : unchecked_list(p);
}

std::string unchecked_scan(const problem_spec& p) {
  const list_part& list = p.part<list_part>();
  if (!primitives::takes(list.op, p.value)) return "the operator is for integers only";
  if (list.is_packed && (bytes(p.index) != 4 || p.record_bytes != 4)) return "packed nodes have two numbers of 4 bytes";
  return unchecked_list(p);
}

void fill_array(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place, records array) {
  const list_source source = source_of(problem, copy);
  switch (place) {
    case places::source:
      if (problem.part<list_part>().is_packed) {
        over_items(ctx, problem.count, fill_packed_nodes{source, array.data});
      } else {
        over_items(ctx, problem.count, fill_list_values{source, array.data});
      }
      break;
    case places::index:
      over_items(ctx, problem.count, fill_successors{source, array.data, bytes(problem.index)});
      break;
    default: wipe(ctx, array);
  }
}

void run_rank(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const index_type ranks = p.record_bytes == 4 ? index_type::u32 : index_type::u64;
  list_rank(ctx, {arrays[places::index].data, p.count, p.index}, {arrays[places::target].data, p.count, ranks},
            {.lists = p.part<list_part>().lists, .pattern = p.access, .variant = settings.variant});
}

scalar start_of_scan(const problem_spec& p) {
  scalar start;
  primitives::with_value(p.value, [&](auto value) {
    using number = std::conditional_t<std::is_floating_point_v<decltype(value)>, double, std::uint64_t>;
    start = scalar(static_cast<decltype(value)>(start_of<number>(p.part<list_part>().op)));
  });
  return start;
}

void run_scan(const context& ctx, const problem_spec& problem, const array_set& arrays, const call_settings& settings) {
  const list_part& list = problem.part<list_part>();
  list_scan_options options{.lists = list.lists, .pattern = problem.access, .variant = settings.variant};
  if (list.is_exclusive) options.exclusive_from = start_of_scan(problem);
  const values out(arrays[places::target].data, problem.count, problem.value);
  const std::byte* const in = arrays[places::source].data;
  if (list.is_packed)
    return list_scan(ctx, const_list_nodes(in, problem.count, problem.value, problem.index), out, list.op, options);
  list_scan(ctx, {arrays[places::index].data, problem.count, problem.index}, {in, problem.count, problem.value}, out,
            list.op, options);
}

std::uint64_t rank_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const check_ranks check{source_of(p, 0), arrays[places::target].data, p.record_bytes};
  return over_items(ctx, p.count, check).mismatches;
}

std::uint64_t scan_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  return over_items(ctx, p.count, check_list_values{source_of(p, 0), arrays[places::target].data}).mismatches;
}

constexpr sample rank_samples[] = {
    {"list_rank/permutation/r4/u32"}, {"list_rank/identity/r4/u32"}, {"list_rank/permutation/r4/u32+many"}};
constexpr sample scan_samples[] = {{"list_scan/permutation/r4/u32+u32+packed"}, {"list_scan/permutation/r8/u32+f64"}};

// In order, in windows that a core's cache holds, and at random: calls that are told no order have the mean of these.
constexpr std::string_view ranks_on_host[] = {"list_rank/identity/r4/u32", "list_rank/clustered:4096/r4/u32",
                                              "list_rank/permutation/r4/u32"};
constexpr std::string_view scans_on_host[] = {
    "list_scan/identity/r4/u32+u32+packed",    "list_scan/clustered:4096/r4/u32+u32+packed",
    "list_scan/permutation/r4/u32+u32+packed", "list_scan/identity/r8/u32+u64",
    "list_scan/clustered:4096/r8/u32+u64",     "list_scan/permutation/r8/u32+u64"};

constexpr job list_rank_job{.samples = rank_samples,
                            .calibrated_on_host = ranks_on_host,
                            .shapes = rank_shapes,
                            .moved_bytes = bytes_of_rank,
                            .unchecked = unchecked_rank,
                            .fill = fill_array,
                            .run = run_rank,
                            .count_mistakes = rank_mistakes,
                            .plain_loop = plain_list_rank};

constexpr job list_scan_job{.samples = scan_samples,
                            .calibrated_on_host = scans_on_host,
                            .shapes = scan_shapes,
                            .moved_bytes = bytes_of_scan,
                            .unchecked = unchecked_scan,
                            .fill = fill_array,
                            .run = run_scan,
                            .count_mistakes = scan_mistakes,
                            .plain_loop = plain_list_scan};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {
namespace {

constexpr entry list_rank_entry{.name = "list_rank",
                                .family = "linked_list",
                                .fields = taken_by_rank,
                                .example = "--count 100000000 --pattern random",
                                .write = write_rank,
                                .read = read_rank,
                                .text = text_of_rank,
                                .facts = facts_of_rank,
                                .labels = labels_of_rank,
                                .explain = explain_rank,
                                .estimates = estimates_by<rank_problem, list_variants>,
                                .place = place_by<rank_problem>,
                                .job = &jobs::list_rank_job};

constexpr entry list_scan_entry{.name = "list_scan",
                                .family = "linked_list",
                                .fields = taken_by_scan,
                                .example = "--count 100000000 --value-type u32 --op max --packed --pattern random",
                                .write = write_scan,
                                .read = read_scan,
                                .text = text_of_scan,
                                .facts = facts_of_scan,
                                .labels = labels_of_scan,
                                .explain = explain_scan,
                                .estimates = estimates_by<scan_problem, list_variants>,
                                .place = place_by<scan_problem>,
                                .job = &jobs::list_scan_job};

constexpr const entry* entries_of_family[] = {&list_rank_entry, &list_scan_entry};

// Rows: every layout by every order of the nodes.
struct list_lists {
  std::vector<std::string> layouts{"u32", "u32+u32+packed", "u32+u64"};
};

/// What is computed of a linked list, without its order and count: the type part of a row's name. "u32" is ranks of 4
/// bytes, "u32+u64" a scan. @throws error(bad_argument)
problem_spec parse_layout(std::string_view text) {
  const std::size_t first_plus = text.find('+');
  const std::string_view rest = first_plus == text.npos ? std::string_view() : text.substr(first_plus + 1);
  const std::string_view value = rest.substr(0, rest.find('+'));
  if (rest.empty() || value == "many") return parse_problem(fmt::format("list_rank/identity/r4/{}/n=0", text));
  return parse_problem(fmt::format("list_scan/identity/r{}/{}/n=0", bytes(parse_value_type(value)), text));
}

/// A stride of this many stands for one less than the count.
constexpr std::uint64_t longest_stride = 0;

// Strides do not wrap around: with one of n - 1, the first sweep goes through nodes 0 and n - 1, and as sweeps are of
// equal length, the list is 0, n/2, 1, n/2 + 1 and so on, whose neighbours lie half the array apart. A stride of n - 1
// that wraps around goes back by one node each time, which is the pattern `reverse`.
input_pattern pattern_for(input_pattern pattern, std::uint64_t count) {
  const bool is_longest = pattern.kind == pattern_kind::strided && pattern.parameter == longest_stride;
  if (is_longest) pattern.parameter = std::max<std::uint64_t>(count, 2) - 1;
  return pattern;
}

// Throws for a pattern that goes through nodes twice, unless the sweep has other families that take it.
void require_lists(const sweep& s, std::span<const entry* const> entries) {
  if (entries.size() < s.entries.size()) return;
  for (const input_pattern& pattern : s.patterns) {
    if (!is_distinct(pattern)) {
      refuse("--patterns {}: an order that goes through nodes twice is not a list", name(pattern));
    }
  }
}

void add(const sweep& s, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  require_lists(s, entries);
  for (const std::uint64_t count : s.counts) {
    for (const input_pattern& pattern : s.patterns) {
      for (const std::string& layout : s.lists.of<list_lists>().layouts) {
        problem_spec p = parse_layout(layout);
        p.pattern = pattern_for(pattern, count);
        p.count = count;
        const bool is_asked_for = std::ranges::find(entries, &entry_of(p)) != entries.end();
        if (is_asked_for) add_if_checked(p, problems);
      }
    }
  }
}

constexpr named_sweep sets[] = {
    {"list", "--patterns identity,permutation,strided:1001 --log2-sizes 20:30:2", [](sweep& s) {
       s.patterns.push_back({pattern_kind::strided, longest_stride});
     }}};

constexpr list_option lists[] = {
    {"--list-layouts", "of linked lists: u32 (ranks), u32+u64, u32+u32+packed, u32+f32+max+exclusive (scans)",
     [](sweep& s, option_texts texts) { s.lists.of<list_lists>().layouts = checked_list(texts, parse_layout); }},
};

}  // namespace

extern const family list_family{"linked_list", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
