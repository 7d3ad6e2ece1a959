#include "primitives/linked_list/contract.hpp"

#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "primitives/operators/scan_value.hpp"
#include "primitives/words.hpp"

// The entries of linked lists: list_rank, and list_scan with its values in an array of their own or beside the
// successors.
namespace sheaf::primitives {
namespace {

void rank_width(problem_spec& p) { p.record_bytes = p.count >> 32 == 0 ? 4 : 8; }
void value_width(problem_spec& p) { p.record_bytes = bytes(p.value); }

const problem_field nodes_field{.option = fields::count.option,
                                .help = "Nodes of linked lists",
                                .type_name = fields::count.type_name,
                                .read = fields::count.read};
const problem_field lists_field{.option = "--lists",
                                .help = "How many lists the nodes make; one unless given",
                                .type_name = "one|many",
                                .read = [](problem_spec& p, std::span<const std::string> texts) {
                                  p.lists = value_of(texts.front(), list_counts, "a number of lists");
                                }};
const problem_field rank_type_field{.option = "--type",
                                    .help = "Type of the ranks of list_rank; u32 unless there are too many nodes",
                                    .type_name = "u32|u64|i32|i64",
                                    .read = [](problem_spec& p, std::span<const std::string> texts) {
                                      p.record_bytes = bytes(parse_index_type(texts.front()));
                                    }};
const problem_field value_type_field{.option = "--type",
                                     .help = "What list_scan puts together; f32 unless given",
                                     .type_name = "i32|u32|i64|u64|f32|f64",
                                     .read = [](problem_spec& p, std::span<const std::string> texts) {
                                       p.value = parse_value_type(texts.front());
                                       value_width(p);
                                     }};
const problem_field op_field{.option = "--op",
                             .help =
                                 "How list_scan puts values together: add, min, max, mul or, of integers, and, or, "
                                 "xor; add unless given",
                             .type_name = "add|min|max|mul|and|or|xor",
                             .read = [](problem_spec& p, std::span<const std::string> texts) {
                               p.scan_op = value_of(texts.front(), scan_operators, "an operator");
                             }};
const problem_field exclusive_field{
    .option = "--exclusive",
    .help = "A node's result of list_scan has the values before it alone",
    .type_name = "",
    .read = [](problem_spec& p, std::span<const std::string>) { p.is_exclusive = true; }};
const problem_field packed_field{.option = "--packed",
                                 .help = "Values of 4 bytes lie beside successors of 4 bytes",
                                 .type_name = "",
                                 .read = [](problem_spec& p, std::span<const std::string>) { p.is_packed = true; }};

constexpr field_use taken_by_rank[] = {required(nodes_field), optional(lists_field),
                                       optional(fields::index_type, fields::number_all_records),
                                       optional(rank_type_field, rank_width), optional(fields::pattern)};
constexpr field_use taken_by_scan[] = {required(nodes_field),
                                       optional(lists_field),
                                       optional(fields::index_type, fields::number_all_records),
                                       optional(value_type_field, value_width),
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
  p.lists = list_count::many;
}

std::string many_text(const problem_spec& p) { return p.lists == list_count::many ? "+many" : ""; }

row_words write_rank(const problem_spec& p) {
  return {name(p.pattern), fmt::format("{}{}", name(p.index), many_text(p))};
}

void read_rank(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_order(pattern, p);
  const auto [index, rest] = type.cut_at("+");
  p.index = index.read(parse_index_type);
  if (rest) read_lists(*rest, p);
  if (p.record_bytes != 4 && p.record_bytes != 8) type.refuse("of ranks, which have 4 or 8 bytes");
}

row_words write_scan(const problem_spec& p) {
  return {name(p.pattern),
          fmt::format("{}+{}{}{}{}{}", name(p.index), name(p.value),
                      p.scan_op == scan_operator::add ? "" : fmt::format("+{}", text_of(p.scan_op, scan_operators)),
                      p.is_exclusive ? "+exclusive" : "", p.is_packed ? "+packed" : "", many_text(p))};
}

// One word behind the types of a scan: an operator, or what is not as usual.
void read_scan_word(const name_part& word, problem_spec& p) {
  if (word.text() == "exclusive") {
    p.is_exclusive = true;
  } else if (word.text() == "packed") {
    if (bytes(p.index) != 4 || bytes(p.value) != 4) word.refuse("for values and successors of 4 bytes alone");
    p.is_packed = true;
  } else if (word.text() == "many") {
    p.lists = list_count::many;
  } else {
    for (const primitives::word<scan_operator>& w : scan_operators) {
      if (w.text != word.text()) continue;
      if (!takes(w.value, p.value)) word.refuse("an operator of floats: add, min, max, mul");
      p.scan_op = w.value;
      return;
    }
    word.refuse("part of a scan's type: an operator, exclusive, packed, many");
  }
}

void read_scan(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_order(pattern, p);
  const auto [index, behind_index] = type.cut_at("+");
  p.index = index.read(parse_index_type);
  if (!behind_index) type.refuse("an index type and a value type, such as u32+f32");
  auto [value, rest] = behind_index->cut_at("+");
  p.value = value.read(parse_value_type);
  if (bytes(p.value) != p.record_bytes) value.refuse(fmt::format("a type of {} bytes", p.record_bytes));
  while (rest) {
    const auto [word, more] = rest->cut_at("+");
    read_scan_word(word, p);
    rest = more;
  }
}

std::string nodes_text(const problem_spec& p) {
  return fmt::format("{} nodes in {}, {} successors", p.count,
                     p.lists == list_count::one ? "one list" : "any number of lists", name(p.index));
}

std::string text_of_rank(const problem_spec& p) {
  return fmt::format("{}, ranks of {} bytes, pattern {}", nodes_text(p), p.record_bytes, name(p.access));
}

std::string text_of_scan(const problem_spec& p) {
  return fmt::format("{}, {} values {}, {} {}, pattern {}", nodes_text(p), name(p.value),
                     p.is_packed ? "beside them" : "apart", p.is_exclusive ? "exclusive" : "inclusive",
                     text_of(p.scan_op, scan_operators), name(p.access));
}

std::vector<fact> facts_of_rank(const problem_spec& p) {
  return {{"count", p.count},
          {"record_bytes", p.record_bytes},
          {"index_type", std::string(name(p.index))},
          {"lists", std::string(text_of(p.lists, list_counts))},
          {"pattern", name(p.access)}};
}

std::vector<fact> facts_of_scan(const problem_spec& p) {
  std::vector<fact> facts = facts_of_rank(p);
  facts.push_back({"value_type", std::string(name(p.value))});
  facts.push_back({"op", std::string(text_of(p.scan_op, scan_operators))});
  facts.push_back({"scan", std::string(p.is_exclusive ? "exclusive" : "inclusive")});
  facts.push_back({"layout", std::string(p.is_packed ? "packed" : "apart")});
  return facts;
}

explanation explain_rank(const context& ctx, const problem_spec& p, std::string_view variant) {
  const index_type ranks = p.record_bytes == 4 ? index_type::u32 : index_type::u64;
  return explain_list_rank(ctx, {nullptr, p.count, p.index}, {nullptr, p.count, ranks},
                           {.lists = p.lists, .pattern = p.access, .variant = variant});
}

explanation explain_scan(const context& ctx, const problem_spec& p, std::string_view variant) {
  list_scan_options options{.lists = p.lists, .pattern = p.access, .variant = variant};
  if (p.is_exclusive) {
    options.exclusive_from.emplace();
    options.exclusive_from->type = p.value;
  }
  const values out{nullptr, p.count, p.value};
  if (p.is_packed) return explain_list_scan(ctx, {nullptr, p.count, p.value, p.index}, out, p.scan_op, options);
  return explain_list_scan(ctx, {nullptr, p.count, p.index}, {nullptr, p.count, p.value}, out, p.scan_op, options);
}

list_problem rank_problem(const problem_spec& p, backend_kind backend) {
  return {.backend = backend,
          .count = p.count,
          .successor = p.index,
          .out_bytes = p.record_bytes,
          .lists = p.lists,
          .pattern = p.access};
}

list_problem scan_problem(const problem_spec& p, backend_kind backend) {
  return {.backend = backend,
          .count = p.count,
          .successor = p.index,
          .value_bytes = p.record_bytes,
          .out_bytes = p.record_bytes,
          .is_packed = p.is_packed,
          .is_exclusive = p.is_exclusive,
          .lists = p.lists,
          .pattern = p.access};
}

}  // namespace

extern const entry list_rank_entry{.name = "list_rank",
                                   .family = "linked_list",
                                   .fields = taken_by_rank,
                                   .example = "--count 100000000 --pattern random",
                                   .write = write_rank,
                                   .read = read_rank,
                                   .text = text_of_rank,
                                   .facts = facts_of_rank,
                                   .explain = explain_rank,
                                   .estimates = estimates_by<rank_problem, list_variants>};

extern const entry list_scan_entry{.name = "list_scan",
                                   .family = "linked_list",
                                   .fields = taken_by_scan,
                                   .example = "--count 100000000 --type u32 --op max --packed --pattern random",
                                   .write = write_scan,
                                   .read = read_scan,
                                   .text = text_of_scan,
                                   .facts = facts_of_scan,
                                   .explain = explain_scan,
                                   .estimates = estimates_by<scan_problem, list_variants>};

}  // namespace sheaf::primitives
