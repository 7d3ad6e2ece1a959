#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

// A look at the command line before CLI11 reads it, which says what is missing before it says what is unknown.
namespace sheaf::cli {

/// The arguments of a program in the order in which they are read: --json, which every subcommand has, may stand before
/// the subcommand.
std::vector<std::string> ordered_arguments(const CLI::App& app, int argc, const char* const* argv);

/// Whether --json stands among arguments, also as --json=true, which need not be arguments that can be read.
bool wants_json(std::span<const std::string> arguments);

/// An option of subcommands that plan, which no help shows: print what the subcommand would do, and do nothing.
constexpr std::string_view plan_only_option = "--plan-only";
/// Arguments that say `plan --like SUBCOMMAND ...`, as those of SUBCOMMAND with the option above, so that they are read
/// as its own; any others as they are. @param arguments  of ordered_arguments()
std::vector<std::string> like_another(CLI::App& app, std::vector<std::string> arguments);
/// Whether arguments of like_another() are for a plan.
bool wants_plan(std::span<const std::string> arguments);
/// The subcommands that plan; the one of that name, or null.
std::vector<std::string> planning_subcommands(const CLI::App& app);
CLI::App* planning_subcommand(CLI::App& app, const std::string& name);

/// Whether -o of such arguments is standard output, so that nothing else goes there.
bool wants_standard_output(const CLI::App& subcommand, std::span<const std::string> arguments);

/// The subcommand that arguments name, or null.
const CLI::App* subcommand_of(const CLI::App& app, std::span<const std::string> arguments);

/// An argument that is neither a subcommand nor an option of one.
struct argument_fault {
  std::string subcommand;  ///< behind which it stands, or empty
  std::string words;       ///< what is wrong, with the name that was probably meant
};
/// The first such argument; none if all are known.
std::optional<argument_fault> unknown_argument(const CLI::App& app, std::span<const std::string> arguments);

/// The known name that is nearest to a text, if it is near; else empty.
std::string nearest_name(std::string_view text, std::span<const std::string> known);

}  // namespace sheaf::cli
