#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sheaf/version.hpp>

#include "cli/command.hpp"
#include "io/file_mapping.hpp"

namespace sheaf::cli {
namespace {

// SIGBUS at an address of a mapped input means that somebody truncated the file while it was read. Elsewhere it is a
// failure of its own, of which the process dies when it returns. Only async-signal-safe calls are allowed here.
extern "C" void input_shrank(int, siginfo_t* info, void*) {
  const char* const path = io::path_of_mapped(info->si_addr);
  if (path == nullptr) {
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  for (const char* const words : {"sheaf: ", path, ": was cut short while it was read\n"}) {
    if (write(STDERR_FILENO, words, std::strlen(words)) < 0) break;
  }
  _exit(exit_bad_input);
}

void watch_inputs() {
  struct sigaction action {};
  action.sa_sigaction = input_shrank;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

// A file that is opened while a standard descriptor is closed takes its place, and would get what is printed. Behind
// such a descriptor goes what cannot be written to, as a closed one cannot.
void occupy_closed_descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest number that is free.
    if (fcntl(standard, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != standard) return;
  }
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

// The exit code says what happened, also where nobody can be told in words.
int complain(const CLI::App& app, exit_code code, std::string_view message) {
  const std::string subcommand = subcommand_of(app);
  std::fflush(stdout);
  const std::string line =
      fmt::format("sheaf{}{}: {}\n", subcommand.empty() ? "" : " ", subcommand, without_name(message, subcommand));
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
  return code;
}

// What was printed may be in a buffer, and fail to leave it.
int done(const CLI::App& app) {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return complain(app, exit_out_of_space, "standard output cannot be written");
  return exit_done;
}

int usage(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) {  // --help and --version
    app.exit(e);
    return done(app);
  }
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
    return done(app);
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
  occupy_closed_descriptors();
  watch_inputs();
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
  return sheaf::cli::exit_internal;
}
