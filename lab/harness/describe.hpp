#pragma once

#include <span>
#include <string>

namespace sheaf::bench {

/// Prints a JSON document of what tables of results show of rows by name: {"primitives", "peers", "rows"}, these in the
/// order of the names, each with its parts and labels, or with what is wrong with the name as its "error". A name "-"
/// stands for the lines of standard input. Returns whether all names are those of rows; the first one that is not is
/// reported on standard error.
bool print_descriptions(std::span<const std::string> names);

}  // namespace sheaf::bench
