#include <nanobind/nanobind.h>

#include <sheaf/spmm.hpp>

#include "calls.hpp"
#include "documents_of_rows.hpp"
#include "errors.hpp"
#include "matrix.hpp"
#include "reports.hpp"
#include "rows.hpp"

// spmm: products of a sparse matrix and a dense one, which lies row by row, and those by a matrix that was prepared.
namespace sheaf::python {
namespace {

using nb::arg;

/// The dense matrices of a product, Y = alpha A X + beta Y.
struct dense_arrays {
  array from;
  nb::object result;
  std::optional<array> to;

  const_value_rows x() const { return rows_of(from); }
  value_rows y() const { return rows_to_write(*to); }
};

dense_arrays dense_of(call& c, const matrix& a, bool transposed, nb::handle x, nb::handle out, double beta,
                      nb::handle dtype) {
  if (out.is_none() && beta != 0) refuse("{}: beta multiplies out, which is not given", c.name);
  if (!out.is_none() && !dtype.is_none()) refuse("{}: dtype is for a new output, but out is given", c.name);
  const element* const type = element_named(dtype, c.name);
  dense_arrays taken{c.in(x, "x"), {}, {}};
  if (taken.from.dimensions != 2) {
    refuse("{}: x has {} dimensions, not 2; csr.matvec multiplies vectors", c.name, taken.from.dimensions);
  }
  const auto rows = static_cast<std::int64_t>(transposed ? a.view.columns : a.view.rows);
  const auto row = row_shape(taken.from);
  taken.to.emplace(c.out_or_new(out, "out", taken.from, shape_of_rows(rows, row), type, taken.result));
  require_rows_like(*taken.to, row, "x");
  return taken;
}

std::uint64_t bytes_of(const matrix& a, const const_value_rows& x) {
  return a.view.values.count * x.values_per_row * bytes(x.type);
}

nb::object multiply(nb::handle a_object, nb::handle x_object, nb::handle out, double alpha, double beta,
                    bool transposed, nb::handle dtype, nb::handle order, nb::handle pattern, nb::handle check,
                    nb::handle ctx, std::string_view variant) {
  call c("spmm", {check, ctx});
  std::optional<matrix> made;
  if (!nb::isinstance<matrix>(a_object)) made.emplace(matrix_of(a_object, nb::none(), c.name));
  const matrix& a = made ? *made : *nb::inst_ptr<matrix>(a_object);
  const dense_arrays dense = dense_of(c, a, transposed, x_object, out, beta, dtype);
  const const_value_rows x = dense.x();
  const value_rows y = dense.y();
  const spmm_options options{alpha, beta, transposed, order_of(order, c.name), pattern_of(pattern, c.name), variant};
  c.run(
      bytes_of(a, x), [&](const context& where) { spmm(where, a.view, x, y, options); },
      [&](const context& where) { return explain_spmm(where, a.view, x, y, options); });
  return dense.result;
}

struct prepared_product_object {
  nb::object ctx;
  nb::object of;  // the matrix, whose arrays the runs may read
  prepared_spmm work;
  bool transposed = false;

  nb::object run(nb::handle x_object, nb::handle out, double alpha, double beta, nb::handle dtype,
                 nb::handle check) const {
    call c("PreparedSpmm", {check, ctx});
    const matrix& a = *nb::inst_ptr<matrix>(of);
    const dense_arrays dense = dense_of(c, a, transposed, x_object, out, beta, dtype);
    const const_value_rows x = dense.x();
    const value_rows y = dense.y();
    c.run(bytes_of(a, x), [&](const context&) { work.run(x, y, alpha, beta); });
    return dense.result;
  }
};

prepared_product_object prepare(nb::handle a_object, std::uint64_t runs, std::uint64_t columns, bool transposed,
                                nb::handle order, nb::handle pattern, nb::handle ctx, std::string_view variant) {
  call c("prepare_spmm", {nb::str("deferred"), ctx});
  const nb::object of = nb::isinstance<matrix>(a_object)
                            ? nb::borrow(a_object)
                            : nb::cast(matrix_of(a_object, nb::none(), c.name), nb::rv_policy::move);
  const matrix& a = *nb::inst_ptr<matrix>(of);
  a.lead(c);
  const prepare_spmm_options options{transposed, order_of(order, c.name), pattern_of(pattern, c.name), columns,
                                     variant};
  std::optional<prepared_spmm> made;
  const nb::object kept = context_object(c);
  c.run(
      bytes_of_preparations, [&](const context& where) { made = prepare_spmm(where, a.view, runs, options); },
      [&](const context& where) { return explain_prepare_spmm(where, a.view, runs, options); });
  return {kept, of, *made, transposed};
}

}  // namespace

nb::object times_rows(nb::handle a, nb::handle x) {
  return multiply(a, x, nb::none(), 1, 0, false, nb::none(), nb::str("deterministic"), nb::none(), nb::str("deferred"),
                  nb::none(), "");
}

void bind_product(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_pattern = arg("pattern") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  const auto no_dtype = arg("dtype") = nb::none();
  const auto alpha = arg("alpha") = 1.0;
  const auto beta = arg("beta") = 0.0;
  const auto transposed = arg("transposed") = false;
  m.def("spmm", multiply, arg("A"), arg("x"), no_out, nb::kw_only(), alpha, beta, transposed, no_dtype,
        arg("order") = "deterministic", no_pattern, deferred, no_context, no_variant, documents::spmm);
  nb::class_<prepared_product_object>(m, "PreparedSpmm", documents::prepared_spmm)
      .def("__call__", &prepared_product_object::run, arg("x"), no_out, nb::kw_only(), alpha, beta, no_dtype, deferred)
      .def("__matmul__", [](const prepared_product_object& p,
                            nb::handle x) { return p.run(x, nb::none(), 1, 0, nb::none(), nb::str("deferred")); })
      .def_prop_ro("report", [](const prepared_product_object& p) { return report_of(p.work.report()); });
  m.def("prepare_spmm", prepare, arg("A"), arg("runs"), nb::kw_only(), arg("columns") = 64, transposed,
        arg("order") = "deterministic", no_pattern, no_context, no_variant, documents::prepare_spmm);
}

}  // namespace sheaf::python
