#include "apps/sheaf/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/ranges.h>

#include "apps/sheaf/arguments.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/memory_limit.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/files/text/number.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"
#include "core/printable.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

namespace sheaf::cli {
namespace {

constexpr std::uint64_t most_threads = 4096;

std::vector<std::string> backend_names() {
  std::vector<std::string> names{"auto", "reference"};
  for (const core::backend& b : core::backends()) names.emplace_back(b.name);
  return names;
}

// Whether a backend has a variant of conjugate gradient.
bool solves_systems(backend_kind kind) {
  const auto variants = primitives::conjugate_gradient_variants();
  return std::ranges::any_of(variants, [&](const auto& v) { return v.works_on(kind); });
}

// "all", of which there is no list, or "0,2". @throws CLI::ValidationError
std::vector<int> parse_devices(const std::string& text) {
  std::vector<int> devices;
  if (text == "all") return devices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto number = primitives::parse_number<std::uint16_t>(std::string_view(text).substr(begin, end - begin));
    if (!number) {
      throw CLI::ValidationError(
          "--devices", fmt::format("'{}' is neither all nor numbers of devices, as 0,1", core::printable(text)));
    }
    if (std::ranges::find(devices, static_cast<int>(*number)) != devices.end()) {
      throw CLI::ValidationError("--devices",
                                 fmt::format("'{}' names device {} twice", core::printable(text), *number));
    }
    devices.push_back(*number);
    begin = end + 1;
  }
  return devices;
}

}  // namespace

void common_options::add_json_to(CLI::App& app) {
  command_name = app.get_name();
  app.add_flag("--json", json, "Print one JSON document, of a failure too");
}

void common_options::add_quiet_to(CLI::App& subcommand) {
  subcommand.add_flag("-q,--quiet", quiet, "Print nothing but errors");
}

void common_options::add_verbose_to(CLI::App& subcommand) {
  subcommand
      .add_flag("-v,--verbose", verbose, "Say on standard error which variant ran, and what each was predicted to take")
      ->excludes(subcommand.get_option("--quiet"));
}

void common_options::add_variant_to(CLI::App& subcommand, std::string_view primitive) {
  subcommand
      .add_option("--variant", variant_name,
                  fmt::format("Run by this variant, as sheaf plan {} names them; the cheapest unless given", primitive))
      ->type_name("NAME");
}

void common_options::add_runs_to(CLI::App& subcommand, const std::string& text) {
  constexpr std::uint64_t most_runs = 1'000'000'000;
  add_number(subcommand, "--runs", 1, most_runs, runs, text);
}

void common_options::add_learn_to(CLI::App& subcommand) {
  subcommand
      .add_flag("--learn", learns,
                "Time the first runs on the CPU by the two cheapest variants, where these are close, and go on by the "
                "faster")
      ->needs(subcommand.get_option("--runs"))
      ->excludes(subcommand.get_option("--variant"));
}

void common_options::add_context_to(CLI::App& subcommand) {
  subcommand.add_option("--backend", backend, "Where the work runs; auto takes a GPU if there is one")
      ->check(CLI::IsMember(backend_names()))
      ->capture_default_str();
  add_number(subcommand, "-j,--threads", 1, most_threads, threads,
             "CPU threads; SHEAF_THREADS or OMP_NUM_THREADS unless given, else all processors");
}

void common_options::add_devices_to(CLI::App& subcommand) {
  subcommand
      .add_option_function<std::string>(
          "--devices", [this](const std::string& text) { devices = parse_devices(text); },
          "GPUs of this machine that divide the work: all, or CUDA's numbers of some, as 0,1; not with --verify, "
          "--runs, --variant, --memory, --threads or streams")
      ->type_name("all|N[,N...]");
}

void common_options::add_verify_to(CLI::App& subcommand, const std::string& text) {
  subcommand.add_flag("--verify", verify, text);
}

void common_options::add_memory_to(CLI::App& subcommand) {
  add_byte_size(subcommand, "--memory", memory_limit,
                "Most memory for scratch and buffers, such as 512M, 1.5G or 4GiB: results, what is read from text or "
                "unpacked, copies on a device, what is kept for runs; files that are mapped do not count");
}

void common_options::add_temporary_to(CLI::App& subcommand) {
  subcommand
      .add_option_function<std::string>(
          "--temporary",
          [](const std::string& folder) {
            std::error_code none;
            if (!std::filesystem::is_directory(folder, none)) {
              throw CLI::ValidationError("--temporary", fmt::format("'{}' is not a folder", core::printable(folder)));
            }
            io::use_temporary_folder(folder);
          },
          "Where temporary files go, such as what comes through pipes; $TMPDIR or /tmp unless given, for the runs of a "
          "sort the output's folder")
      ->type_name("FOLDER");
}

void common_options::add_plan_to(CLI::App& subcommand) {
  subcommand.add_flag(std::string(plan_only_option), plans_only)->group("");
}

void common_options::add_to(CLI::App& subcommand) {
  add_context_to(subcommand);
  add_memory_to(subcommand);
  add_json_to(subcommand);
  add_quiet_to(subcommand);
  add_verbose_to(subcommand);
}

void common_options::add_to(CLI::App& subcommand, const std::string& verify_text) {
  add_context_to(subcommand);
  add_memory_to(subcommand);
  add_verify_to(subcommand, verify_text);
  add_json_to(subcommand);
  add_quiet_to(subcommand);
  add_verbose_to(subcommand);
}

void common_options::warn_of_profile(const context& ctx) const {
  const bool is_asked_for = ctx.ignored_profile().starts_with("SHEAF_PROFILE");
  if (!is_asked_for || quiet || shows_profile || plans_only || std::exchange(has_warned_, true)) return;
  fmt::print(stderr, "sheaf: warning: not used: {}\n", ctx.ignored_profile());
}

void common_options::limit_scratch(const context& ctx) const {
  if (!memory_limit) return;
  context same = ctx;  // all copies have one limit
  same.limit_scratch(io::memory_left());
}

void common_options::require_scratch(const explanation& plan, std::string_view forced) const {
  if (plan.choice() != nullptr) return;
  std::vector<std::string_view> names;
  for (const variant_estimate& v : plan.variants) names.emplace_back(v.variant);
  if (!forced.empty() && !names.empty() && std::ranges::find(names, forced) == names.end()) {
    primitives::refuse("no variant is named '{}'; there are {}", core::printable(forced), fmt::join(names, ", "));
  }
  if (!memory_limit) return;
  const variant_estimate* least = nullptr;
  for (const variant_estimate& v : plan.variants) {
    const bool may_run = forced.empty() ? !v.by_name_only : v.variant == forced;
    const bool lacks_scratch = !v.applicable && v.scratch_bytes > io::memory_left();
    if (may_run && lacks_scratch && (least == nullptr || v.scratch_bytes < least->scratch_bytes)) least = &v;
  }
  if (least == nullptr) return;
  io::throw_no_room_for_scratch(fmt::format("{} of {}", least->variant, plan.primitive), least->scratch_bytes);
}

void common_options::require_memory_to_verify(std::uint64_t bytes) const {
  if (verify && !plans_only) static_cast<void>(io::held_memory("what --verify checks by", bytes));
}

context common_options::make_context() const {
  const bool is_auto = backend == "auto";
  const backend_kind kind = is_auto          ? core::best_backend()
                            : is_reference() ? backend_kind::cpu
                                             : core::backend_named(backend).value();
  if (!is_auto && threads != 0 && core::backend_of(kind).processor != core::processor_kind::host_threads) {
    primitives::refuse("--threads is for the CPU, not for --backend {}", backend);
  }
  context ctx = make_context(kind);
  warn_of_profile(ctx);
  return ctx;
}

context common_options::make_context(backend_kind kind) const {
  context ctx = context::on(kind, threads);
  if (memory_limit) io::limit_memory(*memory_limit);
  limit_scratch(ctx);
  if (learns) ctx.learn(true);
  return ctx;
}

context common_options::make_system_context() const {
  context ctx = make_context();
  if (solves_systems(ctx.backend())) return ctx;
  if (backend == "auto") return make_context(backend_kind::cpu);
  std::string others;
  for (const core::backend& b : core::backends()) {
    if (b.has_device() && solves_systems(b.kind))
      others += fmt::format("{}--backend {}", others.empty() ? "" : " or ", b.name);
  }
  io::throw_error(error_code::no_variant, "--backend {} has no conjugate gradient; use {}, or leave --backend out",
                  backend, others);
}

std::string_view common_options::variant_of_backend() const { return is_reference() ? "reference.serial" : ""; }

CLI::Option* add_input(CLI::App& app, const std::string& name, std::string& path, const std::string& description) {
  return app.add_option(name, path, description)->type_name("");
}

nlohmann::json report_of(std::string_view command, const context& ctx) {
  return {{"command", command},
          {"backend", sheaf::name(ctx.backend())},
          {"device", ctx.state().device_name},
          {"threads", ctx.threads()},
          {"machine", ctx.profile().name}};
}

std::string text_of_document(nlohmann::json document) {
  document["schema_version"] = json_schema_version;
  for (const char* const everywhere : {"command", "device", "predicted_seconds", "output"}) {
    document.emplace(everywhere, nullptr);
  }
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void print_json(nlohmann::json document) { fmt::print("{}", text_of_document(std::move(document))); }

nlohmann::json json_path(const std::string& path) { return path.empty() ? nlohmann::json() : nlohmann::json(path); }

std::string shown_on(std::FILE* stream, std::string_view text) {
  const int descriptor = fileno(stream);
  if (descriptor < 0 || isatty(descriptor) == 0) return std::string(text);
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // The control characters of ISO 6429 are 0 to 31, 127 and, as two bytes of UTF-8, 128 to 159.
    const bool is_second_of_two = i > 0 && text[i - 1] == '\xc2' && byte >= 0x80 && byte < 0xa0;
    if (is_second_of_two) {
      shown.pop_back();
      shown += fmt::format("\\u{:04x}", byte);
    } else if (byte < ' ' || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string shown_file(std::FILE* stream, const std::string& path) { return shown_on(stream, io::shown_input(path)); }

void print_variants(const common_options& common, const explanation& plan) {
  if (!common.verbose) return;
  for (const variant_estimate& v : plan.variants) {
    const std::string predicted = v.applicable ? fmt::format("predicted {}", seconds_text(v.seconds)) : "cannot run";
    const std::string end = v.chosen ? ", taken" : v.reason.empty() ? "" : fmt::format("; {}", v.reason);
    fmt::print(stderr, "{}: {}: {}{}\n", plan.primitive, v.variant, predicted, end);
  }
}

CLI::Option* add_byte_size(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& bytes,
                           const std::string& description) {
  return app
      .add_option_function<std::string>(
          name,
          [name, &bytes](const std::string& text) {
            try {
              bytes = jobs::parse_byte_size(text);
            } catch (const error& e) {
              throw CLI::ValidationError(name, e.what());
            }
          },
          description)
      ->type_name("SIZE");
}

CLI::Option* add_number(CLI::App& app, const std::string& names, std::uint64_t least, std::uint64_t most,
                        std::function<void(std::uint64_t)> take, const std::string& description) {
  // The conversion of CLI11 reads -1 as 2^64 - 1 and 010 as 8.
  const std::string name = names.substr(names.find("--"));  // without a short form, for messages
  const auto read = [name, least, most, take = std::move(take)](const std::string& text) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size() || number < least || number > most) {
      const std::string range = most == std::numeric_limits<std::uint64_t>::max()
                                    ? (least == 0 ? "" : fmt::format(" from {}", least))
                                    : fmt::format(" from {} to {}", least, most);
      throw CLI::ValidationError(name, fmt::format("'{}' is not a whole number{}", text, range));
    }
    take(number);
  };
  return app.add_option_function<std::string>(names, read, description)->type_name("N");
}

CLI::Option* add_real(CLI::App& app, const std::string& name, double& number, const std::string& description) {
  // The conversion of CLI11 reads nothing as 0 and 1e400 as infinity.
  const auto read = [name, &number](const std::string& text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    double value = 0;
    if (io::read_real(at, end, value) != io::number_status::good || at != end || !std::isfinite(value)) {
      throw CLI::ValidationError(name, fmt::format("'{}' is not a finite number", core::printable(text)));
    }
    number = value;
  };
  return app.add_option_function<std::string>(name, read, description)->type_name("NUMBER");
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return seconds < 1000 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string rate_text(double bytes_per_second) {
  if (bytes_per_second < 1e6) return fmt::format("{:.3g} kB/s", bytes_per_second / 1e3);
  if (bytes_per_second < 1e9) return fmt::format("{:.3g} MB/s", bytes_per_second / 1e6);
  return fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}

}  // namespace sheaf::cli
