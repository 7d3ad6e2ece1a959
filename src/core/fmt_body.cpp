// The code of fmt, for all objects of the library. They include fmt's headers as users of a library do, and find here
// what these declare: 2.4 s of the 4.2 that an object with a few messages takes otherwise. A library of fmt's own
// would have to be installed wherever sheaf runs.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

namespace sheaf::core {
namespace {

// The address of a function makes the compiler write the function out, and with it all that it calls.
[[gnu::used]] constexpr std::string (*format)(fmt::string_view, fmt::format_args) = &fmt::vformat;
[[gnu::used]] constexpr void (*print)(fmt::string_view, fmt::format_args) = &fmt::vprint;
[[gnu::used]] constexpr void (*print_to)(std::FILE*, fmt::string_view, fmt::format_args) = &fmt::vprint;

}  // namespace
}  // namespace sheaf::core
