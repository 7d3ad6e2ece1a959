#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <sheaf/version.hpp>

#include "cli/command.hpp"

namespace sheaf::cli {
namespace {

// SIGBUS means that somebody truncated a mapped input while it was read. Only async-signal-safe calls are allowed here.
extern "C" void input_shrank(int) {
  constexpr std::string_view words = "sheaf: an input file was cut short while it was read\n";
  const auto written = write(STDERR_FILENO, words.data(), words.size());
  _exit(written < 0 ? exit_internal : exit_bad_input);
}

// Cuts the call's name from a message of the library, because the program prints the name itself.
std::string_view without_name(std::string_view message, std::string_view subcommand) {
  const bool named =
      !subcommand.empty() && message.starts_with(subcommand) && message.substr(subcommand.size()).starts_with(": ");
  return named ? message.substr(subcommand.size() + 2) : message;
}

std::string subcommand_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "" : chosen.front()->get_name();
}

int complain(const CLI::App& app, exit_code code, std::string_view message) {
  const std::string subcommand = subcommand_of(app);
  std::fflush(stdout);
  fmt::print(stderr, "sheaf{}{}: {}\n", subcommand.empty() ? "" : " ", subcommand, without_name(message, subcommand));
  return code;
}

int usage(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
  const std::string subcommand = subcommand_of(app);
  const std::vector<std::string> unknown = app.remaining();
  const std::string what = subcommand.empty() && !unknown.empty()
                               ? fmt::format("'{}' is no subcommand", unknown.front())
                               : std::string(e.what());
  return complain(app, exit_usage,
                  fmt::format("{}\nTry: sheaf{}{} --help", what, subcommand.empty() ? "" : " ", subcommand));
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return complain(app, exit_out_of_space, "standard output cannot be written");
    return exit_done;
  } catch (const CLI::ParseError& e) {
    return usage(app, e);
  } catch (const verification_failed& e) {
    return complain(app, exit_verification_failed, fmt::format("verification failed: {}", e.what()));
  } catch (const error& e) {
    return complain(app, exit_code_of(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return complain(app, exit_out_of_space, "out of memory");
  } catch (const std::system_error& e) {
    return complain(app, exit_out_of_space, e.what());
  } catch (const std::exception& e) {
    return complain(app, exit_internal, fmt::format("internal error: {}", e.what()));
  }
}

constexpr const char* footer =
    "Exit codes: 0 done, 1 internal, 2 usage, 3 bad input, 4 verification failed, 5 out of memory or disk,\n"
    "6 backend not available here.\n\n"
    "Example: what this machine would do with a gather of a million records of 16 bytes\n"
    "  sheaf plan gather --count 1000000 --table 1000000 --bytes 16\n"
    "sheaf SUBCOMMAND --help ends with an example, too.";

}  // namespace
}  // namespace sheaf::cli

int main(int argc, char** argv) try {
  using namespace sheaf::cli;
  std::signal(SIGBUS, input_shrank);
  std::signal(SIGXFSZ, SIG_IGN);  // a write past the limit on file sizes then fails with an error message
  CLI::App app("Irregular memory access at memory speed: gather, scatter, split, sort and what is built on them.",
               "sheaf");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sheaf " SHEAF_VERSION);
  app.footer(footer);
  add_demo(app);
  add_gather(app);
  add_scatter(app);
  add_split(app);
  add_sort(app);
  add_plan(app);
  add_machine(app);
  add_version(app);
  return run(app, argc, argv);
} catch (...) {
  return sheaf::cli::exit_internal;  // even standard error cannot be written
}
