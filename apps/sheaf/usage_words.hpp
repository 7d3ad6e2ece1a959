#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace sheaf::cli {

/// What is wrong with a command line, in the words of this program where CLI11 has its own.
/// @param app  that has read the command line
std::string usage_words(const CLI::App& app, const CLI::ParseError& error);

}  // namespace sheaf::cli
