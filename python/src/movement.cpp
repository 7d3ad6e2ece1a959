#include <nanobind/nanobind.h>

#include <chrono>
#include <vector>

#include <sheaf/gather.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter.hpp>

#include "calls.hpp"
#include "documents.hpp"
#include "errors.hpp"
#include "reports.hpp"

// gather, scatter, and movements by a list that was prepared.
namespace sheaf::python {
namespace {

using nb::arg;

std::uint64_t moved(const const_records& rows, std::uint64_t count) { return rows.record_bytes * count; }

// The shape of a gather's output: the index's, then that of a row.
std::vector<std::int64_t> gathered_shape(const array& index, const array& table) {
  std::vector<std::int64_t> shape(index.shape.begin(), index.shape.begin() + index.dimensions);
  const auto row = table.dimensions_of_row();
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

void require_like(const call& c, const array& a, const char* what, const array& like, const char* like_what) {
  if (a.type.bytes == like.type.bytes && a.type.kind == like.type.kind) return;
  refuse("{}: {} has {}, {} has {}", c.name, what, name_of(a.type), like_what, name_of(like.type));
}

// The records of an output whose leading dimensions are those of `leading`, whatever they are.
records gathered_output(const call& c, const array& out, const array& index, const array& table) {
  const int wanted = index.dimensions + table.dimensions - 1;
  bool agrees = out.dimensions == wanted;
  for (int d = 0; agrees && d < wanted; ++d) {
    const auto at = static_cast<std::size_t>(d);
    agrees = out.shape[at] ==
             (d < index.dimensions ? index.shape[at] : table.shape[static_cast<std::size_t>(d - index.dimensions + 1)]);
  }
  if (!agrees) refuse("{}: out has not the shape of index with that of a row of table behind it", c.name);
  if (index.dimensions == 1) return out.as_output();
  const std::uint64_t bytes = table.row_bytes();
  return {out.side_by_side(), index.count(), bytes};
}

nb::object gather_rows(nb::handle table, nb::handle index, nb::handle out, nb::handle pattern, nb::handle check,
                       nb::handle ctx, std::string_view variant) {
  call c("gather", {check, ctx});
  const array from = c.in(table, "table");
  const array list = c.in(index, "index");
  nb::object result;
  if (out.is_none()) result = make_array(from, gathered_shape(list, from), nullptr, c.name);
  const array to = c.out(out.is_none() ? nb::handle(result) : out, "out");
  require_like(c, to, "out", from, "table");
  const const_records rows = from.as_records();
  const index_span entries = list.as_index(true);
  const records written = gathered_output(c, to, list, from);
  const gather_options options{pattern_of(pattern, c.name), bounds::check, variant};
  c.run(
      moved(rows, entries.count), [&](const context& where) { gather(where, rows, entries, written, options); },
      [&](const context& where) { return explain_gather(where, rows, entries, written, options); });
  return out.is_none() ? result : nb::borrow(out);
}

// Seconds of a gather in C++ alone, for the benchmark: what a call from Python takes beyond that is the binding's.
double seconds_of_gather(nb::handle table, nb::handle index, nb::handle out, std::uint64_t calls) {
  call c("gather", {nb::str("deferred"), nb::none()});
  const array from = c.in(table, "table");
  const array list = c.in(index, "index");
  const array to = c.out(out, "out");
  const const_records rows = from.as_records();
  const index_span entries = list.as_index();
  const records written = to.as_output();
  double seconds = 0;
  c.run(bytes_of_preparations, [&](const context& where) {
    gather(where, rows, entries, written);
    where.wait();
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) gather(where, rows, entries, written);
    where.wait();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  return seconds / static_cast<double>(calls);
}

duplicates duplicates_of(nb::handle text, const char* name) {
  return choice_of(text, {"any", "last"}, name, "duplicates") == 1 ? duplicates::last : duplicates::any;
}

// Values of any shape whose leading dimensions are the index's, as records.
const_records scattered_input(const call& c, const array& from, const array& index) {
  bool agrees = from.dimensions >= index.dimensions;
  for (int d = 0; agrees && d < index.dimensions; ++d) {
    agrees = from.shape[static_cast<std::size_t>(d)] == index.shape[static_cast<std::size_t>(d)];
  }
  if (!agrees) refuse("{}: values do not begin with the dimensions of index", c.name);
  if (index.dimensions == 1) return from.as_records();
  std::uint64_t bytes = from.type.bytes;
  for (int d = index.dimensions; d < from.dimensions; ++d) {
    bytes *= static_cast<std::uint64_t>(from.shape[static_cast<std::size_t>(d)]);
  }
  return {from.side_by_side(), index.count(), bytes};
}

nb::object scatter_rows(nb::handle values, nb::handle index, nb::handle out, nb::handle duplicates_text,
                        nb::handle pattern, nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("scatter", {check, ctx});
  const array from = c.in(values, "values");
  const array list = c.in(index, "index");
  const array to = c.out(out, "out");
  require_like(c, to, "out", from, "values");
  const const_records rows = scattered_input(c, from, list);
  const index_span entries = list.as_index(true);
  const records written = to.as_output();
  const scatter_options options{pattern_of(pattern, c.name), bounds::check, duplicates_of(duplicates_text, c.name),
                                variant};
  c.run(
      moved(rows, entries.count), [&](const context& where) { scatter(where, rows, entries, written, options); },
      [&](const context& where) { return explain_scatter(where, rows, entries, written, options); });
  return nb::borrow(out);
}

// What prepared objects share: the context of the preparation, which their runs use.
struct prepared_gather_object {
  nb::object ctx;  // outlives the work, whose memory may come from it
  prepared_gather work;
  std::int64_t count = 0;

  nb::object run(nb::handle table, nb::handle out, nb::handle check) const {
    call c("PreparedGather", {check, ctx});
    const array from = c.in(table, "table");
    const std::int64_t entries = count;
    std::vector<std::int64_t> shape{entries};
    const auto row = from.dimensions_of_row();
    shape.insert(shape.end(), row.begin(), row.end());
    nb::object result;
    const array to = c.out_or_new(out, "out", from, shape, nullptr, result);
    require_like(c, to, "out", from, "table");
    const const_records rows = from.as_records();
    const records written = to.as_output();
    c.run(moved(rows, written.count), [&](const context&) { work.run(rows, written); });
    return result;
  }
};

struct prepared_scatter_object {
  nb::object ctx;
  prepared_scatter work;

  nb::object run(nb::handle values, nb::handle out, nb::handle check) const {
    call c("PreparedScatter", {check, ctx});
    const array from = c.in(values, "values");
    const array to = c.out(out, "out");
    require_like(c, to, "out", from, "values");
    const const_records rows = from.as_records();
    const records written = to.as_output();
    c.run(moved(rows, rows.count), [&](const context&) { work.run(rows, written); });
    return nb::borrow(out);
  }
};

prepare_options options_of(const call& c, nb::handle pattern, nb::handle duplicates_text, std::string_view variant) {
  return {pattern_of(pattern, c.name), bounds::check, duplicates_of(duplicates_text, c.name), variant};
}

prepared_gather_object prepare_gather_by(nb::handle index, std::uint64_t table_count, std::uint64_t row_bytes,
                                         std::uint64_t runs, nb::handle pattern, nb::handle ctx,
                                         std::string_view variant) {
  call c("prepare_gather", {nb::str("deferred"), ctx});
  const array list = c.in(index, "index");
  const index_span entries = list.as_index();
  const prepare_options options = options_of(c, pattern, nb::str("any"), variant);
  std::optional<prepared_gather> made;
  const nb::object kept = context_object(c);
  c.run(bytes_of_preparations,
        [&](const context& where) { made = prepare_gather(where, entries, table_count, row_bytes, runs, options); });
  return {kept, *made, static_cast<std::int64_t>(entries.count)};
}

prepared_scatter_object prepare_scatter_by(nb::handle index, std::uint64_t out_count, std::uint64_t row_bytes,
                                           std::uint64_t runs, nb::handle duplicates_text, nb::handle pattern,
                                           nb::handle ctx, std::string_view variant) {
  call c("prepare_scatter", {nb::str("deferred"), ctx});
  const array list = c.in(index, "index");
  const index_span entries = list.as_index();
  const prepare_options options = options_of(c, pattern, duplicates_text, variant);
  std::optional<prepared_scatter> made;
  const nb::object kept = context_object(c);
  c.run(bytes_of_preparations,
        [&](const context& where) { made = prepare_scatter(where, entries, out_count, row_bytes, runs, options); });
  return {kept, *made};
}

}  // namespace

void bind_movement(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_pattern = arg("pattern") = nb::none();
  const auto no_variant = arg("variant") = "";
  m.def("gather", gather_rows, arg("table"), arg("index"), nb::kw_only(), arg("out") = nb::none(), no_pattern, deferred,
        no_context, no_variant, documents::gather);
  m.def("scatter", scatter_rows, arg("values"), arg("index"), arg("out"), nb::kw_only(), arg("duplicates") = "any",
        no_pattern, deferred, no_context, no_variant, documents::scatter);
  m.def("_seconds_of_gather", seconds_of_gather, arg("table"), arg("index"), arg("out"), arg("calls"));
  nb::class_<prepared_gather_object>(m, "PreparedGather", documents::prepared_gather)
      .def("__call__", &prepared_gather_object::run, arg("table"), nb::kw_only(), arg("out") = nb::none(), deferred)
      .def_prop_ro("report", [](const prepared_gather_object& p) { return report_of(p.work.report()); });
  nb::class_<prepared_scatter_object>(m, "PreparedScatter", documents::prepared_scatter)
      .def("__call__", &prepared_scatter_object::run, arg("values"), arg("out"), nb::kw_only(), deferred)
      .def_prop_ro("report", [](const prepared_scatter_object& p) { return report_of(p.work.report()); });
  m.def("prepare_gather", prepare_gather_by, arg("index"), arg("table_count"), arg("row_bytes"), arg("runs"),
        nb::kw_only(), no_pattern, no_context, no_variant, documents::prepare_gather);
  m.def("prepare_scatter", prepare_scatter_by, arg("index"), arg("out_count"), arg("row_bytes"), arg("runs"),
        nb::kw_only(), arg("duplicates") = "any", no_pattern, no_context, no_variant, documents::prepare_scatter);
}

}  // namespace sheaf::python
