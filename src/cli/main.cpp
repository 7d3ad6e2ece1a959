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

// Whether a failure is printed as a document, too. A signal handler reads it, which is installed after it is set.
bool json_is_wanted = false;

// SIGBUS means that somebody truncated a mapped input while it was read. Only async-signal-safe calls are allowed here.
extern "C" void input_shrank(int) {
  constexpr std::string_view words = "sheaf: an input file was cut short while it was read\n";
  constexpr std::string_view document =
      "{\n  \"error\": {\n    \"code\": \"bad_input\",\n    \"message\": \"an input file was cut short while it was "
      "read\"\n  },\n  \"schema_version\": 1\n}\n";
  static_assert(json_schema_version == 1);
  const auto written = write(STDERR_FILENO, words.data(), words.size());
  const bool is_said = written >= 0 && (!json_is_wanted || write(STDOUT_FILENO, document.data(), document.size()) >= 0);
  _exit(is_said ? exit_bad_input : exit_internal);
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

/// What went wrong, for people and for programs.
struct failure {
  exit_code exit;
  std::string_view code;  ///< name of an error_code, "usage" or "verification_failed"
  std::string message;
  std::string hint = {};                             ///< a line more for people
  nlohmann::json report = nlohmann::json::object();  ///< the other members of the document
};

// What cannot be written here was written before, or nowhere: a full disk is reported on stderr and by the exit code.
void print_failure(const failure& f, const std::string& message) {
  nlohmann::json document = f.report;
  document["error"] = {{"code", f.code}, {"message", message}};
  document["schema_version"] = json_schema_version;
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int complain(const CLI::App& app, const failure& f) {
  const std::string subcommand = subcommand_of(app);
  const std::string message(without_name(f.message, subcommand));
  std::fflush(stdout);
  if (json_is_wanted) print_failure(f, message);
  fmt::print(stderr, "sheaf{}{}: {}\n{}", subcommand.empty() ? "" : " ", subcommand, message, f.hint);
  return f.exit;
}

int usage(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
  const std::string subcommand = subcommand_of(app);
  std::vector<std::string> unknown = app.remaining();
  std::erase(unknown, "--json");  // known to every subcommand, and obeyed without one
  const std::string what = subcommand.empty() && !unknown.empty()
                               ? fmt::format("'{}' is no subcommand", unknown.front())
                               : std::string(e.what());
  return complain(app, {exit_usage, "usage", what,
                        fmt::format("Try: sheaf{}{} --help\n", subcommand.empty() ? "" : " ", subcommand)});
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return complain(app, {exit_out_of_space, name(error_code::io_failure), "standard output cannot be written"});
    return exit_done;
  } catch (const CLI::ParseError& e) {
    return usage(app, e);
  } catch (const verification_failed& e) {
    return complain(app, {exit_verification_failed,
                          "verification_failed",
                          fmt::format("verification failed: {}", e.what()),
                          {},
                          e.report()});
  } catch (const error& e) {
    return complain(app, {exit_code_of(e.code()), name(e.code()), e.what()});
  } catch (const std::bad_alloc&) {
    return complain(app, {exit_out_of_space, name(error_code::out_of_memory), "out of memory"});
  } catch (const std::system_error& e) {
    return complain(app, {exit_out_of_space, name(error_code::io_failure), e.what()});
  } catch (const std::exception& e) {
    return complain(app, {exit_internal, name(error_code::internal), fmt::format("internal error: {}", e.what())});
  }
}

constexpr const char* footer =
    "Exit codes: 0 done, 1 internal, 2 usage, 3 bad input, 4 verification failed, 5 out of memory or disk,\n"
    "6 backend not available here. With --json a failure is a document too, with its code and message as \"error\".\n\n"
    "Example: what this machine would do with a gather of a million records of 16 bytes\n"
    "  sheaf plan gather --count 1000000 --table 1000000 --bytes 16\n"
    "sheaf SUBCOMMAND --help ends with an example, too.";

}  // namespace
}  // namespace sheaf::cli

int main(int argc, char** argv) try {
  using namespace sheaf::cli;
  json_is_wanted = wants_json(argc, argv);
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
