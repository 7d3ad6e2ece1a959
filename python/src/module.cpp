#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "calls.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "session.hpp"

#if SHEAF_PYTHON_HAS_COMMAND
// The function main of the command, which C++ does not let others call by its name.
extern int command_main(int count, char** arguments) __asm__("main");

namespace sheaf::python {
namespace {

int run_command(nb::list arguments) {
  std::vector<std::string> texts;
  for (const nb::handle argument : arguments) texts.push_back(nb::cast<std::string>(argument));
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return command_main(static_cast<int>(texts.size()), pointers.data());
}

}  // namespace
}  // namespace sheaf::python
#endif

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
  bind_reduce(m);
  bind_sort(m);
  bind_split(m);
  bind_hash(m);
  bind_lists(m);
  bind_sparse(m);
  bind_product(m);
  bind_solve(m);
  bind_edges(m);
  bind_plans(m);
#if SHEAF_PYTHON_HAS_JAX
  bind_jax(m);
#endif
#if SHEAF_PYTHON_HAS_COMMAND
  m.def("_command", run_command, nb::arg("arguments"));
#endif
}
