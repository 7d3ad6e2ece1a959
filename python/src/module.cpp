#include <nanobind/nanobind.h>

#include "calls.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "session.hpp"

NB_MODULE(_sheaf, m) {
  using namespace sheaf::python;
  // Contexts belong to threads, whichever interpreter they run.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    throw nanobind::import_error("sheaf works in the main interpreter alone");
  }
  nanobind::set_leak_warnings(false);  // a program may end with an index in a variable
  bind_errors(m);
  bind_sessions(m);
  bind_memory(m);
  bind_movement(m);
  bind_sort(m);
  bind_split(m);
  bind_hash(m);
  bind_lists(m);
  bind_sparse(m);
  bind_solve(m);
  bind_edges(m);
  bind_plans(m);
}
