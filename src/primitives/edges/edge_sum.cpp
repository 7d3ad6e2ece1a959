#include "primitives/edges/edge_sum.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf {
namespace primitives {

std::span<const edge_sum_variant> edge_sum_variants() { return list_of<edge_sum_variant>(); }

std::uint64_t edge_sum_problem::end_limit() const noexcept { return namable(index, nodes); }

namespace {

constexpr std::uint64_t most_numbers = std::uint64_t{1} << 56;

std::string bad_end(const core::index_wording& wording, const core::index_report& report) {
  const bool is_negative = report.is_signed != 0 && static_cast<std::int64_t>(report.value) < 0;
  const std::string shown =
      report.is_signed != 0 ? fmt::to_string(static_cast<std::int64_t>(report.value)) : fmt::to_string(report.value);
  return fmt::format("{}: end {} of edge {} is {}, {} the {} nodes", wording.call, report.row, report.position, shown,
                     is_negative ? "outside" : "past", report.limit);
}

constexpr core::index_wording wording_of_ends[2] = {{"edge_sum", "", "", "", bad_end},
                                                    {"prepare_edge_sum", "", "", "", bad_end}};

/// Bytes from the first end 0 of an edge to the last, the end behind it included.
std::uint64_t extent_of_ends(const edge_view& edges) {
  return edges.count == 0 ? 0 : ((edges.count - 1) * edges.stride + 1) * bytes(edges.type);
}

std::uint64_t bytes_of(const_values v) { return v.count * bytes(v.type); }

void require_float(std::string_view call, std::string_view what, const_values values) {
  require_type(call, what, values.type, value_type::f64);
  if (values.type != value_type::f32 && values.type != value_type::f64) {
    refuse("{}: {} has values of type {}, not f32 or f64", call, what, name(values.type));
  }
  if (values.count > most_numbers) refuse("{}: {} has {} values, more than memory can hold", call, what, values.count);
}

void require_type_of_nodes(std::string_view call, std::string_view what, const_values v, value_type type) {
  require_float(call, what, v);
  if (v.type != type) {
    refuse("{}: {} has values of type {}, but the nodes have {}", call, what, name(v.type), name(type));
  }
}

void require_apart(std::string_view call, const_values result, const void* other, std::uint64_t other_bytes,
                   std::string_view what) {
  require_no_overlap(call, result.data, bytes_of(result), "the result", other, other_bytes, what);
}

/// The number of nodes that so many values are.
std::uint64_t nodes_of(std::string_view call, const_values node_values, std::uint32_t components) {
  require_float(call, "node_values", node_values);
  if (node_values.count % components != 0) {
    refuse("{}: node_values has {} values, not a multiple of {} components", call, node_values.count, components);
  }
  return node_values.count / components;
}

/// The views of a call.
struct edge_views {
  const edge_view& edges;
  const_values node_values;
  const_values weights;
  values result;
};

/// A sum of the shapes of these views, which are checked.
edge_sum_problem describe(const context& ctx, const edge_views& views, std::uint32_t value_components,
                          std::uint32_t components, const edge_sum_options& options) {
  require_components(edge_sum_call, "a node", value_components);
  require_components(edge_sum_call, "a contribution", components);
  require_enumerator(edge_sum_call, "the order", options.order, reduction_order::unordered);
  edge_sum_problem problem;
  problem.backend = ctx.backend();
  problem.edges = views.edges.count;
  problem.nodes = nodes_of(edge_sum_call, views.node_values, value_components);
  problem.value_components = value_components;
  problem.components = components;
  require_edge_shape(edge_sum_call, views.edges, problem.nodes);
  problem.value = views.node_values.type;
  problem.index = views.edges.type;
  problem.stride = views.edges.stride;
  problem.order = options.order;
  problem.pattern = options.pattern;
  problem.weight_components = weights_of_an_edge(edge_sum_call, views.edges.count, views.weights);
  require_edge_values(edge_sum_call, problem, views.node_values, views.weights, views.result);
  return problem;
}

edge_sum_problem describe_built_in(const context& ctx, const edge_views& views, std::uint32_t components,
                                   edge_function function, const edge_sum_options& options) {
  require_enumerator(edge_sum_call, "the function", function, edge_function::inverse_square);
  if (views.weights.count != 0 && views.weights.count != views.edges.count) {
    refuse("{}: weights has {} values for {} edges", edge_sum_call, views.weights.count, views.edges.count);
  }
  edge_sum_problem p = describe(ctx, views, components, components, options);
  p.function = function;
  return p;
}

/// @param buffers  has the caller's function, if there is one
void run(const context& ctx, const edge_sum_problem& problem, const edge_views& views, edge_sum_buffers buffers,
         const edge_sum_options& options) {
  require_edge_memory(edge_sum_call, ctx, views.edges);
  require_edge_views(edge_sum_call, ctx, views.edges, views.node_values, views.weights, views.result);
  if (problem.nodes == 0 && problem.edges == 0) return;
  buffers.edges = views.edges;
  buffers.values = views.node_values.data;
  if (problem.weight_components > 0) buffers.weights = views.weights.data;
  buffers.result = views.result.data;
  plan::execute(edge_sum_call, edge_sum_variants(), problem, ctx, options.variant, buffers);
}

}  // namespace

const core::index_wording& end_wording(edge_call call) noexcept { return wording_of_ends[static_cast<int>(call)]; }

core::index_report bad_end_of(const edge_sum_problem& problem, const edge_view& edges, std::uint64_t edge, edge_call by,
                              std::uint64_t call) noexcept {
  core::index_report report{.call = call, .position = edge, .limit = problem.nodes, .wording = &end_wording(by)};
  report.is_signed = is_signed(problem.index) ? 1 : 0;
  report.value = bits_at({edges.first, 0, problem.index}, edge * edges.stride);
  if (report.value < problem.nodes) {
    report.row = 1;
    report.value = bits_at({edges.second, 0, problem.index}, edge * edges.stride);
  }
  return report;
}

void require_components(std::string_view call, std::string_view what, std::uint32_t components) {
  if (components < 1 || components > most_edge_components) {
    refuse("{}: {} components of {}, not 1 to {}", call, components, what, most_edge_components);
  }
}

void require_edge_shape(std::string_view call, const edge_view& edges, std::uint64_t nodes) {
  require_index_type(call, edges.type, "the ends");
  if (edges.stride < 1 || edges.stride > 2) refuse("{}: the stride of the ends is {}, not 1 or 2", call, edges.stride);
  if (edges.count > most_numbers) refuse("{}: {} edges are more than memory can hold", call, edges.count);
  if (nodes > most_numbers) refuse("{}: {} nodes are more than memory can hold", call, nodes);
}

void require_edge_memory(std::string_view call, const context& ctx, const edge_view& edges) {
  const std::uint64_t extent = extent_of_ends(edges);
  require_memory(call, ctx, edges.first, extent, "the array of first ends");
  require_aligned(call, edges.first, bytes(edges.type), "the array of first ends");
  require_memory(call, ctx, edges.second, extent, "the array of second ends");
  require_aligned(call, edges.second, bytes(edges.type), "the array of second ends");
}

void require_device_function(std::string_view call, const context& ctx, const detail::device_edge_shape& shape,
                             value_type type) {
  if (ctx.backend() != backend_kind::cuda) {
    refuse("{}: a device function of the caller's runs on a CUDA context, not on {}", call, name(ctx.backend()));
  }
  require_enumerator(call, "the type of node_values", type, value_type::f64);
  const value_type taken = shape.value_bytes == 8 ? value_type::f64 : value_type::f32;
  if (type != taken) {
    refuse("{}: node_values has values of type {}, but the function takes {}", call, name(type), name(taken));
  }
}

std::uint32_t weights_of_an_edge(std::string_view call, std::uint64_t edges, const_values weights) {
  if (weights.count == 0) return 0;
  if (edges == 0 || weights.count % edges != 0 || weights.count / edges > most_edge_components) {
    refuse("{}: weights has {} values for {} edges, not 0 to {} for each", call, weights.count, edges,
           most_edge_components);
  }
  return static_cast<std::uint32_t>(weights.count / edges);
}

void require_edge_values(std::string_view call, const edge_sum_problem& problem, const_values node_values,
                         const_values weights, const_values result) {
  require_float(call, "node_values", node_values);
  if (weights.count > 0) require_type_of_nodes(call, "weights", weights, problem.value);
  require_type_of_nodes(call, "the result", result, problem.value);
  if (node_values.count != problem.nodes * problem.value_components) {
    refuse("{}: node_values has {} values for {} nodes of {} components", call, node_values.count, problem.nodes,
           problem.value_components);
  }
  if (result.count != problem.nodes * problem.components) {
    refuse("{}: the result has {} values for {} nodes of {} components", call, result.count, problem.nodes,
           problem.components);
  }
}

void require_edge_views(std::string_view call, const context& ctx, const edge_view& edges, const_values node_values,
                        const_values weights, const_values result) {
  const auto require = [&](const_values v, std::string_view what) {
    require_memory(call, ctx, v.data, bytes_of(v), what);
    require_aligned(call, v.data, bytes(v.type), what);
  };
  require(node_values, "node_values");
  require(weights, "weights");
  require(result, "the result");
  require_apart(call, result, node_values.data, bytes_of(node_values), "node_values");
  require_apart(call, result, weights.data, bytes_of(weights), "weights");
  require_apart(call, result, edges.first, extent_of_ends(edges), "the array of first ends");
  require_apart(call, result, edges.second, extent_of_ends(edges), "the array of second ends");
}

}  // namespace primitives

using namespace primitives;

edge_view::edge_view(index_span first_ends, index_span second_ends)
    : first(first_ends.data), second(second_ends.data), count(first_ends.count), type(first_ends.type) {
  if (first_ends.count != second_ends.count) {
    refuse("edge_view: {} first ends but {} second ends", first_ends.count, second_ends.count);
  }
  if (first_ends.type != second_ends.type) refuse("edge_view: first and second ends are of different types");
}

edge_view::edge_view(index_span pairs) : first(pairs.data), count(pairs.count / 2), stride(2), type(pairs.type) {
  if (pairs.count % 2 != 0) refuse("edge_view: {} ends are not two for each edge", pairs.count);
  require_index_type("edge_view", pairs.type, "the ends");
  if (pairs.data != nullptr) second = static_cast<const std::byte*>(pairs.data) + bytes(pairs.type);
}

void edge_sum(const context& ctx, const edge_view& edges, const_values node_values, const_values weights, values result,
              std::uint32_t components, edge_function function, const edge_sum_options& options) {
  const edge_views v{edges, node_values, weights, result};
  run(ctx, describe_built_in(ctx, v, components, function, options), v, {}, options);
}

explanation explain_edge_sum(const context& ctx, const edge_view& edges, const_values node_values, const_values weights,
                             values result, std::uint32_t components, edge_function function,
                             const edge_sum_options& options) {
  const edge_sum_problem p =
      describe_built_in(ctx, {edges, node_values, weights, result}, components, function, options);
  return plan::explain(edge_sum_call, edge_sum_variants(), p, ctx, options.variant);
}

void detail::edge_sum_by(const context& ctx, const edge_view& edges, const_values node_values, const_values weights,
                         values result, const host_edge_function& function, const edge_sum_options& options) {
  if (ctx.backend() != backend_kind::cpu) {
    refuse("{}: a function of the caller's runs on a CPU context, not on {}", edge_sum_call, name(ctx.backend()));
  }
  const edge_views v{edges, node_values, weights, result};
  edge_sum_problem p = describe(ctx, v, function.value_components, function.components, options);
  p.has_own_function = true;
  run(ctx, p, v, {.edges = {}, .on_host = &function}, options);
}

void detail::edge_sum_by(const context& ctx, const edge_view& edges, const_values node_values, const_values weights,
                         values result, const device_edge_function& function, const device_edge_shape& shape,
                         const edge_sum_options& options) {
  require_device_function(edge_sum_call, ctx, shape, node_values.type);
  const edge_views v{edges, node_values, weights, result};
  edge_sum_problem p = describe(ctx, v, shape.value_components, shape.components, options);
  p.has_own_function = true;
  run(ctx, p, v, {.edges = {}, .on_device = &function}, options);
}

}  // namespace sheaf
