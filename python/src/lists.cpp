#include <nanobind/nanobind.h>

#include <sheaf/list_scan.hpp>

#include "calls.hpp"
#include "documents_of_graphs.hpp"
#include "errors.hpp"
#include "scalar.hpp"

// list_rank and list_scan.
namespace sheaf::python {
namespace {

using nb::arg;

list_count lists_of(const call& c, nb::handle lists) {
  return choice_of(lists, {"one", "many"}, c.name, "lists") == 1 ? list_count::many : list_count::one;
}

nb::object rank_nodes(nb::handle next, nb::handle lists, nb::handle out, nb::handle pattern, nb::handle check,
                      nb::handle ctx, std::string_view variant) {
  call c("list_rank", {check, ctx});
  const array from = c.in(next, "next");
  const index_span successor = from.as_index();
  const std::int64_t count[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count, nullptr, result);
  const index_output rank = to.as_index_output();
  const list_rank_options options{lists_of(c, lists), pattern_of(pattern, c.name), variant};
  c.run(
      rank.count * 64, [&](const context& where) { list_rank(where, successor, rank, options); },
      [&](const context& where) { return explain_list_rank(where, successor, rank, options); });
  return result;
}

nb::object scan_nodes(nb::handle next, nb::handle values_object, nb::handle op, nb::handle lists, nb::handle initial,
                      nb::handle out, nb::handle pattern, nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("list_scan", {check, ctx});
  const array list = c.in(next, "next");
  const index_span successor = list.as_index();
  const array from = c.in(values_object, "values");
  const const_values in = from.as_values();
  const std::int64_t count[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count, nullptr, result);
  const values scanned = to.as_values_output();
  const auto operation = static_cast<scan_operator>(
      choice_of(op, {"add", "min", "max", "mul", "bit_and", "bit_or", "bit_xor"}, c.name, "op"));
  list_scan_options options{lists_of(c, lists), {}, pattern_of(pattern, c.name), variant};
  if (!initial.is_none()) options.exclusive_from = scalar_of(initial, in.type);
  c.run(
      in.count * 64, [&](const context& where) { list_scan(where, successor, in, scanned, operation, options); },
      [&](const context& where) { return explain_list_scan(where, successor, in, scanned, operation, options); });
  return result;
}

}  // namespace

void bind_lists(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_pattern = arg("pattern") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  m.def("list_rank", rank_nodes, arg("next"), nb::kw_only(), arg("lists") = "one", no_out, no_pattern, deferred,
        no_context, no_variant, documents::list_rank);
  m.def("list_scan", scan_nodes, arg("next"), arg("values"), arg("op") = "add", nb::kw_only(), arg("lists") = "one",
        arg("initial") = nb::none(), no_out, no_pattern, deferred, no_context, no_variant, documents::list_scan);
}

}  // namespace sheaf::python
