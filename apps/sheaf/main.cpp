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

#include "apps/sheaf/arguments.hpp"
#include "apps/sheaf/command.hpp"
#include "apps/sheaf/empty_values.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/manual/page.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "apps/sheaf/usage_words.hpp"
#include "lab/description/entry.hpp"
#include "plan/store/file_mapping.hpp"
#include "plan/store/temporary_names.hpp"

namespace sheaf::cli {
namespace {

// Whether a failure is printed as a document, too.
bool json_is_wanted = false;
// Whether standard output is for a result, and for nothing else.
bool standard_output_is_wanted = false;
// Whether other processes of MPI may wait for what this one does.
bool work_is_divided = false;

// What is said of an input that shrinks, around its name. A signal handler reads it, which is installed after it is
// set.
struct shrunken_input_texts {
  std::string words_before, words_after = ": was cut short while it was read\n";
  std::string document_before, document_after;
  bool is_on_terminal = false;
} about_shrunken_input;

bool write_all(int descriptor, std::initializer_list<const char*> texts) {
  return std::ranges::all_of(texts, [&](const char* text) { return write(descriptor, text, std::strlen(text)) >= 0; });
}

// Writes a name with its control characters, and `quote` and backslashes where it is quoted, as escapes of JSON.
void write_escaped(int descriptor, const char* name, char quote) {
  constexpr const char* digits = "0123456789abcdef";
  for (; *name != '\0'; ++name) {
    const auto byte = static_cast<unsigned char>(*name);
    const char code[] = {'\\', 'u', '0', '0', digits[byte / 16], digits[byte % 16], '\0'};
    const char escaped[] = {'\\', *name, '\0'};
    const char plain[] = {*name, '\0'};
    const bool is_control = byte < ' ' || byte == 0x7f;
    const bool is_special = quote != '\0' && (*name == quote || *name == '\\');
    write_all(descriptor, {is_control ? code : is_special ? escaped : plain});
  }
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
  const shrunken_input_texts& about = about_shrunken_input;
  write_all(STDERR_FILENO, {about.words_before.c_str()});
  about.is_on_terminal ? write_escaped(STDERR_FILENO, path, '\0') : static_cast<void>(write_all(STDERR_FILENO, {path}));
  write_all(STDERR_FILENO, {about.words_after.c_str()});
  if (json_is_wanted) {
    const int documents = standard_output_is_wanted ? STDERR_FILENO : STDOUT_FILENO;
    write_all(documents, {about.document_before.c_str()});
    write_escaped(documents, path, '"');
    write_all(documents, {about.document_after.c_str()});
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
// such a descriptor goes what cannot be written to, or read from, as a closed one cannot.
void occupy_closed_descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest number that is free.
    const int mode = standard == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (fcntl(standard, F_GETFD) < 0 && open("/dev/null", mode) != standard) return;
  }
}

// Whether a word is the name of a call of the library, by which it begins its messages.
bool is_call(std::string_view word) {
  const auto has_name = [&](const primitives::entry* e) {
    return word == e->name || word == fmt::format("prepare_{}", e->name);
  };
  return word == "multi_split_index" || std::ranges::any_of(primitives::entries(), has_name);
}

// Cuts the name of the call from a message of the library, because the program prints the subcommand. A plan is not of
// one call, so that it keeps the name.
std::string_view without_name(std::string_view message, std::string_view subcommand) {
  const std::size_t colon = message.find(": ");
  if (subcommand.empty() || colon == message.npos) return message;
  const std::string_view first = message.substr(0, colon);
  const bool is_named = first == subcommand || (subcommand != "plan" && is_call(first));
  return is_named ? message.substr(colon + 2) : message;
}

std::string chosen_subcommand(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "" : chosen.front()->get_name();
}

bool is_quiet(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return false;
  const CLI::Option* const quiet = chosen.front()->get_option_no_throw("--quiet");
  return quiet != nullptr && quiet->count() > 0;
}

/// What went wrong, for people and for programs.
struct failure {
  exit_code exit;
  std::string_view code;  ///< name of an error_code, "usage" or "verification_failed"
  std::string message;
  std::string hint = {};                             ///< a line more for people
  nlohmann::json report = nlohmann::json::object();  ///< the other members of the document
};

nlohmann::json document_of(const failure& f, const std::string& subcommand, const std::string& message) {
  nlohmann::json document = f.report;
  if (!subcommand.empty()) document["command"] = subcommand;
  document["error"] = {{"code", f.code}, {"message", message}};
  return document;
}

// What cannot be written here was written before, or nowhere: a full disk is reported on stderr and by the exit code.
void print_failure(const nlohmann::json& document) {
  const std::string text = text_of_document(document);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// The exit code says what happened, also where nobody can be told in words.
int complain(const std::string& subcommand, const failure& failure) {
  const std::string message(without_name(failure.message, subcommand));
  std::fflush(stdout);
  if (standard_output_is_wanted) io::take_standard_output();
  if (json_is_wanted) print_failure(document_of(failure, subcommand, message));
  const std::string words = fmt::format("sheaf{}{}: {}\n{}", subcommand.empty() ? "" : " ", subcommand,
                                        shown_on(stderr, message), failure.hint);
  static_cast<void>(std::fwrite(words.data(), 1, words.size(), stderr));
  return failure.exit;
}

// Another process, which may not have found the same, hears of it.
int complain_of_all(const std::string& subcommand, const failure& failure) {
  if (work_is_divided) {
    const bool is_input = failure.exit == exit_bad_input;
    tell_ranks(failure.exit == exit_usage ? error_code::bad_argument
               : is_input                 ? error_code::bad_input
                                          : error_code::internal,
               failure.message);
  }
  return complain(subcommand, failure);
}

int complain(const CLI::App& app, const failure& failure) { return complain_of_all(chosen_subcommand(app), failure); }

failure usage_failure(const std::string& subcommand, std::string message) {
  return {exit_usage, "usage", std::move(message),
          fmt::format("Try: sheaf{}{} --help\n", subcommand.empty() ? "" : " ", subcommand)};
}

// What was printed may be in a buffer, and fail to leave it.
int done(const CLI::App& app) {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return complain(
        app, {exit_out_of_space, name(error_code::io_failure),
              fmt::format("standard {} cannot be written", io::is_standard_output_taken() ? "error" : "output")});
  return exit_done;
}

int usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help and --version
    app.exit(error);
    return done(app);
  }
  return complain(app, usage_failure(chosen_subcommand(app), usage_words(app, error)));
}

// Help is given whatever else stands there, as CLI11 does.
bool asks_for_help(std::span<const std::string> arguments) {
  return std::ranges::any_of(arguments, [](const std::string& text) { return text == "--help" || text == "-h"; });
}

// What one of several processes of MPI does with arguments. Help, plans and complaints are printed once.
role_on_ranks role_of(const CLI::App* subcommand, std::span<const std::string> arguments) {
  if (subcommand == nullptr || asks_for_help(arguments) || wants_plan(arguments)) return role_on_ranks::prints;
  return role_of_subcommand(subcommand->get_name());
}

struct known_subcommand {
  std::string_view name;
  void (*add_to)(CLI::App& app);
  bool needs_all = false;  ///< works by what all other subcommands take
};

// In the order of the help.
constexpr known_subcommand known_subcommands[] = {
    {"gather", add_gather},
    {"scatter", add_scatter},
    {"reduce", add_reduce},
    {"split", add_split},
    {"multi-split", add_multi_split},
    {"sort", add_sort},
    {"search", add_search},
    {"rank", add_rank},
    {"scan", add_scan},
    {"spmv", add_spmv},
    {"spmm", add_spmm},
    {"edges", add_edges},
    {"solve", add_solve},
    {"npb-cg", add_npb_cg},
    {"plan", add_plan, true},
    {"machine", add_machine},
    {"demo", add_demo},
    {"version", add_version},
    {"generate", add_generate, true},
    {"help", add_help, true},  // behind those whose names it knows
};

// The subcommand that a command line begins with, if it needs no other: to describe all of them takes longer than many
// of them work.
const known_subcommand* named_alone(int argc, const char* const* argv) {
  if (argc < 2) return nullptr;
  const auto* const named = std::ranges::find(known_subcommands, std::string_view(argv[1]), &known_subcommand::name);
  return named == std::end(known_subcommands) || named->needs_all ? nullptr : named;
}

// Those that the program does not have yet.
void add_subcommands(CLI::App& app) {
  for (const known_subcommand& each : known_subcommands) {
    const auto there = app.get_subcommands([&](const CLI::App* s) { return s->get_name() == each.name; });
    if (there.empty()) each.add_to(app);
  }
}

int run(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    if (unknown_argument(app, arguments) && !asks_for_help(arguments)) {
      add_subcommands(app);
      const auto unknown = unknown_argument(app, arguments);  // names other subcommands that know the argument
      return complain_of_all(unknown->subcommand, usage_failure(unknown->subcommand, unknown->words));
    }
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
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
  } catch (const measured_in_part& e) {
    return complain(app, {exit_measurement_failed, name(error_code::measurement_failed), e.what(), {}, e.report()});
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

void prepare_texts_of_shrunken_input(const std::string& subcommand) {
  constexpr std::string_view name_in_document = "\\u0001";  // of a character that no text here has
  shrunken_input_texts& about = about_shrunken_input;
  about.words_before = fmt::format("sheaf{}{}: ", subcommand.empty() ? "" : " ", subcommand);
  const std::string document = text_of_document(document_of({exit_bad_input, name(error_code::bad_input), {}},
                                                            subcommand, "\1: was cut short while it was read"));
  const std::size_t place = document.find(name_in_document);
  about.document_before = document.substr(0, place);
  about.document_after = document.substr(place + name_in_document.size());
  about.is_on_terminal = isatty(STDERR_FILENO) != 0;
}

constexpr const char* footer =
    "`sheaf help SUBCOMMAND` describes a subcommand, and ends with examples. The name - is standard input or output;\n"
    "when a result goes there, reports go to standard error. With --json, which may stand before the subcommand, a\n"
    "failure is a document too, with its code and message as \"error\".\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  1  an internal failure, or one of a device\n"
    "  2  usage: the command line cannot be done\n"
    "  3  bad input: the message names file, place and value\n"
    "  4  verification failed\n"
    "  5  out of memory or disk\n"
    "  6  backend or threads not available here\n"
    "  7  not converged: what was found is written\n"
    "  8  the machine is too busy to be measured, or was in part\n\n"
    "Environment:\n"
    "  SHEAF_THREADS   threads of the CPU, where --threads is not given\n"
    "  SHEAF_PROFILE   a machine profile to predict from\n"
    "  SHEAF_VARIANT   variants to run by, as gather:cpu.direct\n"
    "  SHEAF_LEARN     1: as --learn, of every command\n"
    "  TMPDIR          the folder of temporary files, where --temporary is not given; else /tmp\n"
    "  XDG_CACHE_HOME  the folder with measured profiles in sheaf; ~/.cache unless set\n\n"
    "Example: what this machine would do with a gather of a million records of 16 bytes\n"
    "  sheaf plan gather --count 1000000 --table 1000000 --record-bytes 16";

}  // namespace
}  // namespace sheaf::cli

int main(int argc, char** argv) try {
  using namespace sheaf::cli;
  occupy_closed_descriptors();
  CLI::App app("Irregular memory access at memory speed: gather, scatter, split, sort and what is built on them.",
               "sheaf");
  app.formatter(std::make_shared<help_formatter>());
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", "sheaf " SHEAF_VERSION);
  bool json_before_subcommand = false;  // ordered_arguments() puts it where the subcommand reads it
  CLI::Option* const json = app.add_flag("--json", json_before_subcommand,
                                         "Print one JSON document, of a failure too: the subcommand's --json");
  app.footer(footer);
  if (const known_subcommand* const named = named_alone(argc, argv)) {
    named->add_to(app);
  } else {
    add_subcommands(app);
  }
  const std::vector<std::string> arguments = like_another(app, ordered_arguments(app, argc, argv));
  const CLI::App* const subcommand = subcommand_of(app, arguments);
  json_is_wanted = wants_json(arguments);
  if (wants_plan(arguments)) {
    sheaf::io::leave_standard_output();
  } else {
    standard_output_is_wanted = subcommand != nullptr && wants_standard_output(*subcommand, arguments);
  }
  const bool is_first = started_rank() == 0;
  if (started_ranks() > 1) {
    const role_on_ranks role = role_of(subcommand, arguments);
    work_is_divided = role == role_on_ranks::divides;
    if (!work_is_divided && !is_first) return exit_done;
    if (role == role_on_ranks::refuses) {
      return complain(subcommand->get_name(), {exit_usage, name(sheaf::error_code::bad_argument),
                                               "does not divide its work between processes of MPI: start one"});
    }
  }
  // CLI11 gives the program what a subcommand has no operand for, so that `-- --json` would be this option. Help shows
  // it.
  if (subcommand != nullptr && subcommand->get_option_no_throw("--json") != nullptr) app.remove_option(json);
  prepare_texts_of_shrunken_input(subcommand == nullptr ? "" : subcommand->get_name());
  watch_inputs();
  sheaf::io::remove_temporaries_on_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a write past the limit on file sizes then fails with an error message
  refuse_empty_values(app, arguments);
  app.parse_complete_callback([&app, is_first] {
    if (is_first && !is_quiet(app)) sheaf::io::show_progress();
  });
  return run(app, arguments);
} catch (const std::bad_alloc&) {  // also of a message's own bytes
  return sheaf::cli::exit_out_of_space;
} catch (...) {
  return sheaf::cli::exit_internal;
}
