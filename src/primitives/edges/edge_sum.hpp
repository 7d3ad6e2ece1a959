#pragma once

#include <sheaf/edge_sum.hpp>

#include "plan/correction.hpp"

namespace sheaf::primitives {

/// What plans know of a sum over edges: sizes and types, never data. There is a node or an edge.
struct edge_sum_problem {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t edges = 0;
  std::uint64_t nodes = 0;
  std::uint32_t value_components = 1;   ///< of a node's value
  std::uint32_t components = 1;         ///< of a contribution, and of a node's result
  std::uint32_t weight_components = 0;  ///< of an edge's weights; 0: there are none
  value_type value = value_type::f64;
  index_type index = index_type::u32;
  std::uint64_t stride = 1;
  edge_function function = edge_function::weighted_difference;
  bool has_own_function = false;  ///< the caller's function contributes, not `function`
  reduction_order order = reduction_order::deterministic;
  access_pattern pattern;  ///< of the ends, along the edges

  std::uint64_t value_bytes() const noexcept { return bytes(value); }
  /// Bytes of one node's value, and of its result.
  std::uint64_t node_bytes() const noexcept { return value_components * value_bytes(); }
  std::uint64_t result_bytes() const noexcept { return components * value_bytes(); }
  std::uint64_t edge_bytes() const noexcept { return 2 * bytes(index) + weight_components * value_bytes(); }
  /// The least number that is not a node, to be compared with an end's bits as an unsigned number of its width:
  /// negative ends lie above it.
  std::uint64_t end_limit() const noexcept;

  friend bool operator==(const edge_sum_problem&, const edge_sum_problem&) = default;
};

/// The call that reads the ends.
enum class edge_call : std::uint8_t { edge_sum, prepare_edge_sum };

/// How an end that is not a node is reported: that of edge `position`, its end `row`.
const core::index_wording& end_wording(edge_call call) noexcept;
/// The report of the first bad end of an edge that has one. One edge is read.
core::index_report bad_end_of(const edge_sum_problem& problem, const edge_view& edges, std::uint64_t edge, edge_call by,
                              std::uint64_t call) noexcept;

/// Views of a checked call.
struct edge_sum_buffers {
  edge_view edges;
  const void* values = nullptr;   ///< of the nodes
  const void* weights = nullptr;  ///< null where there are none
  void* result = nullptr;
  const detail::host_edge_function* on_host = nullptr;  ///< the caller's function on the CPU, if it is given
  const detail::device_edge_function* on_device = nullptr;
};

/// run() reports bad ends in the wording of edge_call::edge_sum.
using edge_sum_variant = plan::variant<edge_sum_problem, edge_sum_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const edge_sum_variant> edge_sum_variants();

constexpr std::string_view edge_sum_call = "edge_sum";

/// Throws bad_argument, naming the call, unless the edges' type, stride and number are what they can be. Data may be
/// null.
void require_edge_shape(std::string_view call, const edge_view& edges, std::uint64_t nodes);
/// The ends are aligned and in ctx's memory.
void require_edge_memory(std::string_view call, const context& ctx, const edge_view& edges);
/// Values, weights and result fit the edges, the types and the components of `problem`, whose number of nodes is set.
void require_edge_values(std::string_view call, const edge_sum_problem& problem, const_values node_values,
                         const_values weights, const_values result);
/// They are in ctx's memory, and the result overlaps nothing.
void require_edge_views(std::string_view call, const context& ctx, const edge_view& edges, const_values node_values,
                        const_values weights, const_values result);
/// Components are 1 to 8.
void require_components(std::string_view call, std::string_view what, std::uint32_t components);
/// Throws unless a function on a device fits the context and the type of the nodes' values.
void require_device_function(std::string_view call, const context& ctx, const detail::device_edge_shape& shape,
                             value_type type);
/// How many weights each of `edges` edges has. @throws error(bad_argument) unless it is 0 to 8
std::uint32_t weights_of_an_edge(std::string_view call, std::uint64_t edges, const_values weights);

}  // namespace sheaf::primitives
