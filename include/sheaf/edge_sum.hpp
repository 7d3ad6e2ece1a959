#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/values.hpp>

// Sums over the edges of a graph or mesh (Ujaldon and Saltz 2005, section 4.2).
namespace sheaf {

namespace primitives {
class prepared_edges;
}
class prepared_edge_sum;
enum class edge_function : std::uint8_t;
struct opengl_buffer;
/// Declared with its contract in sheaf/interop/opengl.hpp.
SHEAF_API void opengl_run(const prepared_edge_sum& prepared, const opengl_buffer& node_values,
                          const opengl_buffer& weights, const opengl_buffer& result, edge_function function);

/// Most components of a node's value and of a contribution, and most weights of an edge.
inline constexpr std::uint32_t most_edge_components = 8;

/// A view of the edges of a graph in the caller's arrays; it owns nothing. Edge e goes from node first[e * stride] to
/// node second[e * stride]. Nodes are counted from 0, and the arrays are aligned to their type. Edges may have any
/// order, repeat, and be loops.
struct edge_view {
  const void* first = nullptr;   ///< the first end of edge 0
  const void* second = nullptr;  ///< the second end of edge 0
  std::uint64_t count = 0;
  std::uint64_t stride = 1;  ///< entries from an end to that of the next edge: 1, or 2 where both ends lie side by side
  index_type type = index_type::u32;

  constexpr edge_view() = default;
  constexpr edge_view(const void* first_ends, const void* second_ends, std::uint64_t edge_count,
                      std::uint64_t stride_entries, index_type t)
      : first(first_ends), second(second_ends), count(edge_count), stride(stride_entries), type(t) {}
  /// Ends in two arrays. @throws error(bad_argument) unless both have one length and one type
  SHEAF_API edge_view(index_span first_ends, index_span second_ends);
  /// Ends side by side: those of edge e are pairs[2 e] and pairs[2 e + 1]. @throws error(bad_argument) if their number
  /// is odd
  SHEAF_API explicit edge_view(index_span pairs);
};

/// What an edge (i, j) of weight w contributes, where u is the value of a node. Without weights w is 1.
enum class edge_function : std::uint8_t {
  /// w (u_j - u_i), component by component. The result is minus the graph's Laplacian times u.
  weighted_difference,
  /// w (u_j - u_i) / |u_j - u_i|^3, where u is the position of a node; the force of the paper has 3 components. The
  /// contribution is 0 where the square of the distance is 0 in the type of the values, as between nodes at one place.
  inverse_square,
};

struct edge_sum_options {
  access_pattern pattern = access_pattern::unknown();  ///< of the ends, along the edges
  /// unordered lets a variant add in any order, as with atomics on CUDA, so that the last bits differ from run to run.
  reduction_order order = reduction_order::deterministic;
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.owner"; empty: the planner's choice
};

/// Sums over edges: result[i] is the sum of the contributions of all edges from node i, minus that of all edges to node
/// i. Nodes without edges get 0, and an edge from a node to itself adds its contribution and subtracts it.
/// @param node_values  f32 or f64; the components of a node lie side by side.
/// @param weights      one for each edge, of the same type, or none, which counts as 1 each.
/// @param result       as many values of the same type as node_values; overwritten. It may not overlap an input.
/// @param components   of a node's value, 1 to 8. The number of values divided by it is the number of nodes.
/// A bad end, which names no node, surfaces at ctx.wait() as error(bad_index): that of the lowest edge, and its end 0
/// before its end 1. An edge with a bad end counts as absent. NaN and infinity propagate as IEEE 754 says.
/// @throws error(bad_argument) if counts or types disagree, an array is not aligned to its type, result overlaps an
/// input, or an array is not in ctx's memory; error(no_variant) on OpenGL unless values are f32; and what every call
/// may throw (see context).
/// With reduction_order::deterministic the sum has the same bits in every run of one variant on one device; on the CPU
/// they are those of a loop over the edges in their order. OpenGL may take numbers below 2^-126 for zero; a sum of n
/// contributions errs there by up to (n + 32) 2^-23 times the sum of their magnitudes (4.6e-7 of the largest force
/// along the edges of a mesh was measured).
/// The call is queued on ctx: on CUDA it returns before its work is done, on other backends after. Source: Ujaldon and
/// Saltz 2005, section 4.2.
SHEAF_API void edge_sum(const context& ctx, const edge_view& edges, const_values node_values, const_values weights,
                        values result, std::uint32_t components, edge_function function,
                        const edge_sum_options& options = {});

/// What edge_sum would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_edge_sum(const context& ctx, const edge_view& edges, const_values node_values,
                                       const_values weights, values result, std::uint32_t components,
                                       edge_function function, const edge_sum_options& options = {});

/// A function f(first, second, weights, contribution) of the values of both ends of an edge and of its weights. It
/// writes every component of the contribution, and may not keep the pointers. Functions on devices have the same form.
template <class F, class T>
concept edge_contribution = (std::is_same_v<T, float> ||
                             std::is_same_v<T, double>)&&requires(const F& f, const T* first, const T* second,
                                                                  const T* weights, T* contribution) {
  f(first, second, weights, contribution);
};

namespace detail {  // defined below

struct host_edge_function;
struct device_edge_function;
struct device_edge_shape;
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
host_edge_function host_function(const F& function);
SHEAF_API void edge_sum_by(const context& ctx, const edge_view& edges, const_values node_values, const_values weights,
                           values result, const host_edge_function& function, const edge_sum_options& options);
SHEAF_API void edge_sum_by(const prepared_edge_sum& prepared, const_values node_values, const_values weights,
                           values result, const device_edge_function& function, const device_edge_shape& shape);

}  // namespace detail

/// edge_sum by the caller's function, on the CPU. Several threads may call `function` at once, and it is called once or
/// twice for each edge. An exception of `function` reaches the caller once all threads have ended, and result is then
/// undefined. For functions on a device see sheaf/cuda/edge_sum.cuh.
/// @tparam ValueComponents  of a node's value, 1 to 8.
/// @tparam Components       of a contribution and of a node's result, 1 to 8.
/// @param node_values       std::vector, std::array or std::span of float or double.
/// @param weights           0 to 8 for each edge, those of an edge side by side; if there are none, `function` gets a
///                          null pointer.
/// @throws error(bad_argument) as above, and for a context that is not a CPU context.
template <std::uint32_t ValueComponents, std::uint32_t Components, std::ranges::range Nodes, std::ranges::range Weights,
          std::ranges::range Result, class F>
void edge_sum(const context& ctx, const edge_view& edges, const Nodes& node_values, const Weights& weights,
              Result&& result, const F& function, const edge_sum_options& options = {}) {
  using T = std::ranges::range_value_t<Nodes>;
  constexpr bool has_values = value_range<Nodes> && std::is_floating_point_v<T>;
  constexpr bool has_weights = value_range<Weights> && std::is_same_v<T, std::ranges::range_value_t<Weights>>;
  constexpr bool has_result = value_range<Result> && record_output_range<Result>;
  constexpr bool has_function = edge_contribution<F, T>;
  static_assert(has_values, "edge_sum: node_values is not a vector, array or span of float or double");
  static_assert(has_weights, "edge_sum: weights is not a vector, array or span of the values' type");
  static_assert(has_result, "edge_sum: result is not a vector, array or span of numbers that may be written");
  static_assert(has_function, "edge_sum: f does not take (first, second, weights, contribution), pointers to values");
  if constexpr (has_values && has_weights && has_result && has_function) {
    detail::edge_sum_by(ctx, edges, node_values, weights, values(result),
                        detail::host_function<T, ValueComponents, Components>(function), options);
  }
}

/// What a preparation found, took and saves.
struct edge_sum_preparation : preparation_report {
  /// The variant that run() executes: unprepared_variant if preparation_report::variant is "kept", else the variant of
  /// the preparation. Edges that do not suit tiles are the exception: "cuda.tiles" then runs as "cuda.by_node".
  std::string run_variant;
  std::string unprepared_variant;  ///< the edge_sum variant of a call without preparation
};

struct prepare_edge_sum_options {
  /// Positions of the nodes, 2 or 3 coordinates each, f32 or f64, by which nodes near each other are kept together.
  /// Without positions, nearness comes from the edges, by a breadth-first order that one thread of the host computes;
  /// on CUDA it comes from the node numbers if `pattern` is sequential or clustered.
  const_values coordinates = {};
  /// What runs are expected to have, for planning and timing only: the type of values, f32 or f64, the built-in
  /// function, and the number of weights of an edge, 0 to 8.
  value_type value = value_type::f64;
  edge_function function = edge_function::weighted_difference;
  std::uint32_t edge_weights = 0;
  access_pattern pattern = access_pattern::unknown();  ///< of the ends, along the edges
  reduction_order order = reduction_order::deterministic;
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.tiles"; empty: the planner's choice
};

/// Sums over edges that prepare_edge_sum inspected. It is a handle: copies share what was prepared. One thread at a
/// time uses it, as it does its context. The arrays of ends must exist and stay as they are until the last copy is
/// destroyed: runs of the variant "kept" read them.
class SHEAF_API prepared_edge_sum {
 public:
  prepared_edge_sum(const context& ctx, std::shared_ptr<primitives::prepared_edges> work, edge_sum_preparation report);

  /// edge_sum over the prepared edges. Nodes and weights lie in the caller's order.
  /// @param node_values  f32 or f64, with as many components for each node as prepared for. Weights and result are
  ///                     those of edge_sum.
  /// @throws error(bad_argument) as edge_sum does, or if this object was moved from; error(no_variant) on OpenGL unless
  /// values are f32; error(out_of_memory) if the scratch of a run does not fit.
  /// The bits are the same in every run and for every number of threads, unless the order of the preparation was
  /// unordered. The call is queued on the context of the preparation, as edge_sum is.
  void run(const_values node_values, const_values weights, values result, edge_function function) const;

  /// Likewise by the caller's function, on the CPU; see edge_sum. The components of nodes and contributions need not be
  /// those prepared for.
  template <std::uint32_t ValueComponents, std::uint32_t Components, value_range Nodes, value_range Weights,
            class Result, class F>
  requires value_range<Result> && record_output_range<Result> && edge_contribution<F, std::ranges::range_value_t<Nodes>>
  void run(const Nodes& node_values, const Weights& weights, Result&& result, const F& f) const {
    using T = std::ranges::range_value_t<Nodes>;
    static_assert(std::is_same_v<T, std::ranges::range_value_t<Weights>>, "weights have the type of the values");
    run_by(node_values, weights, values(result), detail::host_function<T, ValueComponents, Components>(f));
  }

  const edge_sum_preparation& report() const noexcept { return report_; }

 private:
  void run_by(const_values node_values, const_values weights, values result,
              const detail::host_edge_function& function) const;
  friend void detail::edge_sum_by(const prepared_edge_sum& prepared, const_values node_values, const_values weights,
                                  values result, const detail::device_edge_function& function,
                                  const detail::device_edge_shape& shape);
  friend void opengl_run(const prepared_edge_sum& prepared, const opengl_buffer& node_values,
                         const opengl_buffer& weights, const opengl_buffer& result, edge_function function);

  context ctx_;
  std::shared_ptr<primitives::prepared_edges> work_;
  edge_sum_preparation report_;
};

/// Inspects the edges of a graph for many sums over them.
/// @param edges          their arrays must outlive the prepared_edge_sum that is returned, and its copies.
/// @param nodes          number of nodes; every end is below it.
/// @param components     of a node's value and result, 1 to 8; runs by a caller's function may have others.
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// Coordinates decide speed alone; those that are NaN or infinite are accepted. If 16 runs or more are
/// expected and the planner chose another preparation than "kept", runs of it are timed against unprepared calls, on
/// arrays allocated for that and by the function that the options name; the faster is used. Runs are timed only if no
/// variant is forced, and if these arrays fit into an eighth of memory and into the scratch limit.
/// @throws error(bad_argument) as edge_sum does; error(bad_index) for a bad end, if the preparation reads the ends
/// (with the variant "kept", the runs read them); and what ctx.wait() throws for earlier calls.
/// When the call returns, the preparation is done, and with it all work queued on ctx before.
SHEAF_API prepared_edge_sum prepare_edge_sum(const context& ctx, const edge_view& edges, std::uint64_t nodes,
                                             std::uint32_t components, std::uint64_t expected_runs,
                                             const prepare_edge_sum_options& options = {});

/// What prepare_edge_sum would plan for edges of this shape. Ends and coordinates are not read and may be null. Seconds
/// are those of the preparation and of all expected runs. A preparation whose form then does not suit the edges, or
/// whose runs are found slower than edge_sum, is replaced, as prepared_edge_sum::report() says.
SHEAF_API explanation explain_prepare_edge_sum(const context& ctx, const edge_view& edges, std::uint64_t nodes,
                                               std::uint32_t components, std::uint64_t expected_runs,
                                               const prepare_edge_sum_options& options = {});

// How the library calls the caller's function, whose type it does not know: without the type, through a pointer to a
// loop over edges that the caller's compiler has made. Programs call nothing below.
namespace detail {

/// Edges in the order in which they are added.
struct host_edge_list {
  std::uint64_t count = 0;
  const void* first = nullptr;  ///< their first ends: places of node values and sums
  const void* second = nullptr;
  std::uint64_t stride = 1;                    ///< entries from an end to that of the next edge
  std::uint32_t end_bytes = 4;                 ///< bytes of an end, an unsigned number: 2, 4 or 8
  const void* weights = nullptr;               ///< weights of edge 0, or null
  std::uint64_t edge_weights = 0;              ///< number of weights of an edge
  const std::uint32_t* weight_edge = nullptr;  ///< edge e uses the weights of edge weight_edge[e]; null: its own
};

/// The nodes whose sums are made: those from `begin` on, `count` of them.
struct host_node_range {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// A function on host memory whose type the library does not know.
struct host_edge_function {
  const void* function = nullptr;
  std::uint32_t value_components = 1;  ///< of a node's value
  std::uint32_t components = 1;        ///< of a contribution
  /// Adds the contributions of the edges to the sums of their first ends and subtracts them from those of their second
  /// ends. `values` begins with node 0, `sums` with node own.begin. Ends that are not among `own` are skipped. With
  /// owns_all, and for ends of 2 bytes, `own` is not looked at: `sums` begins with node 0, too, and no end is skipped.
  void (*sum)(const void* f, const host_edge_list& edges, const void* values, void* sums, host_node_range own,
              bool owns_all) = nullptr;
};

/// sum() for ends of one type. Components is the number of components of a contribution as a constant; if it is 0,
/// there are number_of_components.
// Whether an end is a thread's own is as unpredictable as the order of the nodes, so there is no branch: the other
// ends' sums are added up and never read. There are several such sums, so that one addition need not wait for the one
// before.
template <class T, std::uint32_t Components, class End, bool OwnsAll, class F>
void sum_edges(const F& function, const host_edge_list& edges, const T* values, std::uint32_t value_components, T* sums,
               host_node_range own, std::uint32_t number_of_components) {
  const std::uint32_t components = Components == 0 ? number_of_components : Components;
  const End* const first = static_cast<const End*>(edges.first);
  const End* const second = static_cast<const End*>(edges.second);
  const T* const weights = static_cast<const T*>(edges.weights);
  constexpr std::uint64_t unread_sums = OwnsAll ? 1 : 16;
  T unread[unread_sums][most_edge_components] = {};
  const auto sum_of = [&](std::uint64_t node, T* nowhere) {
    if constexpr (OwnsAll) return sums + node * components;
    return node - own.begin < own.count ? sums + (node - own.begin) * components : nowhere;
  };
  for (std::uint64_t e = 0; e < edges.count; ++e) {
    const std::uint64_t i = first[e * edges.stride];
    const std::uint64_t j = second[e * edges.stride];
    const std::uint64_t at = edges.weight_edge == nullptr ? e : edges.weight_edge[e];
    T contribution[most_edge_components];
    function(values + i * value_components, values + j * value_components,
             weights == nullptr ? weights : weights + at * edges.edge_weights, contribution);
    T* const nowhere = unread[e % unread_sums];
    T* const to_first = sum_of(i, nowhere);
    for (std::uint32_t k = 0; k < components; ++k) to_first[k] += contribution[k];
    T* const to_second = sum_of(j, nowhere);
    for (std::uint32_t k = 0; k < components; ++k) to_second[k] -= contribution[k];
  }
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
void sum_edges_by(const F& function, const host_edge_list& edges, const void* values, void* sums, host_node_range own,
                  bool owns_all, std::uint32_t components) {
  const T* const value = static_cast<const T*>(values);
  T* const sum = static_cast<T*>(sums);
  // 0: as many as a contribution has.
  const std::uint32_t value_components = ValueComponents == 0 ? components : ValueComponents;
  if (edges.end_bytes == 2) {  // places in a tile, whose sums are all the thread's own
    sum_edges<T, Components, std::uint16_t, true>(function, edges, value, value_components, sum, own, components);
  } else if (edges.end_bytes == 4 && owns_all) {
    sum_edges<T, Components, std::uint32_t, true>(function, edges, value, value_components, sum, own, components);
  } else if (edges.end_bytes == 4) {
    sum_edges<T, Components, std::uint32_t, false>(function, edges, value, value_components, sum, own, components);
  } else if (owns_all) {
    sum_edges<T, Components, std::uint64_t, true>(function, edges, value, value_components, sum, own, components);
  } else {
    sum_edges<T, Components, std::uint64_t, false>(function, edges, value, value_components, sum, own, components);
  }
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
host_edge_function host_function(const F& f) {
  static_assert(ValueComponents >= 1 && ValueComponents <= most_edge_components);
  static_assert(Components >= 1 && Components <= most_edge_components);
  host_edge_function erased;
  erased.function = without_type(f);
  erased.value_components = ValueComponents;
  erased.components = Components;
  erased.sum = [](const void* function, const host_edge_list& edges, const void* values, void* sums,
                  host_node_range own, bool owns_all) {
    sum_edges_by<T, ValueComponents, Components>(with_type<F>(function), edges, values, sums, own, owns_all,
                                                 Components);
  };
  return erased;
}

/// What a function on a device takes and returns.
struct device_edge_shape {
  std::uint32_t value_bytes = 4;       ///< of a component
  std::uint32_t value_components = 1;  ///< of a node's value
  std::uint32_t components = 1;        ///< of a contribution
};

/// edge_sum by the caller's function, whose kernels the caller has compiled, on the memory of a CUDA context.
SHEAF_API void edge_sum_by(const context& ctx, const edge_view& edges, const_values node_values, const_values weights,
                           values result, const device_edge_function& function, const device_edge_shape& shape,
                           const edge_sum_options& options);

}  // namespace detail
}  // namespace sheaf
