#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <utility>

#include <sheaf/error.hpp>

namespace sheaf::python {

/// Makes sheaf.Error and its classes, one for each error_code, and lets errors of the library become them.
void bind_errors(nanobind::module_& module);

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw error(error_code::bad_argument, fmt::format(text, std::forward<Arguments>(arguments)...));
}

/// TypeError, for what is no array and no option at all.
template <class... Arguments>
[[noreturn]] void refuse_type(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw nanobind::type_error(fmt::format(text, std::forward<Arguments>(arguments)...).c_str());
}

}  // namespace sheaf::python
