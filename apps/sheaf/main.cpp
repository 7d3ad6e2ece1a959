#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <sheaf/version.hpp>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/empty_values.hpp"
#include "plan/store/file_mapping.hpp"
#include "plan/store/temporary_names.hpp"

namespace sheaf::cli {
namespace {

// Whether a failure is printed as a document, too. A signal handler reads it, which is installed after it is set.
bool json_is_wanted = false;

bool write_all(int descriptor, std::initializer_list<const char*> texts) {
  return std::ranges::all_of(texts, [&](const char* text) { return write(descriptor, text, std::strlen(text)) >= 0; });
}

// SIGBUS at an address of a mapped input means that somebody truncated the file while it was read. Elsewhere it is a
// failure of its own, of which the process dies when it returns. Only async-signal-safe calls are allowed here.
extern "C" void input_shrank(int, siginfo_t* info, void*) {
  const char* const path = io::path_of_mapped(info->si_addr);
  io::remove_temporaries();
  if (path == nullptr) {
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  static_assert(json_schema_version == 1);
  write_all(STDERR_FILENO, {"sheaf: ", path, ": was cut short while it was read\n"});
  if (json_is_wanted) {
    write_all(
        STDOUT_FILENO,
        {"{\n  \"error\": {\n    \"code\": \"bad_input\",\n    \"message\": \"an input file was cut short while it "
         "was read\"\n  },\n  \"schema_version\": 1\n}\n"});
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

// The exit code says what happened, also where nobody can be told in words.
int complain(const CLI::App& app, const failure& failure) {
  const std::string subcommand = subcommand_of(app);
  const std::string message(without_name(failure.message, subcommand));
  std::fflush(stdout);
  if (json_is_wanted) print_failure(failure, message);
  const std::string words =
      fmt::format("sheaf{}{}: {}\n{}", subcommand.empty() ? "" : " ", subcommand, message, failure.hint);
  static_cast<void>(std::fwrite(words.data(), 1, words.size(), stderr));
  return failure.exit;
}

// What was printed may be in a buffer, and fail to leave it.
int done(const CLI::App& app) {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return complain(app, {exit_out_of_space, name(error_code::io_failure), "standard output cannot be written"});
  return exit_done;
}

int usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help and --version
    app.exit(error);
    return done(app);
  }
  const std::string subcommand = subcommand_of(app);
  std::vector<std::string> unknown = app.remaining();
  std::erase(unknown, "--json");  // known to every subcommand, and obeyed without one
  const std::string what = subcommand.empty() && !unknown.empty()
                               ? fmt::format("'{}' is not a subcommand", unknown.front())
                               : std::string(error.what());
  return complain(app, {exit_usage, "usage", what,
                        fmt::format("Try: sheaf{}{} --help\n", subcommand.empty() ? "" : " ", subcommand)});
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return done(app);
  } catch (const CLI::ParseError& e) {
    return usage(app, e);
  } catch (const verification_failed& failure) {
    return complain(app, {exit_verification_failed,
                          "verification_failed",
                          fmt::format("verification failed: {}", failure.what()),
                          {},
                          failure.report()});
  } catch (const not_converged& e) {
    return complain(app, {exit_not_converged, "not_converged", e.what(), {}, e.report()});
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
    "6 backend or threads not available here, 7 machine too busy to be measured, or system not solved. With --json a\n"
    "failure is a document too, with its code and message as \"error\".\n\n"
    "Example: what this machine would do with a gather of a million records of 16 bytes\n"
    "  sheaf plan gather --count 1000000 --table 1000000 --bytes 16\n"
    "sheaf SUBCOMMAND --help also ends with an example.";

}  // namespace
}  // namespace sheaf::cli

int main(int argc, char** argv) try {
  using namespace sheaf::cli;
  json_is_wanted = wants_json(argc, argv);
  occupy_closed_descriptors();
  watch_inputs();
  sheaf::io::remove_temporaries_on_signals();
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
  add_multi_split(app);
  add_sort(app);
  add_rank(app);
  add_scan(app);
  add_search(app);
  add_spmv(app);
  add_edges(app);
  add_solve(app);
  add_npb_cg(app);
  add_plan(app);
  add_machine(app);
  add_version(app);
  refuse_empty_values(app, argc, argv);
  return run(app, argc, argv);
} catch (const std::bad_alloc&) {  // also of a message's own bytes
  return sheaf::cli::exit_out_of_space;
} catch (...) {
  return sheaf::cli::exit_internal;
}
