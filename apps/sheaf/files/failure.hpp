#pragma once

#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {

/// Throws an error with these words.
template <class... Args>
[[noreturn]] void throw_error(error_code code, fmt::format_string<Args...> words, Args&&... args) {
  throw error(code, fmt::format(words, std::forward<Args>(args)...));
}

/// Throws error(bad_input) with the name of the file in front of these words; `-` is that of standard input.
template <class... Args>
[[noreturn]] void fail(const std::string& origin, fmt::format_string<Args...> words, Args&&... args) {
  throw error(error_code::bad_input,
              (origin == "-" ? "standard input" : origin) + ": " + fmt::format(words, std::forward<Args>(args)...));
}

}  // namespace sheaf::io
