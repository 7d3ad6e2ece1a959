#include <filesystem>
#include <system_error>

#include <sheaf/version.hpp>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/manual/page.hpp"
#include "plan/store/output_file.hpp"

// The subcommand generate, which builds and documents run: manual pages, completions and the table of options.
namespace sheaf::cli {
namespace {

constexpr const char* generate_footer =
    "man, bash, zsh and fish write files of share below FOLDER; options prints a table.\n\n"
    "Example: the manual pages of an installation\n"
    "  sheaf generate man share";

struct generate_command {
  std::string what;
  std::string folder;
};

void write_page(const std::filesystem::path& path, const std::string& text) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);
  if (problem) {
    io::throw_error(error_code::io_failure, "{}: cannot be created: {}", path.parent_path().string(),
                    problem.message());
  }
  io::write_file(path.string(), text);
}

void run(const generate_command& command, const CLI::App& app) {
  const std::vector<command_page> pages = pages_of(app);
  if (command.what == "options") {
    if (!command.folder.empty()) primitives::refuse("options are printed, and need no FOLDER");
    fmt::print("{}", option_table(pages));
    return;
  }
  if (command.folder.empty()) primitives::refuse("FOLDER is required for {}", command.what);
  const std::filesystem::path folder = command.folder;
  if (command.what == "man") {
    for (const command_page& page : pages) {
      const std::string stem = page.subcommand.empty() ? page.program : page.program + "-" + page.subcommand;
      write_page(folder / "man" / "man1" / (stem + ".1"), man_text(page, SHEAF_VERSION));
    }
  } else if (command.what == "bash") {
    write_page(folder / "bash-completion" / "completions" / "sheaf", bash_completion(pages));
  } else if (command.what == "zsh") {
    write_page(folder / "zsh" / "site-functions" / "_sheaf", zsh_completion(pages));
  } else {
    write_page(folder / "fish" / "vendor_completions.d" / "sheaf.fish", fish_completion(pages));
  }
}

}  // namespace

void add_generate(CLI::App& app) {
  const auto command = std::make_shared<generate_command>();
  CLI::App* const subcommand =
      app.add_subcommand("generate", "Write manual pages, completions or the table of options");
  subcommand->group("");  // which hides it: only builds and documents need it
  subcommand->add_option("WHAT", command->what, "What is made: man, bash, zsh, fish or options")
      ->required()
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish", "options"}));
  subcommand->add_option("FOLDER", command->folder, "Where the files go, as in share")->type_name("");
  subcommand->footer(generate_footer);
  subcommand->callback([&app, command] { run(*command, app); });
}

}  // namespace sheaf::cli
