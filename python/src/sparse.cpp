#include <nanobind/nanobind.h>

#include <sheaf/spmv.hpp>

#include "calls.hpp"
#include "documents_of_graphs.hpp"
#include "errors.hpp"
#include "matrix.hpp"
#include "reports.hpp"
#include "rows.hpp"

// csr: sparse matrices of SciPy, CuPy and torch, and their products with vectors.
namespace sheaf::python {

using nb::arg;

matrix::matrix(array of_data, array of_indices, array of_begins, std::optional<array> of_ends, std::uint64_t rows,
               std::uint64_t columns)
    : data(std::move(of_data)), indices(std::move(of_indices)), begins(std::move(of_begins)), ends(std::move(of_ends)) {
  for (array* const part : {&data, &indices, &begins}) part->keep();
  if (ends) {
    ends->keep();
    view = {rows, columns, begins.as_index(), ends->as_index(), indices.as_index(), numbers_of(data)};
  } else {
    view = {rows, columns, begins.as_index(), indices.as_index(), numbers_of(data)};
  }
}

namespace {

std::pair<std::uint64_t, std::uint64_t> sizes_of(nb::handle shape, const char* name) {
  if (shape.is_none()) refuse("{}: shape says how many rows and columns there are", name);
  const nb::object pair = nb::steal(PySequence_Tuple(shape.ptr()));
  if (!pair.is_valid()) throw nb::python_error();
  if (nb::len(pair) != 2) refuse("{}: shape has {} numbers, not 2", name, nb::len(pair));
  return {nb::cast<std::uint64_t>(pair[0]), nb::cast<std::uint64_t>(pair[1])};
}

// The arrays of a tensor of torch whose layout is sparse_csr.
nb::object arrays_of_torch(nb::handle source) {
  return nb::make_tuple(source.attr("values")(), source.attr("col_indices")(), source.attr("crow_indices")());
}

nb::object arrays_in(nb::handle source, nb::handle& shape, nb::object& holder, const char* name) {
  if (nb::isinstance<nb::tuple>(source)) {
    const std::size_t parts = nb::len(source);
    if (parts != 3 && parts != 4) {
      refuse("{}: {} arrays, not (data, indices, indptr) or (data, indices, begins, ends)", name, parts);
    }
    return nb::borrow(source);
  }
  if (shape.is_none()) {
    holder = nb::getattr(source, "shape", nb::none());
    shape = holder;
  }
  const nb::object format = nb::getattr(source, "format", nb::none());
  if (nb::isinstance<nb::str>(format) && nb::hasattr(source, "indptr")) {
    const auto said = nb::cast<std::string>(format);
    if (said != "csr") refuse("{}: the matrix is in format '{}'; A.tocsr() copies it into rows", name, said);
    return nb::make_tuple(source.attr("data"), source.attr("indices"), source.attr("indptr"));
  }
  if (nb::isinstance<nb::str>(format)) {
    refuse("{}: the matrix is in format '{}'; A.tocsr() copies it into rows", name, nb::cast<std::string>(format));
  }
  if (nb::hasattr(source, "crow_indices")) {
    // nb::str calls str() of an object, but takes an attribute for a string as it is, and a layout is none.
    const nb::object layout = source.attr("layout");
    if (nb::cast<std::string>(nb::str(layout)) != "torch.sparse_csr") {
      refuse("{}: the tensor is not in the layout torch.sparse_csr; A.to_sparse_csr() copies it into rows", name);
    }
    return arrays_of_torch(source);
  }
  refuse_type("{}: A is no sparse matrix of SciPy, CuPy or torch, and no tuple of arrays", name);
}

}  // namespace

matrix matrix_of(nb::handle source, nb::handle shape, const char* name) {
  nb::object holder;
  const nb::object parts = arrays_in(source, shape, holder, name);
  const auto [rows, columns] = sizes_of(shape, name);
  const auto take = [&](std::size_t i, const char* what) {
    const nb::object part = parts[i];
    array taken(part, {name, what});
    taken.keep();
    return taken;
  };
  array data = take(0, "data");
  array indices = take(1, "indices");
  const bool has_ends = nb::len(parts) == 4;
  array begins = take(2, has_ends ? "begins" : "indptr");
  std::optional<array> ends;
  if (has_ends) ends.emplace(take(3, "ends"));
  matrix made(std::move(data), std::move(indices), std::move(begins), std::move(ends), rows, columns);
  const std::uint64_t offsets = has_ends ? rows : rows + 1;
  if (made.begins.rows() != offsets) {
    refuse("{}: {} has {} entries for {} rows, not {}", name, has_ends ? "begins" : "indptr", made.begins.rows(), rows,
           offsets);
  }
  const number kind = made.data.type.kind;
  if (kind != number::floating && kind != number::brain_floating) {
    refuse("{}: data has {}, not float32, float64, float16 or bfloat16", name, name_of(made.data.type));
  }
  return made;
}

namespace {

spmv_sums sums_of(const call& c, nb::handle sums) {
  return choice_of(sums, {"as_values", "float64"}, c.name, "sums") == 1 ? spmv_sums::f64 : spmv_sums::as_values;
}

nb::object multiply(const char* name, const matrix& a, bool transposed, nb::handle x_object, nb::handle out,
                    double alpha, double beta, nb::handle sums, nb::handle order, nb::handle pattern, nb::handle check,
                    nb::handle ctx, std::string_view variant) {
  call c(name, {check, ctx});
  a.require_wide(c);
  const array from = c.in(x_object, "x");
  const const_values x = from.as_values();
  const std::int64_t count[] = {static_cast<std::int64_t>(transposed ? a.view.columns : a.view.rows)};
  if (out.is_none() && beta != 0) refuse("{}: beta multiplies out, which is not given", name);
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count, &a.data.type, result);
  const values y = to.as_values_output();
  const spmv_options options{
      alpha, beta, transposed, sums_of(c, sums), order_of(order, c.name), pattern_of(pattern, c.name), variant};
  c.run(
      a.view.values.count * 16, [&](const context& where) { spmv(where, a.view, x, y, options); },
      [&](const context& where) { return explain_spmv(where, a.view, x, y, options); });
  return result;
}

nb::object matvec(const matrix& a, nb::handle x, nb::handle out, double alpha, double beta, nb::handle sums,
                  nb::handle pattern, nb::handle check, nb::handle ctx, std::string_view variant) {
  return multiply("matvec", a, false, x, out, alpha, beta, sums, nb::str("deterministic"), pattern, check, ctx,
                  variant);
}
nb::object rmatvec(const matrix& a, nb::handle x, nb::handle out, double alpha, double beta, nb::handle sums,
                   nb::handle order, nb::handle pattern, nb::handle check, nb::handle ctx, std::string_view variant) {
  return multiply("rmatvec", a, true, x, out, alpha, beta, sums, order, pattern, check, ctx, variant);
}

nb::object times(nb::handle a, nb::handle x) {
  if (nb::cast<int>(nb::getattr(x, "ndim", nb::int_(1))) != 1) return times_rows(a, x);
  const nb::str word("as_values"), order("deterministic"), deferred("deferred");
  return multiply("matvec", *nb::inst_ptr<matrix>(a), false, x, nb::none(), 1, 0, word, order, nb::none(), deferred,
                  nb::none(), "");
}

struct prepared_matrix {
  nb::object ctx;
  nb::object of;  // the matrix, whose arrays the runs may read
  prepared_spmv work;
  bool transposed = false;

  nb::object run(nb::handle x_object, nb::handle out, double alpha, double beta, nb::handle check) const {
    call c("PreparedMatrix", {check, ctx});
    const matrix& a = *nb::inst_ptr<matrix>(of);
    const array from = c.in(x_object, "x");
    const const_values x = from.as_values();
    const std::int64_t count[] = {static_cast<std::int64_t>(transposed ? a.view.columns : a.view.rows)};
    if (out.is_none() && beta != 0) refuse("{}: beta multiplies out, which is not given", c.name);
    nb::object result;
    const array to = c.out_or_new(out, "out", from, count, &a.data.type, result);
    const values y = to.as_values_output();
    c.run(a.view.values.count * 16, [&](const context&) { work.run(x, y, alpha, beta); });
    return result;
  }
};

prepared_matrix prepare(nb::handle self, std::uint64_t runs, bool transposed, nb::handle sums, nb::handle order,
                        nb::handle pattern, nb::handle ctx, std::string_view variant) {
  call c("prepare", {nb::str("deferred"), ctx});
  const matrix& a = *nb::inst_ptr<matrix>(self);
  a.require_wide(c);
  a.lead(c);
  const prepare_spmv_options options{transposed, sums_of(c, sums), order_of(order, c.name), pattern_of(pattern, c.name),
                                     variant};
  std::optional<prepared_spmv> made;
  const nb::object kept = context_object(c);
  c.run(
      bytes_of_preparations, [&](const context& where) { made = prepare_spmv(where, a.view, runs, options); },
      [&](const context& where) { return explain_prepare_spmv(where, a.view, runs, options); });
  return {kept, nb::borrow(self), *made, transposed};
}

}  // namespace

void matrix::lead(call& c) const { c.see_again(data); }

void matrix::require_wide(const call& c) const {
  if (data.type.bytes >= 4) return;
  refuse("{}: data has {}, by which spmm alone multiplies; it takes x of two dimensions", c.name, name_of(data.type));
}

void bind_sparse(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_pattern = arg("pattern") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  const auto as_values = arg("sums") = "as_values";
  const auto alpha = arg("alpha") = 1.0;
  const auto beta = arg("beta") = 0.0;
  nb::class_<prepared_matrix>(m, "PreparedMatrix", documents::prepared_matrix)
      .def("matvec", &prepared_matrix::run, arg("x"), nb::kw_only(), no_out, alpha, beta, deferred,
           documents::prepared_matvec)
      .def("__matmul__",
           [](const prepared_matrix& p, nb::handle x) { return p.run(x, nb::none(), 1, 0, nb::str("deferred")); })
      .def_prop_ro("report", [](const prepared_matrix& p) { return report_of(p.work.report()); });
  nb::class_<matrix>(m, "csr", documents::csr)
      .def(
          "__init__", [](matrix* at, nb::handle a, nb::handle shape) { new (at) matrix(matrix_of(a, shape, "csr")); },
          arg("A"), arg("shape") = nb::none())
      .def("matvec", matvec, arg("x"), nb::kw_only(), no_out, alpha, beta, as_values, no_pattern, deferred, no_context,
           no_variant, documents::matvec)
      .def("rmatvec", rmatvec, arg("x"), nb::kw_only(), no_out, alpha, beta, as_values, arg("order") = "deterministic",
           no_pattern, deferred, no_context, no_variant, documents::rmatvec)
      .def("__matmul__", times)
      .def("prepare", prepare, arg("runs"), nb::kw_only(), arg("transposed") = false, as_values,
           arg("order") = "deterministic", no_pattern, no_context, no_variant, documents::prepare_csr)
      .def_prop_ro("shape", [](const matrix& a) { return nb::make_tuple(a.view.rows, a.view.columns); })
      .def_prop_ro("nnz", [](const matrix& a) { return a.view.values.count; })
      .def_prop_ro("ndim", [](const matrix&) { return 2; })
      .def_prop_ro("dtype", [](const matrix& a) { return nb::getattr(a.data.source, "dtype", nb::none()); })
      .def_prop_ro("data", [](const matrix& a) { return nb::borrow(a.data.source); })
      .def_prop_ro("indices", [](const matrix& a) { return nb::borrow(a.indices.source); })
      .def_prop_ro("indptr", [](const matrix& a) { return nb::borrow(a.begins.source); })
      .def("__repr__", [](const matrix& a) {
        return fmt::format("sheaf.csr of {} x {}, {} entries of {}", a.view.rows, a.view.columns, a.view.values.count,
                           name_of(a.data.type));
      });
}

}  // namespace sheaf::python
