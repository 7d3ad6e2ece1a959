#pragma once

#include <span>
#include <vector>

#include <sheaf/value_rows.hpp>

#include "array.hpp"

// Arrays as rows of numbers, of every type that the library combines.
namespace sheaf::python {

/// The numbers of an array. @throws error(bad_argument) if its elements are none that the library combines
value_type number_type_of(const array& a);

/// One-dimensional numbers of any type, side by side.
const_values numbers_of(const array& a);

/// What follows the first `leading` dimensions as rows; the elements of a row lie side by side. Rows may lie apart
/// where `leading` is 1.
const_value_rows rows_of(const array& a, int leading = 1);
value_rows rows_to_write(const array& a);

/// The dimensions of a row behind the first `leading` ones.
std::span<const std::int64_t> row_shape(const array& a, int leading = 1);
/// `rows` rows of this shape.
std::vector<std::int64_t> shape_of_rows(std::int64_t rows, std::span<const std::int64_t> row);
/// Refuses an output that has not rows of this shape.
void require_rows_like(const array& out, std::span<const std::int64_t> row, const char* like);

/// The element that dtype= names: a string, or a type of NumPy or torch. Null for None.
const element* element_named(nb::handle dtype, const char* call);

}  // namespace sheaf::python
