#include <nanobind/nanobind.h>

#include <algorithm>

#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/memory.hpp>

#include "calls.hpp"
#include "device.hpp"
#include "documents_of_graphs.hpp"
#include "errors.hpp"
#include "matrix.hpp"
#include "memory.hpp"

// cg: conjugate gradient by the signature of SciPy's.
namespace sheaf::python {
namespace {

using nb::arg;

/// What a callback is told.
struct progress_object {
  std::uint64_t iterations;
  double residual;
  double target;
};

// A vector of the iteration as an array of b's library; it is valid only while the operator runs.
nb::object view_of(const array& like, const void* data, std::uint64_t count, bool is_writable) {
  return wrap_memory(like, const_cast<void*>(data), count, like.type, nb::none(), is_writable);
}

// A x by the operator of the caller: an object with matvec, as SciPy's LinearOperator, or a function.
void apply_operator(const context& where, nb::handle operation, const array& like, const_values in, values out) {
  const nb::gil_scoped_acquire lock;
  // The operator works on the stream of its own library.
  const bool has_other_stream = like.is_on_device() && like.has_stream && where.stream() != like.stream;
  if (has_other_stream) order_streams(like.device, where.stream(), like.stream);
  const nb::object x = view_of(like, in.data, in.count, false);
  const nb::object product =
      nb::hasattr(operation, "matvec") ? nb::object(operation.attr("matvec")(x)) : nb::object(operation(x));
  const nb::object y = view_of(like, out.data, out.count, true);
  const nb::object shape = nb::getattr(product, "shape", nb::none());
  const nb::tuple wanted = nb::make_tuple(out.count);
  if (!shape.is_none() && !nb::object(nb::steal(PySequence_Tuple(shape.ptr()))).equal(wanted)) {
    refuse("cg: the operator returned a vector of another shape than b's");
  }
  // Assignment converts a product of another type, and copies.
  y[nb::ellipsis()] = product;
  if (has_other_stream) order_streams(like.device, like.stream, where.stream());
}

conjugate_gradient_options options_of(double rtol, double atol, nb::handle maxiter, nb::handle preconditioned,
                                      nb::handle sums, std::string_view variant) {
  conjugate_gradient_options options;
  options.tolerance = rtol;
  options.absolute_tolerance = atol;
  if (!maxiter.is_none()) options.iteration_limit = nb::cast<std::uint64_t>(maxiter);
  if (!preconditioned.is_none()) {
    if (!nb::isinstance<nb::str>(preconditioned)) {
      throw error(error_code::no_variant, "cg: M is None or 'jacobi'; there are no other preconditioners yet");
    }
    choice_of(preconditioned, {"jacobi"}, "cg", "M");
    options.preconditioner = preconditioner::jacobi;
  }
  options.sums = choice_of(sums, {"as_values", "float64"}, "cg", "sums") == 1 ? spmv_sums::f64 : spmv_sums::as_values;
  options.keeps_last = true;  // as SciPy's
  options.variant = variant;
  return options;
}

int info_of(const conjugate_gradient_result& result) {
  switch (result.reason) {
    case stop_reason::converged: return 0;
    case stop_reason::limit:
    case stop_reason::stagnated:
    case stop_reason::stopped: return static_cast<int>(std::max<std::uint64_t>(1, result.iterations));
    case stop_reason::breakdown: return -1;
    case stop_reason::not_positive_definite: break;
  }
  return -2;
}

bool is_matrix(nb::handle a) {
  return nb::isinstance<matrix>(a) || nb::isinstance<nb::tuple>(a) || nb::hasattr(a, "indptr") ||
         nb::hasattr(a, "crow_indices");
}

// The start value goes where the result will be: x0's own array stays as it is.
void fill_start(const array& x, nb::handle x0, nb::handle x_object, call& c) {
  if (x0.is_none()) {
    x_object[nb::ellipsis()] = nb::float_(0.0);
    return;
  }
  const array start = c.in(x0, "x0");
  if (start.type.kind != x.type.kind || start.type.bytes != x.type.bytes) {
    refuse("cg: x0 has {}, b has {}", name_of(start.type), name_of(x.type));
  }
  if (start.dimensions != 1 || start.rows() != x.rows()) refuse("cg: x0 has not the shape of b");
  x_object[nb::ellipsis()] = x0;
}

nb::tuple solve(nb::handle a, nb::handle b_object, nb::handle x0, double rtol, double atol, nb::handle maxiter,
                nb::handle preconditioned, nb::handle callback, std::uint64_t callback_interval, nb::handle sums,
                nb::handle ctx, std::string_view variant) {
  call c("cg", {nb::str("deferred"), ctx});
  const array from = c.in(b_object, "b");
  const const_values b = from.as_values();
  conjugate_gradient_options options = options_of(rtol, atol, maxiter, preconditioned, sums, variant);
  const std::int64_t count[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(nb::none(), "x", from, count, nullptr, result);
  fill_start(to, x0, result, c);
  const values x = to.as_values_output();
  if (!callback.is_none()) {
    options.progress_interval = callback_interval;
    options.progress = [callback](const conjugate_gradient_progress& now) {
      const nb::gil_scoped_acquire lock;
      const nb::object answer = callback(progress_object{now.iterations, now.residual, now.target});
      return !answer.is(nb::bool_(false));
    };
  }
  conjugate_gradient_result done;
  if (is_matrix(a)) {
    std::optional<matrix> made;
    if (!nb::isinstance<matrix>(a)) made.emplace(matrix_of(a, nb::none(), c.name));
    const matrix& taken = made ? *made : *nb::inst_ptr<matrix>(a);
    taken.require_wide(c);
    const csr_view& view = taken.view;
    c.run(
        bytes_of_preparations, [&](const context& where) { done = conjugate_gradient(where, view, b, x, options); },
        [&](const context& where) { return explain_conjugate_gradient(where, view, b, x, options); });
  } else {
    if (!nb::hasattr(a, "matvec") && PyCallable_Check(a.ptr()) == 0) {
      refuse_type("cg: A is neither a matrix in rows nor an operator with matvec; a dense matrix has no place here");
    }
    if (options.preconditioner == preconditioner::jacobi) refuse("cg: an operator has no diagonal for M='jacobi'");
    c.run(bytes_of_preparations, [&](const context& where) {
      done = conjugate_gradient(
          where, [&](const context& now, const_values in, values out) { apply_operator(now, a, from, in, out); }, b, x,
          options);
    });
  }
  return nb::make_tuple(result, info_of(done));
}

}  // namespace

void bind_solve(nb::module_& m) {
  nb::class_<progress_object>(m, "Progress", documents::progress)
      .def_ro("iterations", &progress_object::iterations)
      .def_ro("residual", &progress_object::residual)
      .def_ro("target", &progress_object::target)
      .def("__repr__", [](const progress_object& p) {
        return fmt::format("Progress(iterations={}, residual={}, target={})", p.iterations, p.residual, p.target);
      });
  m.def("cg", solve, arg("A"), arg("b"), arg("x0") = nb::none(), nb::kw_only(), arg("rtol") = 1e-5, arg("atol") = 0.0,
        arg("maxiter") = nb::none(), arg("M") = nb::none(), arg("callback") = nb::none(), arg("callback_interval") = 1,
        arg("sums") = "as_values", arg("ctx") = nb::none(), arg("variant") = "", documents::cg);
}

}  // namespace sheaf::python
