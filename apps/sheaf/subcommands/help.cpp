#include "apps/sheaf/arguments.hpp"
#include "apps/sheaf/command.hpp"
#include "apps/sheaf/manual/page.hpp"
#include "core/printable.hpp"

// The subcommand help: what `sheaf SUBCOMMAND --help` prints.
namespace sheaf::cli {
namespace {

constexpr const char* help_footer =
    "Example: the options of sort\n"
    "  sheaf help sort";

void print_help(const CLI::App& app, const std::string& wanted) {
  if (wanted.empty()) {
    fmt::print("{}", help_text(page_of(app)));
    return;
  }
  std::vector<std::string> names;
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == wanted) {
      fmt::print("{}", help_text(page_of(*each)));
      return;
    }
    if (!each->get_group().empty()) names.push_back(each->get_name());
  }
  const std::string nearest = nearest_name(wanted, names);
  throw CLI::ValidationError(fmt::format("'{}' is not a subcommand{}", core::printable(wanted),
                                         nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

}  // namespace

void add_help(CLI::App& app) {
  const auto wanted = std::make_shared<std::string>();
  CLI::App* const subcommand = app.add_subcommand("help", "Describe a subcommand and its options");
  std::string names;
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) names += fmt::format("{}{}", names.empty() ? "" : "|", each->get_name());
  }
  subcommand->add_option("SUBCOMMAND", *wanted, "The subcommand; all of them unless given")->type_name(names);
  subcommand->footer(help_footer);
  subcommand->callback([&app, wanted] { print_help(app, *wanted); });
}

}  // namespace sheaf::cli
