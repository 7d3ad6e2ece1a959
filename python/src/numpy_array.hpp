#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "array.hpp"

// The head of NumPy's array and type objects, whose layouts have been the same in all versions: reading it takes 5 ns,
// the buffer protocol 65. A look at an array of known contents decides whether they are still the same.
namespace sheaf::python {

struct numpy_type {
  PyObject head;
  PyObject* scalar;
  char kind;  ///< 'b', 'i', 'u', 'f', ...
  char letter;
  char byte_order;  ///< '=', '|', '>', '<'
  char unused;
  int number;
};

struct numpy_array {
  PyObject head;
  char* data;
  int dimensions;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  numpy_type* type;
  int flags;
};
inline constexpr int numpy_is_writable = 0x400;

/// NumPy's class of arrays if its objects have these heads, or null.
PyObject* plain_numpy_class();

/// The element of a type whose number NumPy gives to numbers of the machine's own, or null.
const element* element_of_number(const numpy_type& type);

}  // namespace sheaf::python
