#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/sheaf/exit_code.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "primitives/enum_names.hpp"

// What all subcommands share. Each subcommand has a file of its own, adds itself to the app, and works in its callback.
// Failures are exceptions, which main.cpp turns into a message on stderr and an exit code.
namespace sheaf::cli {

constexpr int json_schema_version = 1;

/// Thrown when --verify finds a wrong answer.
class verification_failed : public std::runtime_error {
 public:
  /// @param report  what the command says of the answer with --json, in the document that also says what is wrong.
  explicit verification_failed(const std::string& what, nlohmann::json report = nlohmann::json::object())
      : std::runtime_error(what), report_(std::move(report)) {}
  const nlohmann::json& report() const noexcept { return report_; }

 private:
  nlohmann::json report_;
};

/// Thrown when an iteration has written the best that it found, which is not what was asked for.
class not_converged : public std::runtime_error {
 public:
  /// @param report  as in verification_failed
  not_converged(const std::string& what, nlohmann::json report)
      : std::runtime_error(what), report_(std::move(report)) {}
  const nlohmann::json& report() const noexcept { return report_; }

 private:
  nlohmann::json report_;
};

/// Thrown when a measurement is stored that lacks some of its figures.
class measured_in_part : public std::runtime_error {
 public:
  /// @param report  as in verification_failed
  measured_in_part(const std::string& what, nlohmann::json report)
      : std::runtime_error(what), report_(std::move(report)) {}
  const nlohmann::json& report() const noexcept { return report_; }

 private:
  nlohmann::json report_;
};

/// Options that several subcommands take. A subcommand adds those that make a difference to it.
struct common_options {
  static constexpr const char* by_reference = "Check the answer against the serial reference";

  std::string backend = "auto";  ///< auto, reference, or a backend's name: cpu, cuda, opengl
  int threads = 0;               ///< threads to use; 0: all
  /// GPUs that divide the work, by CUDA's numbers; none of them: all that there are. Without a value the work is not
  /// divided between GPUs.
  std::optional<std::vector<int>> devices;
  std::string command_name;  ///< of the subcommand that has these options
  bool json = false;         ///< print one JSON document on stdout
  bool verify = false;
  bool quiet = false;
  bool verbose = false;                       ///< say on stderr which variants there were, and which one ran
  std::string variant_name;                   ///< the variant to force; empty: the planner's choice
  std::uint64_t runs = 0;                     ///< how often the work is done and timed; 0: once, and nobody asked
  bool learns = false;                        ///< choose between close plans by the times of the first runs
  std::optional<std::uint64_t> memory_limit;  ///< bytes that scratch and buffers may take together
  /// The subcommand says itself which profiles are used and which are not.
  bool shows_profile = false;
  bool plans_only = false;  ///< print what the subcommand would do, as `sheaf plan --like` does, and do nothing

  /// --json, of a document that names the subcommand
  void add_json_to(CLI::App& app);
  /// --quiet, for subcommands that do more than print.
  void add_quiet_to(CLI::App& subcommand);
  /// --verbose, behind --quiet, for subcommands that choose a variant and say so by print_variants().
  void add_verbose_to(CLI::App& subcommand);
  /// --variant, for subcommands of one primitive. @param primitive  as sheaf plan calls it
  void add_variant_to(CLI::App& subcommand, std::string_view primitive);
  /// --runs. @param text  what is done so many times
  void add_runs_to(CLI::App& subcommand, const std::string& text = "Do the work this many times, and report the times");
  /// --learn, behind --runs and --variant, for subcommands whose calls contexts learn of (context::learn).
  void add_learn_to(CLI::App& subcommand);
  /// --backend and --threads, for subcommands that make contexts.
  void add_context_to(CLI::App& subcommand);
  /// --devices, for subcommands that divide their work between GPUs.
  void add_devices_to(CLI::App& subcommand);
  /// --verify. @param text  what it does
  void add_verify_to(CLI::App& subcommand, const std::string& text = by_reference);
  /// --memory, for subcommands whose calls take scratch. It counts buffers that are io::held_memory.
  void add_memory_to(CLI::App& subcommand);
  /// --temporary, for subcommands that read files.
  static void add_temporary_to(CLI::App& subcommand);
  /// What `sheaf plan --like` passes to a subcommand; no help shows it.
  void add_plan_to(CLI::App& subcommand);
  /// All of these but --verify, --temporary and the last; and all but the last two.
  void add_to(CLI::App& subcommand);
  void add_to(CLI::App& subcommand, const std::string& verify_text);

  /// Leaves to the scratch of each call on ctx what --memory leaves beside the buffers that are held by now.
  void limit_scratch(const context& ctx) const;
  /// @throws error(out_of_memory) saying how much is needed, if --memory leaves too little scratch for every variant;
  /// error(bad_argument) for a variant that there is not, which a call without any work does not look for
  void require_scratch(const explanation& plan) const { require_scratch(plan, variant()); }
  /// @param forced  the variant that the plan has to take; empty: any
  void require_scratch(const explanation& plan, std::string_view forced) const;
  /// With --verify, asks for what the check takes before any work. @throws error(out_of_memory)
  void require_memory_to_verify(std::uint64_t bytes) const;
  /// A context of the backend, limited to --memory. Warns, once, where SHEAF_PROFILE is of another backend.
  /// @throws error(backend_unavailable), error(bad_argument) for threads of a backend that has none
  context make_context() const;
  /// The same of that backend, whatever --backend says.
  context make_context(backend_kind kind) const;
  /// The context of a command that solves systems. --backend auto takes the CPU where a device's backend has no variant
  /// of conjugate gradient. @throws error(no_variant) saying what to take instead, before any work, where a backend
  /// that has none is named
  context make_system_context() const;
  /// The variant to force: the one that --variant names, else that of the backend.
  std::string_view variant() const { return variant_name.empty() ? variant_of_backend() : variant_name; }
  /// reference.serial for the reference backend, else empty.
  std::string_view variant_of_backend() const;
  bool is_reference() const { return backend == "reference"; }
  /// Whether the caller names the variant, so that nothing is prepared for runs by another.
  bool forces_variant() const { return !variant().empty(); }
  /// How much of the inputs is wanted where a plan needs their sizes alone.
  io::reading wanted() const { return plans_only ? io::reading::header : io::reading::all; }
  /// Threads for work on the host, as reading files, wherever the context works.
  int host_threads() const { return context::cpu(threads).threads(); }

 private:
  void warn_of_profile(const context& ctx) const;
  mutable bool has_warned_ = false;
};

/// Adds the name of a file to read, which stands without an option.
CLI::Option* add_input(CLI::App& app, const std::string& name, std::string& path, const std::string& description);

/// What all reports of work on a context begin with: the subcommand, the backend, its device, its threads and its
/// profile.
nlohmann::json report_of(std::string_view command, const context& ctx);
/// A document as text: with its schema_version, and null for what every document has and this one knows nothing of.
std::string text_of_document(nlohmann::json document);
/// Prints it on stdout.
void print_json(nlohmann::json document);
/// The name of a file that may be none.
nlohmann::json json_path(const std::string& path);
/// Untrusted text, such as the name of a file, for `stream`: a terminal obeys control characters, so that they are
/// escaped there. Elsewhere the text stays as it is.
std::string shown_on(std::FILE* stream, std::string_view text);
/// The name of an input, "standard input" for `-`, for `stream`.
std::string shown_file(std::FILE* stream, const std::string& path);
/// Says which variants a plan had, what they were predicted to take, and which one ran. Only with --verbose.
void print_variants(const common_options& common, const explanation& plan);

/// Adds an option for a number of bytes, "512M"; anything else is a usage error that names the option.
CLI::Option* add_byte_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& bytes,
                           const std::string& description);

/// Adds an option for a whole number in decimal notation; anything else is a usage error that names the option.
/// @param names  "--threads", or with a short form "-j,--threads"
CLI::Option* add_number(CLI::App& app, const std::string& names, std::uint64_t least, std::uint64_t most,
                        std::function<void(std::uint64_t)> take, const std::string& description);

/// Adds an option for a whole number that goes to `to`.
template <class Number>
requires std::is_assignable_v<Number&, std::uint64_t> CLI::Option* add_number(CLI::App& app, const std::string& name,
                                                                              std::uint64_t least, std::uint64_t most,
                                                                              Number& to,
                                                                              const std::string& description) {
  return add_number(
      app, name, least, most, [&to](std::uint64_t number) { to = static_cast<Number>(number); }, description);
}

/// Adds an option for a real number. A text that is not a number, or not a finite one of 64 bits, is a usage error that
/// names the option; so is an empty text.
CLI::Option* add_real(CLI::App& app, const std::string& name, double& number, const std::string& description);

using primitives::bytes_text;
/// "3.21 ms", "9.97 GB/s"
std::string seconds_text(double seconds);
std::string rate_text(double bytes_per_second);

void add_demo(CLI::App& app);
void add_edges(CLI::App& app);
void add_gather(CLI::App& app);
void add_generate(CLI::App& app);
void add_help(CLI::App& app);
void add_machine(CLI::App& app);
void add_multi_split(CLI::App& app);
void add_npb_cg(CLI::App& app);
void add_plan(CLI::App& app);
void add_rank(CLI::App& app);
void add_reduce(CLI::App& app);
void add_scan(CLI::App& app);
void add_scatter(CLI::App& app);
void add_search(CLI::App& app);
void add_solve(CLI::App& app);
void add_sort(CLI::App& app);
void add_split(CLI::App& app);
void add_spmm(CLI::App& app);
void add_spmv(CLI::App& app);
void add_version(CLI::App& app);

}  // namespace sheaf::cli
