#pragma once

#include <nanobind/nanobind.h>

#include <sheaf/list_scan.hpp>

namespace sheaf::python {

/// A number of Python as one of the library's types. @throws error(bad_argument) if the type does not hold it
inline scalar scalar_of(nanobind::handle number, value_type type) {
  namespace nb = nanobind;
  switch (type) {
    case value_type::i32: return nb::cast<std::int32_t>(number);
    case value_type::u32: return nb::cast<std::uint32_t>(number);
    case value_type::i64: return nb::cast<std::int64_t>(number);
    case value_type::u64: return nb::cast<std::uint64_t>(number);
    case value_type::f32: return static_cast<float>(nb::cast<double>(number));
    default: break;
  }
  return nb::cast<double>(number);
}

}  // namespace sheaf::python
