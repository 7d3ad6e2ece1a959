#include <nanobind/nanobind.h>

#include <sheaf/edge_sum.hpp>

#include "calls.hpp"
#include "documents_of_graphs.hpp"
#include "errors.hpp"
#include "reports.hpp"

// edge_sum and prepare_edge_sum.
namespace sheaf::python {
namespace {

using nb::arg;

/// The ends of edges: an array of pairs, or two arrays.
struct edge_arrays {
  array first;
  std::optional<array> second;
  edge_view view;
};

edge_arrays edges_of(call& c, nb::handle edges) {
  if (nb::isinstance<nb::tuple>(edges)) {
    if (nb::len(edges) != 2)
      refuse("{}: edges is a tuple of {} arrays, not of first and second ends", c.name, nb::len(edges));
    edge_arrays taken{c.in(nb::object(edges[0]), "edges[0]"), {}, {}};
    taken.second.emplace(c.in(nb::object(edges[1]), "edges[1]"));
    taken.view = edge_view(taken.first.as_index(), taken.second->as_index());
    return taken;
  }
  edge_arrays taken{c.in(edges, "edges"), {}, {}};
  if (taken.first.dimensions != 2 || taken.first.shape[1] != 2) {
    refuse("{}: edges is not an array of shape (m, 2); of an array of shape (2, m) pass tuple(edges)", c.name);
  }
  taken.view = edge_view(taken.first.as_index(true));
  return taken;
}

std::uint32_t components_of(const call& c, const array& node_values) {
  if (node_values.dimensions > 2) {
    refuse("{}: values has {} dimensions, not (nodes,) or (nodes, components)", c.name, node_values.dimensions);
  }
  const std::int64_t components = node_values.dimensions == 2 ? node_values.shape[1] : 1;
  if (components < 1 || components > most_edge_components) {
    refuse("{}: values has {} components, not 1 to {}", c.name, components, most_edge_components);
  }
  return static_cast<std::uint32_t>(components);
}

edge_function function_of(const call& c, nb::handle function) {
  return choice_of(function, {"difference", "inverse_square"}, c.name, "function") == 1
             ? edge_function::inverse_square
             : edge_function::weighted_difference;
}

std::span<const std::int64_t> shape_of(const array& a) {
  return {a.shape.data(), static_cast<std::size_t>(a.dimensions)};
}

// The weights of a call, or none of the values' type.
struct weight_array {
  std::optional<array> taken;
  const_values view;

  weight_array(call& c, nb::handle weights, const const_values& like) : view(nullptr, 0, like.type) {
    if (weights.is_none()) return;
    taken.emplace(c.in(weights, "weights"));
    view = taken->as_values();
  }
};

nb::object sum_edges(nb::handle edges, nb::handle node_values, nb::handle weights, nb::handle function,
                     nb::handle order, nb::handle out, nb::handle pattern, nb::handle check, nb::handle ctx,
                     std::string_view variant) {
  call c("edge_sum", {check, ctx});
  const edge_arrays list = edges_of(c, edges);
  const array from = c.in(node_values, "values");
  const std::uint32_t components = components_of(c, from);
  const const_values nodes = from.as_values(true);
  const weight_array factors(c, weights, nodes);
  nb::object result;
  const array to = c.out_or_new(out, "out", from, shape_of(from), nullptr, result);
  const values sums = to.as_values_output(true);
  const edge_function f = function_of(c, function);
  const edge_sum_options options{pattern_of(pattern, c.name), order_of(order, c.name), variant};
  c.run(
      list.view.count * 64,
      [&](const context& where) { edge_sum(where, list.view, nodes, factors.view, sums, components, f, options); },
      [&](const context& where) {
        return explain_edge_sum(where, list.view, nodes, factors.view, sums, components, f, options);
      });
  return result;
}

struct prepared_edges_object {
  nb::object ctx;
  edge_arrays edges;  // which the runs may read
  prepared_edge_sum work;

  nb::object run(nb::handle node_values, nb::handle weights, nb::handle function, nb::handle out,
                 nb::handle check) const {
    call c("PreparedEdgeSum", {check, ctx});
    const array from = c.in(node_values, "values");
    components_of(c, from);
    const const_values nodes = from.as_values(true);
    const weight_array factors(c, weights, nodes);
    nb::object result;
    const array to = c.out_or_new(out, "out", from, shape_of(from), nullptr, result);
    const values sums = to.as_values_output(true);
    const edge_function f = function_of(c, function);
    c.run(edges.view.count * 64, [&](const context&) { work.run(nodes, factors.view, sums, f); });
    return result;
  }
};

prepared_edges_object* prepare(nb::handle edges, std::uint64_t nodes, std::uint32_t components, std::uint64_t runs,
                               nb::handle coordinates, nb::handle dtype, nb::handle function,
                               std::uint32_t edge_weights, nb::handle order, nb::handle pattern, nb::handle ctx,
                               std::string_view variant) {
  call c("prepare_edge_sum", {nb::str("deferred"), ctx});
  edge_arrays list = edges_of(c, edges);
  list.first.keep();
  if (list.second) list.second->keep();
  prepare_edge_sum_options options;
  std::optional<array> places;
  if (!coordinates.is_none()) {
    places.emplace(c.in(coordinates, "coordinates"));
    options.coordinates = places->as_values(true);
  }
  options.value = choice_of(dtype, {"float64", "float32"}, c.name, "dtype") == 1 ? value_type::f32 : value_type::f64;
  options.function = function_of(c, function);
  options.edge_weights = edge_weights;
  options.pattern = pattern_of(pattern, c.name);
  options.order = order_of(order, c.name);
  options.variant = variant;
  std::optional<prepared_edge_sum> made;
  const nb::object kept = context_object(c);
  c.run(bytes_of_preparations,
        [&](const context& where) { made = prepare_edge_sum(where, list.view, nodes, components, runs, options); });
  return new prepared_edges_object{kept, std::move(list), *made};
}

}  // namespace

void bind_edges(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_pattern = arg("pattern") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  const auto difference = arg("function") = "difference";
  const auto deterministic = arg("order") = "deterministic";
  m.def("edge_sum", sum_edges, arg("edges"), arg("values"), arg("weights") = nb::none(), difference, nb::kw_only(),
        deterministic, no_out, no_pattern, deferred, no_context, no_variant, documents::edge_sum);
  nb::class_<prepared_edges_object>(m, "PreparedEdgeSum", documents::prepared_edge_sum)
      .def("__call__", &prepared_edges_object::run, arg("values"), arg("weights") = nb::none(), difference,
           nb::kw_only(), no_out, deferred)
      .def_prop_ro("report", [](const prepared_edges_object& p) { return report_of(p.work.report()); });
  m.def("prepare_edge_sum", prepare, arg("edges"), arg("nodes"), arg("components"), arg("runs"), nb::kw_only(),
        arg("coordinates") = nb::none(), arg("dtype") = "float64", difference, arg("edge_weights") = 0, deterministic,
        no_pattern, no_context, no_variant, documents::prepare_edge_sum);
}

}  // namespace sheaf::python
