#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <sheaf/machine.hpp>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/corrections.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"
#include "plan/calibrate.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* machine_footer =
    "Predictions are made from these numbers. --calibrate measures them, in 20 seconds for a processor and in a "
    "minute\n"
    "or two for each other device. It stores them under $XDG_CACHE_HOME/sheaf or ~/.cache/sheaf, where every later\n"
    "call finds them. SHEAF_PROFILE=FILE names another profile.\n\n"
    "Nothing else need stop: of several runs the fastest counts. A figure that still makes no sense is left out, with\n"
    "a warning that says what stands for it. The exit code is then 8, though the profile is stored. If most figures "
    "make\n"
    "no sense, the exit code is 8, too, and the profile that was stored before stays, as it does after an interrupt.\n"
    "Where the shipped profile would have chosen better variants, its choices are kept, with a note.\n\n"
    "Example: measure this machine's processor, and plan with what was measured\n"
    "  sheaf machine --calibrate --backend cpu --save mine.json\n"
    "  SHEAF_PROFILE=mine.json sheaf plan gather --count 1000000 --table 1000000 --record-bytes 16";

struct machine_command : common_options {
  std::string save_path;
  bool calibrate = false;
  std::optional<double> seconds;  ///< of each device
};

/// A machine profile, which other one is not used and why, if one is not, and what is to be said of one just measured.
struct shown_machine {
  machine profile;
  std::string device;  ///< what the device calls itself
  std::string ignored;
  std::vector<std::string> left_out = {};  ///< figures that made no sense
  std::vector<std::string> notes = {};
};

std::string origin_text(const machine& m) {
  if (m.source == "shipped") return "shipped with sheaf, not measured on this machine: sheaf machine --calibrate does";
  return m.source == "measured" ? "measured just now" : "read from " + m.source;
}

std::string versions_text(const machine& m) {
  std::string text;
  for (const auto& [what, version] : m.versions)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, version);
  return text.empty() ? "unknown" : text;
}

std::string levels_text(const machine& m) {
  std::string text;
  for (const std::uint64_t bytes : m.cache_levels) text += (text.empty() ? "" : ", ") + bytes_text(bytes);
  return text;
}

constexpr double widest_bar = 30;

// A bar whose length is the value's share of the maximum: at least one mark, so that no row looks unmeasured.
std::string bar(double value, double most) {
  return std::string(1 + static_cast<std::size_t>(widest_bar * std::clamp(value / most, 0.0, 1.0)), '#');
}

// A number of at most four digits, without an exponent.
std::string number(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string stream_table(const std::vector<stream_rate>& rates) {
  std::string text = "  copies, GB/s read plus written\n";
  double most = 0;
  for (const stream_rate& rate : rates) most = std::max(most, rate.bytes_per_second);
  for (const stream_rate& rate : rates) {
    text += fmt::format("  {:>10}  {:>8}  {}\n", bytes_text(rate.footprint_bytes), number(rate.bytes_per_second / 1e9),
                        bar(rate.bytes_per_second, most));
  }
  return text;
}

std::string latency_table(const std::vector<latency_point>& latencies) {
  std::string text = "  one read that waits for another, ns\n";
  double most = 0;
  for (const latency_point& latency : latencies) most = std::max(most, latency.seconds);
  for (const latency_point& latency : latencies) {
    text += fmt::format("  {:>10}  {:>8}  {}\n", bytes_text(latency.footprint_bytes), number(latency.seconds * 1e9),
                        bar(latency.seconds, most));
  }
  return text;
}

// A table with a row for each footprint and a column for each width. The bar shows one width: 16 bytes, if measured.
std::string access_table(const char* what, const std::vector<access_rate>& rates) {
  std::set<std::uint64_t> widths;
  std::map<std::uint64_t, std::map<std::uint64_t, double>> rows;
  for (const access_rate& rate : rates) {
    widths.insert(rate.record_bytes);
    rows[rate.footprint_bytes][rate.record_bytes] = rate.records_per_second;
  }
  if (widths.empty()) return {};
  const std::uint64_t drawn = widths.contains(16) ? 16 : *widths.begin();
  double most = 0;
  for (const auto& [footprint, row] : rows) {
    if (row.contains(drawn)) most = std::max(most, row.at(drawn));
  }
  std::string text =
      fmt::format("  {}, millions a second, by bytes of a record; bars for {}\n  {:>10}", what, drawn, "");
  for (const std::uint64_t width : widths) text += fmt::format("  {:>7}", width);
  for (const auto& [footprint, row] : rows) {
    text += fmt::format("\n  {:>10}", bytes_text(footprint));
    for (const std::uint64_t width : widths) {
      text += fmt::format("  {:>7}", row.contains(width) ? number(row.at(width) / 1e6) : "-");
    }
    if (row.contains(drawn)) text += "  " + bar(row.at(drawn), most);
  }
  return text + "\n";
}

// The curves of a profile as tables with bars: streams and latencies by footprint, random accesses by footprint and
// width.
std::string curve_tables(const machine& m) {
  return stream_table(m.streams) + latency_table(m.latencies) + access_table("random reads", m.random_read) +
         access_table("random writes", m.random_write) + access_table("atomic adds", m.atomic_add);
}

void print_machine(const shown_machine& shown, bool used) {
  const machine& machine = shown.profile;
  fmt::print("{}: {}{}\n", name(machine.backend), machine.name, used ? ", used by --backend auto" : "");
  if (shown.device != machine.name) fmt::print("  device            {}\n", shown.device);
  fmt::print("  profile           {}\n", origin_text(machine));
  if (!shown.ignored.empty()) fmt::print("  not used          {}\n", shown.ignored);
  fmt::print("  measured with     {}\n", versions_text(machine));
  fmt::print("  memory            {}, caches {}\n", bytes_text(machine.memory_bytes), levels_text(machine));
  fmt::print("  moves at least    {} bytes reading, {} bytes writing\n", machine.fetch_bytes, machine.sector_bytes);
  fmt::print("  streams           {} from memory, {} from cache\n", rate_text(machine.copy_bytes_per_second),
             rate_text(machine.cached_bytes_per_second));
  fmt::print("  waits             {} for memory, {} for a call, {} for a step, {} for a barrier\n",
             seconds_text(machine.access_seconds), seconds_text(machine.launch_seconds),
             seconds_text(machine.step_seconds), seconds_text(machine.barrier_seconds));
  if (machine.digit_seconds > 0)
    fmt::print("  a thread moves    a word by a digit in {}\n", seconds_text(machine.digit_seconds));
  fmt::print("  rates are for     {} {}\n", machine.parallelism,
             core::backend_of(machine.backend).processor == core::processor_kind::gpu ? "multiprocessors" : "threads");
  if (machine.upload_bytes_per_second > 0) {
    fmt::print("  brings            {} to the device, {} back\n", rate_text(machine.upload_bytes_per_second),
               rate_text(machine.readback_bytes_per_second));
  }
  if (!machine.corrections.empty()) {
    fmt::print("  corrections       {} predictions of variants, compared with their runs\n",
               machine.corrections.size());
  }
  fmt::print("{}", curve_tables(machine));
}

// Contexts of the machines asked for: all machines here, or that of one backend.
std::vector<context> contexts(const machine_command& o) {
  if (o.backend != "auto") return {o.make_context()};
  std::vector<context> found;
  for (const core::backend& b : core::backends()) {
    if (b.has_device()) found.push_back(context::on(b.kind, o.threads));
  }
  return found;
}

// The seconds of one device. A GPU has more memory, and a renderer in software takes longer to fill it.
double seconds_for(const machine_command& command, const context& ctx) {
  if (command.seconds) return *command.seconds;
  constexpr double usual = 20;
  constexpr double usual_of_others = 120;
  return core::backend_of(ctx.backend()).processor == core::processor_kind::host_threads ? usual : usual_of_others;
}

shown_machine measured(const machine_command& command, const context& ctx) {
  // Rates take what they need, at most this share of the time; runs of variants have what is left.
  constexpr double share_of_rates = 0.45;
  // On a machine of which other programs have most, rates take longer, and runs at least this share.
  constexpr double least_share_of_runs = 0.25;
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = seconds_for(command, ctx);
  std::optional<io::progress_step> step(std::in_place, fmt::format("{}: measuring", name(ctx.backend())));
  const auto progress = [&](std::string_view what, double share) {
    step->reach(share);
    if (step->wants_words()) step->say(std::string(what));
  };
  shown_machine found;
  found.device = ctx.state().device_name;
  const auto left_out = [&](std::string_view words) {
    found.left_out.push_back(fmt::format("left out of the profile: {}", words));
  };
  // Each has a context of its own, which gives its memory back at its end.
  found.profile = calibrate(context::on(ctx.backend(), ctx.threads()),
                            {.seconds = share_of_rates * seconds, .progress = progress, .warn = left_out});
  step.emplace(fmt::format("{}: measuring variants", name(ctx.backend())));
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  context fresh = context::on(ctx.backend(), ctx.threads());
  std::string without_runs;
  const auto note_without_runs = [&](std::string_view primitive) {
    without_runs += fmt::format("{}{}", without_runs.empty() ? "" : ", ", primitive);
  };
  const std::vector<jobs::better_shipped> better =
      jobs::measure_corrections(fresh, found.profile, plan::shipped_beside(found.profile),
                                {.seconds = std::max(least_share_of_runs * seconds, seconds - spent),
                                 .progress = progress,
                                 .without_runs = note_without_runs});
  if (!without_runs.empty()) {
    found.notes.push_back(fmt::format(
        "there was no time to run variants of {}, whose predictions are not corrected; --seconds gives more",
        without_runs));
  }
  for (const jobs::better_shipped& each : better) {
    found.notes.push_back(
        fmt::format("{}: the shipped profile chooses better and is kept for it: its choices took {:.2f} times as long "
                    "as the best ones, those of the measured rates {:.2f} times",
                    each.primitive, each.shipped_loss, each.loss));
  }
  return found;
}

shown_machine in_use(const context& ctx) {
  return {ctx.profile(), ctx.state().device_name, std::string(ctx.ignored_profile())};
}

nlohmann::json machine_json(const shown_machine& shown, bool used) {
  nlohmann::json document = nlohmann::json::parse(format_machine(shown.profile));
  document.erase("schema_version");
  document["source"] = shown.profile.source;
  document["device"] = shown.device;
  document["used"] = used;
  if (!shown.ignored.empty()) document["ignored"] = shown.ignored;
  if (!shown.left_out.empty()) document["warnings"] = shown.left_out;
  if (!shown.notes.empty()) document["notes"] = shown.notes;
  return document;
}

// The machine that --backend auto takes, or the only one.
std::size_t used_of(const std::vector<shown_machine>& found) {
  for (std::size_t i = 0; found.size() > 1 && i < found.size(); ++i) {
    if (found[i].profile.backend == core::best_backend()) return i;
  }
  return 0;
}

nlohmann::json report_of_machines(const machine_command& command, const std::vector<shown_machine>& found) {
  const shown_machine& used = found[used_of(found)];
  nlohmann::json list = nlohmann::json::array();
  for (const shown_machine& m : found) list.push_back(machine_json(m, &m == &used));
  return {{"command", "machine"},
          {"device", used.device},
          {"output", json_path(command.save_path)},
          {"machines", std::move(list)}};
}

void print_all(const machine_command& command, const std::vector<shown_machine>& found, const std::string& saved) {
  const shown_machine& used = found[used_of(found)];
  for (const shown_machine& m : found) print_machine(m, command.backend == "auto" && &m == &used);
  fmt::print("{}", saved);
}

void print_warnings(const machine_command& o, const shown_machine& m) {
  if (o.quiet) return;
  for (const std::string& warning : m.left_out) {
    fmt::print(stderr, "sheaf machine: warning: {}: {}\n", name(m.profile.backend), warning);
  }
  for (const std::string& note : m.notes)
    fmt::print(stderr, "sheaf machine: note: {}: {}\n", name(m.profile.backend), note);
}

// What is stored or saved lacks these figures, which the exit code says, too.
void require_all_measured(const std::vector<shown_machine>& found, nlohmann::json report) {
  if (std::ranges::all_of(found, [](const shown_machine& m) { return m.left_out.empty(); })) return;
  throw measured_in_part(
      "measured in part: figures that made no sense were left out, which the warnings name; the others are kept. Close "
      "other programs and repeat, with more seconds (--seconds) or fewer threads (--threads)",
      std::move(report));
}

// Before the measurement, whose minutes would be lost if the result had nowhere to go.
void require_places_for_profiles(const machine_command& o, const std::vector<context>& machines) {
  if (!o.calibrate || !o.save_path.empty()) return;
  for (const context& ctx : machines) {
    io::require_creatable(default_machine_path(ctx.backend(), ctx.state().device_name), io::missing_folders::are_made);
  }
}

void run(const machine_command& command) {
  if (started_ranks() > 1) {
    // A process that its launcher has bound to some processors would measure these.
    const refused_option options[] = {{"--calibrate", command.calibrate}, {"--save", !command.save_path.empty()}};
    refuse_on_ranks(options);
  }
  if (!command.save_path.empty()) io::require_place(command.save_path);
  const std::vector<context> machines = contexts(command);
  if (command.calibrate && !command.save_path.empty() && machines.size() > 1) {
    primitives::refuse("--save FILE takes one profile: add --backend cpu, --backend cuda or --backend opengl");
  }
  require_places_for_profiles(command, machines);
  std::vector<shown_machine> found;
  std::string saved;
  for (const context& ctx : machines) {
    found.push_back(command.calibrate ? measured(command, ctx) : in_use(ctx));
    print_warnings(command, found.back());
    const machine& m = found.back().profile;
    if (command.calibrate && command.save_path.empty())
      saved += fmt::format("{} stored as {}\n", m.name, shown_on(stdout, store_machine(m)));
  }
  if (!command.save_path.empty()) {
    const machine& used = found[used_of(found)].profile;
    io::write_file(io::place_of_output(command.save_path), format_machine(used));
    saved += fmt::format("{} saved to {}\n", used.name, shown_on(stdout, io::shown_output(command.save_path)));
  }
  if (!command.quiet && !command.json) print_all(command, found, saved);
  require_all_measured(found, report_of_machines(command, found));
  if (!command.quiet && command.json) print_json(report_of_machines(command, found));
}

}  // namespace

void add_machine(CLI::App& app) {
  const auto options = std::make_shared<machine_command>();
  options->shows_profile = true;
  CLI::App* subcommand = app.add_subcommand("machine", "The measured rates that predictions are made from");
  CLI::Option* const calibrate = subcommand->add_flag("--calibrate", options->calibrate,
                                                      "Measure this machine, and store the rates for later calls");
  subcommand
      ->add_option("--save", options->save_path, "Write the profile, in use or just measured, to this file as JSON")
      ->type_name("FILE");
  constexpr std::uint64_t most_seconds = 3600;
  add_number(*subcommand, "--seconds", 1, most_seconds, options->seconds,
             "Seconds for each device, for its rates and for runs of the variants that compete; unless given, 20 for a "
             "processor and 120 for others; few seconds measure little memory")
      ->needs(calibrate);
  options->add_context_to(*subcommand);
  options->add_json_to(*subcommand);
  options->add_quiet_to(*subcommand);
  subcommand->footer(machine_footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
