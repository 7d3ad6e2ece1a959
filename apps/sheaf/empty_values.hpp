#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

// What a shell makes of a variable that is not set: `--save "$FILE"`, `--save=$FILE` and `--widths 4,$WIDTH,8`.
namespace sheaf::cli {

/// Lets the command line refuse empty values, of every option and positional of the app and its subcommands: a usage
/// error that names the option. CLI11 takes an empty text for a value, the argument after `--save=` for that of --save,
/// the sign for that of `-o=`, and leaves empty items of lists out. Called after the last option was added, before
/// app.parse().
/// @param arguments  all behind the name of the program
void refuse_empty_values(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace sheaf::cli
