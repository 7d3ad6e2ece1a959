#include <nanobind/nanobind.h>

#include <algorithm>

#include <sheaf/gather_reduce.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "calls.hpp"
#include "documents_of_rows.hpp"
#include "errors.hpp"
#include "reports.hpp"
#include "rows.hpp"

// scatter_reduce and gather_reduce, of numbers and of rows of them, and reductions by a list that was prepared.
namespace sheaf::python {
namespace {

using nb::arg;

reduction operation_of(const call& c, nb::handle op) {
  return static_cast<reduction>(choice_of(op, {"add", "min", "max", "subtract", "mul", "mean", "count"}, c.name, "op"));
}

// Without a word, rows are combined with what an output holds that is given, and with nothing in a new one.
reduction_start start_of(const call& c, nb::handle start, nb::handle out) {
  if (start.is_none()) return out.is_none() ? reduction_start::identity : reduction_start::out;
  const auto said = static_cast<reduction_start>(choice_of(start, {"out", "identity"}, c.name, "start"));
  if (said == reduction_start::out && out.is_none()) refuse("{}: start is 'out', which is not given", c.name);
  return said;
}

// The type of a new output: that of dtype=, int64 for counts, or null for the input's own.
const element* type_of_output(const call& c, nb::handle dtype, nb::handle out, reduction op) {
  if (!dtype.is_none() && !out.is_none()) refuse("{}: dtype is for a new output, but out is given", c.name);
  const element* const named = element_named(dtype, c.name);
  return named == nullptr && op == reduction::count ? &int64_element : named;
}

/// The output of a reduction, and how many rows came to each of its own where that is asked for.
struct reduced {
  nb::object result;
  std::optional<array> to;
  nb::object counts;
  std::optional<array> counted;

  value_rows rows() const { return rows_to_write(*to); }
  values numbers_of_rows() const { return counted ? counted->as_values_output() : values{}; }
  nb::object answer() const {
    if (!counted) return result;
    return nb::make_tuple(result, counts);
  }
};

reduced output_of(call& c, const array& from, std::span<const std::int64_t> row, nb::handle out, std::int64_t size,
                  const element* type, nb::handle counts) {
  reduced made;
  made.to.emplace(c.out_or_new(out, "out", from, shape_of_rows(size, row), type, made.result));
  require_rows_like(*made.to, row, "values");
  if (counts.is_none() || counts.is(nb::handle(Py_False))) return made;
  const std::int64_t rows[] = {made.to->shape[0]};
  const nb::handle given = counts.is(nb::handle(Py_True)) ? nb::handle(Py_None) : counts;
  made.counted.emplace(c.out_or_new(given, "counts", from, rows, &int64_element, made.counts));
  if (made.counted->rows() != made.to->rows()) {  // none at all would be taken for no counts
    refuse("{}: counts has {} values for {} rows of out", c.name, made.counted->rows(), made.to->rows());
  }
  return made;
}

std::uint64_t bytes_of(const const_value_rows& rows) { return rows.count * rows.values_per_row * bytes(rows.type); }

std::int64_t size_of(const call& c, nb::handle size, nb::handle out) {
  if (out.is_none() && size.is_none()) refuse("{}: size says how many rows a new output has, or out is given", c.name);
  if (!out.is_none() && !size.is_none()) refuse("{}: size is for a new output, but out is given", c.name);
  if (size.is_none()) return 0;
  const auto rows = nb::cast<std::int64_t>(size);
  if (rows < 0) refuse("{}: size is {}, below 0", c.name, rows);
  return rows;
}

nb::object reduce_by_index(nb::handle values_object, nb::handle index, nb::handle out, nb::handle op, nb::handle size,
                           nb::handle dtype, nb::handle start, nb::handle counts, nb::handle order, nb::handle pattern,
                           nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("scatter_reduce", {check, ctx});
  const reduction operation = operation_of(c, op);
  const std::int64_t new_rows = size_of(c, size, out);
  const element* const type = type_of_output(c, dtype, out, operation);
  const array from = c.in(values_object, "values");
  const array list = c.in(index, "index");
  const auto lists = row_shape(list, 0);
  if (from.dimensions < list.dimensions || !std::ranges::equal(row_shape(from, 0).first(lists.size()), lists)) {
    refuse("{}: values do not begin with the dimensions of index", c.name);
  }
  const auto row = row_shape(from, list.dimensions);
  const reduced made = output_of(c, from, row, out, new_rows, type, counts);
  const const_value_rows in = rows_of(from, list.dimensions);
  const value_rows rows = made.rows();
  const index_span entries = list.as_index(true);
  scatter_reduce_rows_options options;
  options.pattern = pattern_of(pattern, c.name);
  options.order = order_of(order, c.name);
  options.start = start_of(c, start, out);
  options.counts = made.numbers_of_rows();
  options.variant = variant;
  const bool are_numbers = row.empty() && in.stride_bytes == bytes(in.type) && rows.stride_bytes == bytes(rows.type);
  if (are_numbers && options.start == reduction_start::out && !made.counted) {
    // Numbers side by side have variants of their own.
    const const_values added(in.data, in.count, in.type);
    const values sums(rows.data, rows.count, rows.type);
    const scatter_reduce_options plain{options.pattern, bounds::check, options.order, variant};
    c.run(
        bytes_of(in), [&](const context& where) { scatter_reduce(where, added, entries, sums, operation, plain); },
        [&](const context& where) { return explain_scatter_reduce(where, added, entries, sums, operation, plain); });
  } else {
    c.run(
        bytes_of(in) + bytes_of(rows),
        [&](const context& where) { scatter_reduce(where, in, entries, rows, operation, options); },
        [&](const context& where) { return explain_scatter_reduce(where, in, entries, rows, operation, options); });
  }
  return made.answer();
}

struct prepared_reduction_object {
  nb::object ctx;  // outlives the work, whose memory may come from it
  prepared_scatter_reduce work;
  std::int64_t out_count = 0;

  nb::object run(nb::handle values_object, nb::handle out, nb::handle op, nb::handle dtype, nb::handle start,
                 nb::handle counts, nb::handle check) const {
    call c("PreparedScatterReduce", {check, ctx});
    const reduction operation = operation_of(c, op);
    const element* const type = type_of_output(c, dtype, out, operation);
    const array from = c.in(values_object, "values");
    const reduced made = output_of(c, from, row_shape(from), out, out_count, type, counts);
    const const_value_rows in = rows_of(from);
    const value_rows rows = made.rows();
    const scatter_reduce_run_options options{start_of(c, start, out), made.numbers_of_rows()};
    c.run(bytes_of(in) + bytes_of(rows), [&](const context&) { work.run(in, rows, operation, options); });
    return made.answer();
  }
};

prepared_reduction_object prepare(nb::handle index, std::uint64_t out_count, std::uint64_t runs,
                                  std::uint64_t row_bytes, nb::handle pattern, nb::handle ctx,
                                  std::string_view variant) {
  call c("prepare_scatter_reduce", {nb::str("deferred"), ctx});
  const array list = c.in(index, "index");
  const index_span entries = list.as_index();
  const prepare_scatter_reduce_options options{pattern_of(pattern, c.name), row_bytes, variant};
  std::optional<prepared_scatter_reduce> made;
  const nb::object kept = context_object(c);
  c.run(
      bytes_of_preparations,
      [&](const context& where) { made = prepare_scatter_reduce(where, entries, out_count, runs, options); },
      [&](const context& where) { return explain_prepare_scatter_reduce(where, entries, out_count, runs, options); });
  return {kept, *made, static_cast<std::int64_t>(out_count)};
}

nb::object gather_and_reduce(nb::handle table, nb::handle index, nb::handle offsets, nb::handle op, nb::handle weights,
                             nb::handle out, nb::handle dtype, nb::handle start, nb::handle pattern, nb::handle check,
                             nb::handle ctx, std::string_view variant) {
  call c("gather_reduce", {check, ctx});
  const auto operation = operation_of(c, op);
  const element* const type = type_of_output(c, dtype, out, operation);
  const array from = c.in(table, "table");
  const array list = c.in(index, "index");
  const array begins = c.in(offsets, "offsets");
  std::optional<array> factors;
  gather_reduce_options options;
  if (!weights.is_none()) {
    factors.emplace(c.in(weights, "weights"));
    options.weights = numbers_of(*factors);
    if (options.weights.count != list.rows()) {
      refuse("{}: weights has {} values for {} entries of index", c.name, options.weights.count, list.rows());
    }
  }
  const index_span entries = list.as_index();
  const index_span segments = begins.as_index();
  if (segments.count == 0) refuse("{}: offsets has no entry; there is one more than rows of out", c.name);
  nb::object result;
  const auto shape = shape_of_rows(static_cast<std::int64_t>(segments.count - 1), row_shape(from));
  const array to = c.out_or_new(out, "out", from, shape, type, result);
  require_rows_like(to, row_shape(from), "table");
  const const_value_rows rows = rows_of(from);
  const value_rows combined = rows_to_write(to);
  options.pattern = pattern_of(pattern, c.name);
  options.start = start.is_none() ? reduction_start::identity : start_of(c, start, out);
  options.variant = variant;
  c.run(
      entries.count * rows.values_per_row * bytes(rows.type),
      [&](const context& where) { gather_reduce(where, rows, entries, segments, combined, operation, options); },
      [&](const context& where) {
        return explain_gather_reduce(where, rows, entries, segments, combined, operation, options);
      });
  return result;
}

}  // namespace

void bind_reduce(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_pattern = arg("pattern") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  const auto no_dtype = arg("dtype") = nb::none();
  const auto no_start = arg("start") = nb::none();
  const auto no_counts = arg("counts") = nb::none();
  const auto add = arg("op") = "add";
  m.def("scatter_reduce", reduce_by_index, arg("values"), arg("index"), no_out, add, nb::kw_only(),
        arg("size") = nb::none(), no_dtype, no_start, no_counts, arg("order") = "deterministic", no_pattern, deferred,
        no_context, no_variant, documents::scatter_reduce);
  nb::class_<prepared_reduction_object>(m, "PreparedScatterReduce", documents::prepared_scatter_reduce)
      .def("__call__", &prepared_reduction_object::run, arg("values"), no_out, add, nb::kw_only(), no_dtype, no_start,
           no_counts, deferred)
      .def_prop_ro("report", [](const prepared_reduction_object& p) { return report_of(p.work.report()); });
  m.def("prepare_scatter_reduce", prepare, arg("index"), arg("out_count"), arg("runs"), nb::kw_only(),
        arg("row_bytes") = 256, no_pattern, no_context, no_variant, documents::prepare_scatter_reduce);
  m.def("gather_reduce", gather_and_reduce, arg("table"), arg("index"), arg("offsets"), add, nb::kw_only(),
        arg("weights") = nb::none(), no_out, no_dtype, no_start, no_pattern, deferred, no_context, no_variant,
        documents::gather_reduce);
}

}  // namespace sheaf::python
