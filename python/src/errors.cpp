#include "errors.hpp"

#include <array>
#include <exception>
#include <new>
#include <string>
#include <typeinfo>

#include "call.hpp"

namespace sheaf::python {
namespace {

namespace nb = nanobind;

struct error_class {
  error_code code;
  const char* name;
  PyObject* base;  ///< Python's own class
  const char* meaning;
};

// Held for as long as the process runs, by error_code.
std::array<PyObject*, 16> classes{};

void set_python_error(const error& e) {
  // A class for each code: its attribute `code` is the class's.
  PyErr_SetString(classes.at(static_cast<std::size_t>(e.code())), e.what());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const error& e) {
    set_python_error(e);
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an argument has not the type that the call takes there");
  } catch (const plan_was_made&) {
    PyErr_SetString(PyExc_RuntimeError, "a plan was made");  // explain() looks for the plan alone
  } catch (const std::bad_alloc&) {
    set_python_error(error(error_code::out_of_memory, "the host has no memory left"));
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  const auto make = [&module](const char* name, nb::handle bases, const char* code, const char* meaning) {
    nb::dict members;
    members["code"] = nb::str(code);
    members["__doc__"] = nb::str(meaning);
    const std::string full = std::string("sheaf.") + name;
    nb::object made = nb::steal(PyErr_NewException(full.c_str(), bases.ptr(), members.ptr()));
    if (!made.is_valid()) throw nb::python_error();
    module.attr(name) = made;
    return made.release().ptr();
  };
  PyObject* const base = make("Error", PyExc_Exception, "",
                              "What every error of the library is. `code` is the name of the library's error code.");
  const error_class all[] = {
      {error_code::bad_argument, "BadArgument", PyExc_ValueError, "A wrong call, found before any work."},
      {error_code::bad_index, "BadIndex", PyExc_IndexError, "An index names no record, or nodes form no list."},
      {error_code::bad_input, "BadInput", PyExc_ValueError, "A file, or the text of a profile, is damaged."},
      {error_code::no_variant, "NoVariant", PyExc_NotImplementedError, "No variant can run this problem."},
      {error_code::out_of_memory, "OutOfMemory", PyExc_MemoryError, "Memory, or the limit of scratch, is too low."},
      {error_code::io_failure, "IoFailure", PyExc_OSError, "A file cannot be written."},
      {error_code::backend_unavailable, "BackendUnavailable", PyExc_NotImplementedError,
       "Not built in, no such device, or left with the parent by a fork."},
      {error_code::device_failure, "DeviceFailure", PyExc_OSError, "The device reported a failure of its own."},
      {error_code::measurement_failed, "MeasurementFailed", PyExc_RuntimeError, "calibrate() measured nonsense."},
      {error_code::internal, "InternalError", PyExc_RuntimeError, "The library broke a promise of its own."},
  };
  for (const error_class& c : all) {
    const nb::tuple bases = nb::make_tuple(nb::borrow(base), nb::borrow(c.base));
    classes.at(static_cast<std::size_t>(c.code)) = make(c.name, bases, std::string(name(c.code)).c_str(), c.meaning);
  }
  nb::register_exception_translator(translate);
}

}  // namespace sheaf::python
