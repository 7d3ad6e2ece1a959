#pragma once

#include <nanobind/nanobind.h>

#include <sheaf/csr.hpp>

#include "call.hpp"

namespace sheaf::python {

/// A sparse matrix in arrays of another library, which it holds.
struct matrix {
  matrix(array data, array indices, array begins, std::optional<array> ends, std::uint64_t rows, std::uint64_t columns);

  /// The arrays of a call by it: the call has to see them, to find its context.
  void lead(call& c) const;
  /// Refuses values of 16 bits, by which the library multiplies rows alone.
  void require_wide(const call& c) const;

  array data;
  array indices;
  array begins;
  std::optional<array> ends;
  csr_view view;
};

/// What csr() takes, as a matrix: a matrix itself, one of SciPy, CuPy or torch, or a tuple of arrays.
/// @throws error(bad_argument), TypeError
matrix matrix_of(nb::handle source, nb::handle shape, const char* call);

/// The product of a matrix that is an object of Python and a dense one of two dimensions.
nb::object times_rows(nb::handle a, nb::handle x);

}  // namespace sheaf::python
