#pragma once

#include <nanobind/nanobind.h>

#include "call.hpp"

// What puts the calls of each family into the module, and what they share.
namespace sheaf::python {

void bind_movement(nb::module_& module);
void bind_reduce(nb::module_& module);
void bind_sort(nb::module_& module);
void bind_split(nb::module_& module);
void bind_hash(nb::module_& module);
void bind_lists(nb::module_& module);
void bind_sparse(nb::module_& module);
void bind_product(nb::module_& module);
void bind_solve(nb::module_& module);
void bind_edges(nb::module_& module);
void bind_plans(nb::module_& module);
void bind_jax(nb::module_& module);

/// A preparation takes long enough to let other threads of Python run.
inline constexpr std::uint64_t bytes_of_preparations = ~std::uint64_t{0};

/// The context of a call as a Python object, which a prepared object holds.
inline nb::object context_object(call& c) {
  session& s = c.where();
  nb::object known = nb::find(s);
  return known.is_valid() ? known : nb::cast(&s, nb::rv_policy::reference);  // a thread's own lives on
}

}  // namespace sheaf::python
