#include "primitives/edges/edge_sum.hpp"

#include <algorithm>

#include "lab/description/edges/graph.hpp"
#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "primitives/words.hpp"

// The entry of edge_sum. Its table is the nodes of a generated graph, and a record is a node's result.
namespace sheaf::primitives {

std::uint64_t nodes_of_graph(const problem_spec& p) {
  return p.table.value_or(p.count / edges_of_a_node + (p.count % edges_of_a_node != 0 ? 1 : 0));
}

std::uint32_t components_of_node(const problem_spec& p) {
  return static_cast<std::uint32_t>(p.record_bytes / bytes(p.value));
}

namespace {

constexpr std::uint64_t usual_components = 3;

const problem_field edges_field{.option = fields::count.option,
                                .help = "Edges of a graph",
                                .type_name = fields::count.type_name,
                                .read = fields::count.read};
const problem_field nodes_field{
    .option = "--nodes",
    .help = "Nodes of the graph; one for seven edges unless given, as in a box of tetrahedra",
    .type_name = "N",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.table = number_of("--nodes", texts, 0); }};
const problem_field type_field{.option = "--type",
                               .help = "Type of the nodes' values in edge_sum; f32 unless given",
                               .type_name = "f32|f64",
                               .read = [](problem_spec& p, std::span<const std::string> texts) {
                                 p.value = value_of(texts.front(), float_types, "a type of nodes' values");
                               }};
const problem_field components_field{.option = "--components",
                                     .help = "Components of a node's value and result; 3 unless given",
                                     .type_name = "N",
                                     .read = [](problem_spec& p, std::span<const std::string> texts) {
                                       p.record_bytes =
                                           number_of("--components", texts, 1, most_edge_components) * bytes(p.value);
                                     }};
const problem_field function_field{.option = "--function",
                                   .help = "What an edge contributes; weighted_difference unless given",
                                   .type_name = "weighted_difference|inverse_square",
                                   .read = [](problem_spec& p, std::span<const std::string> texts) {
                                     p.of_edges = value_of(texts.front(), edge_functions, "a function of edges");
                                   }};
const problem_field pairs_field{.option = "--pairs",
                                .help = "Both ends of an edge lie side by side",
                                .type_name = "",
                                .read = [](problem_spec& p, std::span<const std::string>) { p.is_packed = true; }};
const problem_field weights_field{.option = "--weights",
                                  .help = "Edges have weights",
                                  .type_name = "",
                                  .read = [](problem_spec& p, std::span<const std::string>) { p.has_weights = true; }};
const problem_field order_field{.option = "--order",
                                .help = "What may decide the order of additions; deterministic unless given",
                                .type_name = "deterministic|unordered",
                                .read = [](problem_spec& p, std::span<const std::string> texts) {
                                  p.order = parse_reduction_order(texts.front());
                                }};

constexpr field_use taken[] = {
    required(edges_field),
    optional(nodes_field),
    optional(fields::index_type, fields::number_all_records),
    optional(type_field),
    optional(components_field, [](problem_spec& p) { p.record_bytes = usual_components * bytes(p.value); }),
    optional(function_field),
    optional(pairs_field),
    optional(weights_field),
    optional(order_field),
    optional(fields::pattern)};

row_words write(const problem_spec& p) {
  problem_spec usual = p;
  usual.table.reset();
  const bool has_own_nodes = nodes_of_graph(p) != nodes_of_graph(usual);
  return {
      has_own_nodes ? fmt::format("{}:s{}", name(p.pattern), *p.table) : name(p.pattern),
      fmt::format("{}+{}{}{}{}{}", name(p.index), name(p.value),
                  p.of_edges == edge_function::inverse_square ? "+inverse_square" : "", p.has_weights ? "+weights" : "",
                  p.is_packed ? "+pairs" : "", p.order == reduction_order::unordered ? "+unordered" : "")};
}

// One word behind the types: what is not as usual.
void read_word(const name_part& word, problem_spec& p) {
  if (word.text() == "inverse_square") {
    p.of_edges = edge_function::inverse_square;
  } else if (word.text() == "weights") {
    p.has_weights = true;
  } else if (word.text() == "pairs") {
    p.is_packed = true;
  } else if (word.text() == "unordered") {
    p.order = reduction_order::unordered;
  } else {
    word.refuse("part of an edge_sum's type: inverse_square, weights, pairs, unordered");
  }
}

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  const auto [order, nodes] = pattern.cut_at_last(":s");
  p.pattern = order.read(parse_pattern);
  if (nodes) p.table = nodes->number(0, ~std::uint64_t{0}, "the number of nodes of a graph");
  const auto [index, behind_index] = type.cut_at("+");
  p.index = index.read(parse_index_type);
  if (!behind_index) type.refuse("an index type and a value type, such as u32+f32");
  auto [value, rest] = behind_index->cut_at("+");
  p.value = value.read([](std::string_view text) { return value_of(text, float_types, "a type of nodes' values"); });
  if (p.record_bytes % bytes(p.value) != 0 || components_of_node(p) < 1 ||
      p.record_bytes / bytes(p.value) > most_edge_components) {
    value.refuse(fmt::format("a type of which {} bytes are 1 to 8 components", p.record_bytes));
  }
  while (rest) {
    const auto [word, more] = rest->cut_at("+");
    read_word(word, p);
    rest = more;
  }
}

std::string text_of_sum(const problem_spec& p) {
  return fmt::format("{} edges of {} nodes, {} ends {}, {} components {}, {}{}, pattern {}", p.count, nodes_of_graph(p),
                     name(p.index), p.is_packed ? "side by side" : "in two arrays", components_of_node(p),
                     name(p.value), text_of(p.of_edges, edge_functions), p.has_weights ? " with weights" : "",
                     name(p.access));
}

std::vector<fact> facts(const problem_spec& p) {
  return {{"count", p.count},
          {"nodes", nodes_of_graph(p)},
          {"components", std::uint64_t{components_of_node(p)}},
          {"index_type", std::string(name(p.index))},
          {"value_type", std::string(name(p.value))},
          {"function", std::string(text_of(p.of_edges, edge_functions))},
          {"weights", std::string(p.has_weights ? "one" : "none")},
          {"layout", std::string(p.is_packed ? "pairs" : "apart")},
          {"order", std::string(text_of(p.order, reduction_orders))},
          {"pattern", name(p.access)}};
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  const std::uint64_t values = nodes_of_graph(p) * components_of_node(p);
  return explain_edge_sum(ctx, edge_view(nullptr, nullptr, p.count, p.is_packed ? 2 : 1, p.index),
                          {nullptr, values, p.value}, {nullptr, p.has_weights ? p.count : 0, p.value},
                          {nullptr, values, p.value}, components_of_node(p), p.of_edges,
                          {.pattern = p.access, .order = p.order, .variant = variant});
}

edge_sum_problem problem_of(const problem_spec& p, backend_kind backend) {
  edge_sum_problem s;
  s.backend = backend;
  s.edges = p.count;
  s.nodes = nodes_of_graph(p);
  s.value_components = s.components = components_of_node(p);
  s.weight_components = p.has_weights && p.count > 0 ? 1 : 0;
  s.value = p.value;
  s.index = p.index;
  s.stride = p.is_packed ? 2 : 1;
  s.function = p.of_edges;
  s.order = p.order;
  s.pattern = p.access;
  return s;
}

bool has_variants(backend_kind backend) {
  const auto all = edge_sum_variants();
  return std::any_of(all.begin(), all.end(), [&](const edge_sum_variant& v) { return v.works_on(backend); });
}

}  // namespace

extern const entry edge_sum_entry{.name = "edge_sum",
                                  .family = "edges",
                                  .fields = taken,
                                  .example = "--count 100000000 --nodes 14000000 --type f32 --components 3",
                                  .write = write,
                                  .read = read,
                                  .text = text_of_sum,
                                  .facts = facts,
                                  .explain = explain,
                                  .estimates = estimates_by<problem_of, edge_sum_variants>,
                                  .has_variants = has_variants};

}  // namespace sheaf::primitives
