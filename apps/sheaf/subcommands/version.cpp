#include <fmt/ranges.h>
#include <sheaf/version.hpp>

#include "apps/sheaf/command.hpp"
#include "core/backends.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* version_footer =
    "Example: the version alone, for a script\n"
    "  sheaf version --json | python3 -c \"import json, sys; print(json.load(sys.stdin)['version'])\"";

std::vector<std::string> backends() {
  std::vector<std::string> built = {"reference"};
  for (const core::backend& b : core::backends()) {
    if (b.is_built()) built.emplace_back(b.name);
  }
  return built;
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

nlohmann::json compilers() {
  nlohmann::json used = {{"c++", compiler()}};
#ifdef SHEAF_CUDA_COMPILER
  used["cuda"] = SHEAF_CUDA_COMPILER;
#endif
  return used;
}

void run(const common_options& o) {
  const nlohmann::json used = compilers();
  if (o.json) {
    print_json({{"command", "version"}, {"version", SHEAF_VERSION}, {"backends", backends()}, {"compilers", used}});
    return;
  }
  fmt::print("sheaf {}\nbackends: {}\n", SHEAF_VERSION, fmt::join(backends(), ", "));
  for (const auto& [language, words] : used.items()) fmt::print("{}: {}\n", language, words.get<std::string>());
}

}  // namespace

void add_version(CLI::App& app) {
  const auto options = std::make_shared<common_options>();
  CLI::App* subcommand =
      app.add_subcommand("version", "The version, the backends that are built in, and the compilers");
  options->add_json_to(*subcommand);
  subcommand->footer(version_footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
