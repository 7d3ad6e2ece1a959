#include "lab/description/edges/items.hpp"
#include "lab/description/edges/problem.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/edges/edge_sum.hpp"
#include "primitives/enum_names.hpp"

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

const problem_field edges_field = fields::count.with_help("Edges of a graph");
const problem_field nodes_field{"--nodes",
                                "Nodes of the graph; one for seven edges unless given, as in a box of tetrahedra", "N",
                                [](problem_spec& p, option_texts texts) { p.table = number_of("--nodes", texts, 0); }};
const problem_field type_field{"--value-type", "Type of the nodes' values in edge_sum; f32 unless given", "f32|f64",
                               [](problem_spec& p, option_texts texts) {
                                 p.value = value_of(texts.front(), float_types, "a type of nodes' values");
                               }};
const problem_field components_field{"--components", "Components of a node's value and result; 3 unless given", "N",
                                     [](problem_spec& p, option_texts texts) {
                                       p.record_bytes =
                                           number_of("--components", texts, 1, most_edge_components) * bytes(p.value);
                                     }};
const problem_field function_field{"--function", "What an edge contributes; weighted_difference unless given",
                                   "weighted_difference|inverse_square", [](problem_spec& p, option_texts texts) {
                                     p.part<edge_part>().function =
                                         value_of(texts.front(), edge_functions, "a function of edges");
                                   }};
const problem_field pairs_field{"--pairs", "Both ends of an edge lie side by side", "",
                                [](problem_spec& p, option_texts) { p.part<edge_part>().is_packed = true; }};
const problem_field weights_field{"--weighted", "Edges have weights", "",
                                  [](problem_spec& p, option_texts) { p.part<edge_part>().has_weights = true; }};
const problem_field order_field{
    "--order", "What may decide the order of additions; deterministic unless given", "deterministic|unordered",
    [](problem_spec& p, option_texts texts) { p.part<edge_part>().order = parse_reduction_order(texts.front()); }};

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

// Whether the nodes are not as many as unless given.
bool has_own_nodes(const problem_spec& p) {
  problem_spec usual = p;
  usual.table.reset();
  return nodes_of_graph(p) != nodes_of_graph(usual);
}

row_parts write(const problem_spec& p) {
  const edge_part& sum = p.part<edge_part>();
  return {has_own_nodes(p) ? fmt::format("{}:s{}", name(p.pattern), *p.table) : name(p.pattern),
          fmt::format("{}+{}{}{}{}{}", name(p.index), name(p.value),
                      sum.function == edge_function::inverse_square ? "+inverse_square" : "",
                      sum.has_weights ? "+weights" : "", sum.is_packed ? "+pairs" : "",
                      sum.order == reduction_order::unordered ? "+unordered" : "")};
}

// One word behind the types: what is not as usual.
void read_word(const name_part& word, problem_spec& p) {
  edge_part& sum = p.part<edge_part>();
  if (word.text() == "inverse_square") {
    sum.function = edge_function::inverse_square;
  } else if (word.text() == "weights") {
    sum.has_weights = true;
  } else if (word.text() == "pairs") {
    sum.is_packed = true;
  } else if (word.text() == "unordered") {
    sum.order = reduction_order::unordered;
  } else {
    word.refuse("part of an edge_sum's type: inverse_square, weights, pairs, unordered");
  }
}

void read(const name_part& pattern, const name_part& type, problem_spec& problem) {
  const auto [order, nodes] = pattern.cut_at_last(":s");
  problem.pattern = order.read(parse_pattern);
  if (nodes) problem.table = nodes->number(0, ~std::uint64_t{0}, "the number of nodes of a graph");
  const auto [index, behind_index] = type.cut_at("+");
  problem.index = index.read(parse_index_type);
  if (!behind_index) type.refuse("an index type and a value type, such as u32+f32");
  const auto [value, rest] = behind_index->cut_at("+");
  problem.value =
      value.read([](std::string_view text) { return value_of(text, float_types, "a type of nodes' values"); });
  if (problem.record_bytes % bytes(problem.value) != 0 || components_of_node(problem) < 1 ||
      problem.record_bytes / bytes(problem.value) > most_edge_components) {
    value.refuse(fmt::format("a type of which {} bytes are 1 to 8 components", problem.record_bytes));
  }
  for_each_part(rest, "+", [&](const name_part& word) { read_word(word, problem); });
}

std::string text_of_sum(const problem_spec& problem) {
  const edge_part& sum = problem.part<edge_part>();
  return fmt::format("{} edges of {} nodes, {} ends {}, {} components {}, {}{}, pattern {}", problem.count,
                     nodes_of_graph(problem), name(problem.index), sum.is_packed ? "side by side" : "in two arrays",
                     components_of_node(problem), name(problem.value), text_of(sum.function, edge_functions),
                     sum.has_weights ? " with weights" : "", name(problem.access));
}

std::vector<fact> facts(const problem_spec& problem) {
  const edge_part& sum = problem.part<edge_part>();
  return {{"count", problem.count},
          {"nodes", nodes_of_graph(problem)},
          {"components", std::uint64_t{components_of_node(problem)}},
          {"index_type", std::string(name(problem.index))},
          {"value_type", std::string(name(problem.value))},
          {"function", std::string(text_of(sum.function, edge_functions))},
          {"weights", std::string(sum.has_weights ? "one" : "none")},
          {"layout", std::string(sum.is_packed ? "pairs" : "apart")},
          {"order", std::string(text_of(sum.order, reduction_orders))},
          {"pattern", name(problem.access)}};
}

std::string label_of_ends(const problem_spec& problem) {
  switch (problem.pattern.kind) {
    case pattern_kind::identity: return "ends as in a box";
    case pattern_kind::permutation: return "ends of a box at random";
    case pattern_kind::uniform: return "random ends";
    case pattern_kind::same: return "one node for all";
    default: return "ends " + order_text(name(problem.pattern));
  }
}

row_labels labels(const problem_spec& problem) {
  const edge_part& sum = problem.part<edge_part>();
  const std::uint32_t components = components_of_node(problem);
  const std::string graph =
      fmt::format("{}{}, {} component{} of {}, {}{}{}{}{}", label_of_ends(problem),
                  has_own_nodes(problem) ? fmt::format(", {} nodes", grouped_digits(*problem.table)) : "", components,
                  components == 1 ? "" : "s", name(problem.value), name(problem.index),
                  sum.function == edge_function::inverse_square ? ", inverse-square forces" : "",
                  sum.has_weights ? ", with weights" : "", sum.is_packed ? ", ends side by side" : "",
                  sum.order == reduction_order::unordered ? ", in any order" : "");
  return {fmt::format("sums over {} edges, {}", count_text(problem.count), graph), {{graph}}};
}

explanation explain(const context& ctx, const problem_spec& problem, std::string_view variant) {
  if (nodes_of_graph(problem) == 0 && problem.count != 0)
    refuse("--nodes: {} edges have no ends among 0 nodes", problem.count);
  const edge_part& sum = problem.part<edge_part>();
  const std::uint64_t values = nodes_of_graph(problem) * components_of_node(problem);
  return explain_edge_sum(ctx, edge_view(nullptr, nullptr, problem.count, sum.is_packed ? 2 : 1, problem.index),
                          {nullptr, values, problem.value},
                          {nullptr, sum.has_weights ? problem.count : 0, problem.value},
                          {nullptr, values, problem.value}, components_of_node(problem), sum.function,
                          {.pattern = problem.access, .order = sum.order, .variant = variant});
}

edge_sum_problem problem_of(const problem_spec& problem, backend_kind backend) {
  const edge_part& sum = problem.part<edge_part>();
  edge_sum_problem sum_problem;
  sum_problem.backend = backend;
  sum_problem.edges = problem.count;
  sum_problem.nodes = nodes_of_graph(problem);
  sum_problem.value_components = sum_problem.components = components_of_node(problem);
  sum_problem.weight_components = sum.has_weights && problem.count > 0 ? 1 : 0;
  sum_problem.value = problem.value;
  sum_problem.index = problem.index;
  sum_problem.stride = sum.is_packed ? 2 : 1;
  sum_problem.function = sum.function;
  sum_problem.order = sum.order;
  sum_problem.pattern = problem.access;
  return sum_problem;
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using primitives::edge_part;

template <class Value, class Index, std::uint32_t Components>
struct edge_loop {
  std::uint64_t edges;
  std::uint64_t nodes;
  const Index* first;
  const Index* second;
  std::uint64_t stride;
  const Value* values;
  const Value* weights;
  Value* result;
  bool is_force;

  void operator()() const {
    std::fill_n(result, nodes * Components, Value{0});
    for (std::uint64_t e = 0; e < edges; ++e) {
      const std::uint64_t i = first[e * stride];
      const std::uint64_t j = second[e * stride];
      Value step[Components];
      Value square = 0;
      for (std::uint32_t k = 0; k < Components; ++k) {
        step[k] = values[j * Components + k] - values[i * Components + k];
        square += step[k] * step[k];
      }
      Value factor = weights == nullptr ? Value{1} : weights[e];
      if (is_force) factor = square == 0 ? Value{0} : factor / (square * std::sqrt(square));
      for (std::uint32_t k = 0; k < Components; ++k) {
        result[i * Components + k] += factor * step[k];
        result[j * Components + k] -= factor * step[k];
      }
    }
  }
};

template <class Value, std::uint32_t Components>
plain_call loop_of(const problem_spec& problem, const array_set& arrays) {
  const edge_part& sum = problem.part<edge_part>();
  return with_index_type(problem.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    const auto* const ends = items_of<const Index>(arrays[places::index]);
    return edge_loop<Value, Index, Components>{
        .edges = problem.count,
        .nodes = primitives::nodes_of_graph(problem),
        .first = ends,
        .second = ends + (sum.is_packed ? 1 : problem.count),
        .stride = sum.is_packed ? 2U : 1U,
        .values = items_of<const Value>(arrays[places::source]),
        .weights = sum.has_weights ? items_of<const Value>(arrays[edge_places::weights]) : nullptr,
        .result = items_of<Value>(arrays[places::target]),
        .is_force = sum.function == edge_function::inverse_square};
  });
}

template <class Value>
plain_call loop_of(const problem_spec& p, const array_set& arrays) {
  return primitives::with_components(primitives::components_of_node(p),
                                     [&](auto n) { return loop_of<Value, decltype(n)::value>(p, arrays); });
}

plain_call plain_edge_sum(const context&, const problem_spec& p, const array_set& arrays) {
  return p.value == value_type::f64 ? loop_of<double>(p, arrays) : loop_of<float>(p, arrays);
}

// The job of edge_sum: boxes of tetrahedra whose nodes lie in the order of a pattern, and graphs whose ends are entries
// of one. The check compares sums over all nodes with sums over all edges, each with the factors of its nodes.
using primitives::components_of_node;
using primitives::nodes_of_graph;

edge_source source_of(const problem_spec& problem, std::uint64_t copy) {
  const edge_part& sum = problem.part<edge_part>();
  const std::uint64_t nodes = nodes_of_graph(problem);
  return {.order = pattern_of_copy(problem, copy),
          .nodes = nodes,
          .side = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::lround(std::cbrt(nodes)))),
          .is_mesh = is_distinct(problem.pattern),
          .type = problem.value,
          .index_bytes = bytes(problem.index),
          .edges = problem.count,
          .is_packed = sum.is_packed,
          .components = components_of_node(problem),
          .function = sum.function,
          .has_weights = sum.has_weights};
}

array_shapes shapes(const problem_spec& problem) {
  const edge_part& sum = problem.part<edge_part>();
  const std::uint64_t nodes = nodes_of_graph(problem);
  const std::string of_nodes =
      fmt::format("{} {} of {} {}", components_of_node(problem), primitives::name(problem.value), nodes,
                  primitives::text_of(sum.function, primitives::edge_functions));
  array_shapes all;
  all[places::source] = {nodes, problem.record_bytes, array_role::input, "nodes " + of_nodes};
  all[places::index] = {
      problem.count, 2 * bytes(problem.index), array_role::input,
      fmt::format("edges {} {} {} of {}{}", inputs::name(problem.pattern), primitives::name(problem.index),
                  problem.count, nodes, sum.is_packed ? " in pairs" : "")};
  all[places::target] = {nodes, problem.record_bytes, array_role::output};
  if (sum.has_weights) {
    all[edge_places::weights] = {problem.count, bytes(problem.value), array_role::input,
                                 fmt::format("weights {} of {}", primitives::name(problem.value), problem.count)};
  }
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) {
  const std::uint64_t edge_bytes = 2 * bytes(p.index) + (p.part<edge_part>().has_weights ? bytes(p.value) : 0);
  return p.count * edge_bytes + 2 * nodes_of_graph(p) * p.record_bytes;
}

/// About as many edges as the node has that has most.
std::uint64_t most_edges_of_a_node(const problem_spec& p) {
  if (is_distinct(p.pattern)) return 2 * (p.count / nodes_of_graph(p) + 14);
  if (p.pattern.kind == inputs::pattern_kind::uniform) return 16 * (p.count / nodes_of_graph(p) + 4);
  return p.count;
}

std::string unchecked(const problem_spec& problem) {
  if (problem.count > 0 && nodes_of_graph(problem) == 0) return "edges of no nodes";
  if (bytes(problem.index) == 4 && nodes_of_graph(problem) >> (problem.index == index_type::i32 ? 31 : 32) != 0) {
    return "ends are too narrow for the nodes";
  }
  constexpr std::uint64_t most_contribution = 4 * 3 * 14;  // in quarters
  const std::uint64_t most_exact = std::uint64_t{1} << (problem.value == value_type::f32 ? 24 : 53);
  const bool is_exact = problem.count == 0 || most_edges_of_a_node(problem) < most_exact / most_contribution;
  return is_exact ? "" : "sums are too large to be exact";
}

void fill_array(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place, records array) {
  const edge_source source = source_of(problem, copy);
  switch (place) {
    case places::source: over_items(ctx, source.nodes, fill_node_values{source, array.data}); break;
    case places::index: over_items(ctx, problem.count, fill_edges{source, array.data}); break;
    case edge_places::weights: over_items(ctx, problem.count, fill_edge_weights{source, array.data}); break;
    default: wipe(ctx, array);
  }
}

struct views {
  edge_view edges;
  const_values nodes;
  const_values weights;
  values result;

  views(const problem_spec& problem, const array_set& arrays) {
    const edge_part& sum = problem.part<edge_part>();
    const std::byte* const ends = arrays[places::index].data;
    const std::uint64_t second = bytes(problem.index) * (sum.is_packed ? 1 : problem.count);
    if (ends != nullptr) edges = edge_view(ends, ends + second, problem.count, sum.is_packed ? 2 : 1, problem.index);
    edges.type = problem.index;
    const std::uint64_t count = nodes_of_graph(problem) * components_of_node(problem);
    nodes = {arrays[places::source].data, count, problem.value};
    weights = {arrays[edge_places::weights].data, sum.has_weights ? problem.count : 0, problem.value};
    result = {arrays[places::target].data, count, problem.value};
  }
};

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const edge_part& sum = p.part<edge_part>();
  const views v(p, arrays);
  edge_sum(ctx, v.edges, v.nodes, v.weights, v.result, components_of_node(p), sum.function,
           {.pattern = p.access, .order = sum.order, .variant = settings.variant});
}

prepared_run prepare(const context& ctx, const problem_spec& problem, const array_set& arrays,
                     std::uint64_t expected_runs) {
  const edge_part& sum = problem.part<edge_part>();
  const views views(problem, arrays);
  // The nodes of a mesh have coordinates.
  const edge_source source = source_of(problem, 0);
  const std::uint64_t coordinates = source.is_mesh ? 3 * source.nodes : 0;
  const buffer at(ctx, std::max<std::uint64_t>(1, coordinates) * sizeof(float));
  if (coordinates > 0) over_items(ctx, source.nodes, fill_coordinates{source, at.as<float>()});
  const prepared_edge_sum prepared =
      prepare_edge_sum(ctx, views.edges, nodes_of_graph(problem), components_of_node(problem), expected_runs,
                       {.coordinates = {at.data(), coordinates, value_type::f32},
                        .value = problem.value,
                        .function = sum.function,
                        .edge_weights = sum.has_weights ? 1U : 0U,
                        .pattern = problem.access,
                        .order = sum.order});
  return {
      [prepared, views, function = sum.function] { prepared.run(views.nodes, views.weights, views.result, function); },
      preparation_of(prepared.report(), problem.access)};
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const edge_source source = source_of(p, 0);
  const tally found = over_items(ctx, source.nodes, checksum_nodes{source, arrays[places::target].data});
  const std::uint64_t expected = over_items(ctx, p.count, checksum_edges{source}).sum;
  return found.mismatches + (found.sum != expected ? 1 : 0);
}

constexpr sample samples[] = {{"edge_sum/identity/r12/u32+f32"},
                              {"edge_sum/permutation/r12/u32+f32"},
                              {"edge_sum/permutation/r12/u32+f32", true},
                              {"edge_sum/permutation/r12/u32+f32+inverse_square+weights"},
                              {"edge_sum/permutation/r40/i32+f64+weights+pairs"},
                              {"edge_sum/uniform/r8/u64+f64+unordered"}};

constexpr job edge_sum_job{.samples = samples,
                           .shapes = shapes,
                           .moved_bytes = moved_bytes,
                           .unchecked = unchecked,
                           .fill = fill_array,
                           .run = run,
                           .count_mistakes = mistakes,
                           .plain_loop = plain_edge_sum,
                           .prepare = prepare};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {
namespace {

constexpr entry edge_sum_entry{.name = "edge_sum",
                               .family = "edges",
                               .fields = taken,
                               .example = "--count 100000000 --nodes 14000000 --value-type f32 --components 3",
                               .write = write,
                               .read = read,
                               .text = text_of_sum,
                               .facts = facts,
                               .labels = labels,
                               .explain = explain,
                               .estimates = estimates_by<problem_of, edge_sum_variants>,
                               .has_variants = any_works_on<edge_sum_variants>,
                               .job = &jobs::edge_sum_job};

constexpr const entry* entries_of_family[] = {&edge_sum_entry};

// Rows: every layout by every order of the nodes.
struct edge_lists {
  std::vector<std::string> layouts{"r12/u32+f32", "r12/u32+f32+inverse_square+weights", "r40/u32+f64+weights"};
};

/// What is computed over edges, without their order and count: "r12/u32+f32".
problem_spec parse_layout(std::string_view text) {
  return parse_problem(fmt::format("edge_sum/identity/{}/n=0", text));
}

void add(const sweep& s, std::span<const entry* const>, std::vector<problem_spec>& problems) {
  for (const std::uint64_t count : s.counts) {
    for (const input_pattern& pattern : s.patterns) {
      for (const std::string& layout : s.lists.of<edge_lists>().layouts) {
        problem_spec p = parse_layout(layout);
        p.pattern = pattern;
        p.count = count;
        p.table.reset();
        add_if_checked(p, problems);
      }
    }
  }
}

// Boxes of tetrahedra of 10^6 to 10^7 edges, with nodes in order and at random, and a graph at random.
constexpr named_sweep sets[] = {{"edges", "--patterns identity,permutation,uniform --sizes 1000000,10000000"}};

constexpr list_option lists[] = {
    {"--edge-layouts",
     "of sums over edges: r12/u32+f32 (3 components of f32), r40/u32+f64+inverse_square+weights+pairs",
     [](sweep& s, option_texts texts) { s.lists.of<edge_lists>().layouts = checked_list(texts, parse_layout); }},
};

}  // namespace

extern const family edge_family{"edges", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
