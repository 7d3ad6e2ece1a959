#include <fmt/ranges.h>
#include <sheaf/machine.hpp>

#include "apps/sheaf/command.hpp"
#include "core/backends.hpp"
#include "lab/description/job.hpp"

namespace sheaf::cli {
namespace {

using primitives::entries;
using primitives::entry;
using primitives::field_use;
using primitives::given_option;
using primitives::problem_spec;

struct plan_command {
  common_options common;
  std::string primitive;  ///< name of an entry, or of a whole problem
  std::vector<given_option> given;

  problem_spec problem() const;
};

nlohmann::json variant_json(const variant_estimate& estimate) {
  nlohmann::json terms = nlohmann::json::array();
  for (const cost_term& term : estimate.terms) terms.push_back({{"what", term.what}, {"seconds", term.seconds}});
  nlohmann::json row = {{"variant", estimate.variant},
                        {"applicable", estimate.applicable},
                        {"chosen", estimate.chosen},
                        {"reason", estimate.reason}};
  if (estimate.applicable)
    row.update({{"predicted_seconds", estimate.seconds}, {"scratch_bytes", estimate.scratch_bytes}, {"terms", terms}});
  return row;
}

// What is wrong with an option is wrong usage, and the message goes on to say where help is.
template <class Read>
auto usage(Read read) {
  try {
    return read();
  } catch (const error& e) {
    throw CLI::ValidationError(e.what());
  }
}

problem_spec plan_command::problem() const {
  return usage([&] {
    if (primitive.find('/') == std::string::npos) return problem_of_options(primitives::entry_named(primitive), given);
    problem_spec problem = primitives::parse_problem(primitive);
    problem.access = hint(problem);  // whoever names the order of the list knows it
    for (const given_option& g : given) {
      if (!g.texts.empty()) primitives::refuse("{} is for a primitive, not for a whole problem", g.option);
    }
    return problem;
  });
}

/// What variants take by two lists, of which one is in order and the other at random.
struct pattern_range {
  explanation in_order;
  explanation at_random;

  struct seconds {
    double in_order;
    double at_random;
  };
  /// None for a variant that cannot go by both.
  std::optional<seconds> of(std::string_view variant) const {
    const variant_estimate* const both[] = {find(in_order, variant), find(at_random, variant)};
    if (both[0] == nullptr || both[1] == nullptr) return std::nullopt;
    return seconds{both[0]->seconds, both[1]->seconds};
  }

 private:
  static const variant_estimate* find(const explanation& why, std::string_view variant) {
    const auto found = std::ranges::find_if(
        why.variants, [&](const variant_estimate& v) { return v.variant == variant && v.applicable; });
    return found == why.variants.end() ? nullptr : &*found;
  }
};

// Plans for both orders where the problem has an index list, and nothing is said of its order.
std::optional<pattern_range> range_of(const problem_spec& p, const context& ctx, std::string_view variant) {
  const entry& entry = entry_of(p);
  if (!entry.takes(primitives::fields::pattern) || p.access != access_pattern::unknown()) return std::nullopt;
  problem_spec in_order = p;
  problem_spec at_random = p;
  in_order.access = access_pattern::sequential();
  at_random.access = access_pattern::random();
  return pattern_range{entry.explain(ctx, in_order, variant), entry.explain(ctx, at_random, variant)};
}

void print_document(const problem_spec& problem, const context& ctx, const explanation& why,
                    const std::optional<pattern_range>& range) {
  nlohmann::json variants = nlohmann::json::array();
  for (const variant_estimate& v : why.variants) {
    nlohmann::json row = variant_json(v);
    if (const auto seconds = range && v.applicable ? range->of(v.variant) : std::nullopt) {
      row.update({{"seconds_in_order", seconds->in_order}, {"seconds_at_random", seconds->at_random}});
    }
    variants.push_back(std::move(row));
  }
  const variant_estimate* choice = why.choice();
  nlohmann::json document = {
      {"command", "plan"},
      {"primitive", problem.primitive},
      {"backend", name(ctx.backend())},
      {"threads", ctx.threads()},
      {"device", ctx.state().device_name},
      {"machine", why.machine},
      {"profile", ctx.profile().source},
      {"predicted_seconds", choice != nullptr ? nlohmann::json(choice->seconds) : nlohmann::json()},
      {"choice", choice != nullptr ? nlohmann::json(choice->variant) : nlohmann::json()},
      {"variants", variants}};
  if (!ctx.ignored_profile().empty()) document["ignored"] = ctx.ignored_profile();
  for (const primitives::fact& f : entry_of(problem).facts(problem)) {
    std::visit([&](const auto& value) { document[std::string(f.name)] = value; }, f.value);
  }
  print_json(document);
}

// "latency 1 us + (streamed 2 ms + random read 3 ms) x 0.83": terms that overlap, times what the overlap leaves of
// them.
std::string terms_text(const variant_estimate& estimate) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < estimate.terms.size(); ++i) {
    const cost_term& term = estimate.terms[i];
    if (term.overlapped == 0) {
      shown.push_back(fmt::format("{} {}", term.what, seconds_text(term.seconds)));
      continue;
    }
    double sum = 0;
    for (std::size_t t = i - term.overlapped; t < i; ++t) sum += estimate.terms[t].seconds;
    const double factor = (sum + term.seconds) / sum;
    if (factor > 0.995) continue;  // what would be shown as 1
    const auto first = shown.end() - term.overlapped;
    const std::string product = fmt::format("({}) x {:.2f}", fmt::join(first, shown.end(), " + "), factor);
    shown.erase(first, shown.end());
    shown.push_back(product);
  }
  return fmt::format("{}", fmt::join(shown, " + "));
}

std::string time_text(const variant_estimate& v, const std::optional<pattern_range>& range) {
  if (!v.applicable) return "-";
  std::string planned = seconds_text(v.seconds);
  const auto seconds = range ? range->of(v.variant) : std::nullopt;
  if (!seconds) return planned;
  const std::string least = seconds_text(std::min(seconds->in_order, seconds->at_random));
  const std::string most = seconds_text(std::max(seconds->in_order, seconds->at_random));
  return least == most ? planned : fmt::format("{} to {}, planned as {}", least, most, planned);
}

// The backends that --backend auto would take and that are not here, and those that this build does not have.
void print_missing_backends() {
  std::string missing;
  for (const core::backend& b : core::backends()) {
    if (b.is_built() && (!b.is_taken_by_itself || b.has_device())) continue;
    missing +=
        fmt::format("{}{} ({})", missing.empty() ? "" : ", ", b.name, b.is_built() ? "no device" : "not built in");
  }
  if (!missing.empty()) fmt::print("not here: {}\n", missing);
}

void print_table(const problem_spec& p, const context& ctx, const explanation& why,
                 const std::optional<pattern_range>& range) {
  fmt::print("{}: {}\n", p.primitive, entry_of(p).text(p));
  fmt::print("machine: {}, profile {}\n", why.machine, ctx.profile().source);
  if (!ctx.ignored_profile().empty()) fmt::print("not used: {}\n", ctx.ignored_profile());
  if (range) fmt::print("times: from a list in order to one at random; --pattern says what is known of it\n");
  std::size_t width = 0;
  for (const variant_estimate& v : why.variants) width = std::max(width, v.variant.size());
  for (const variant_estimate& v : why.variants) {
    fmt::print("{} {:<{}}  {:>8}", v.chosen ? '*' : ' ', v.variant, width, time_text(v, range));
    if (v.applicable) fmt::print("  = {}", terms_text(v));
    if (v.scratch_bytes > 0) fmt::print("; scratch {}", bytes_text(v.scratch_bytes));
    if (!v.reason.empty()) fmt::print("{}{}", v.applicable ? "; not taken: " : "  cannot run: ", v.reason);
    fmt::print("\n");
  }
  if (why.choice() == nullptr) fmt::print("no variant can run this\n");
}

void run(const plan_command& command) {
  const problem_spec problem = command.problem();
  const context ctx = command.common.make_context();
  const explanation why = entry_of(problem).explain(ctx, problem, command.common.variant());
  const std::optional<pattern_range> range = range_of(problem, ctx, command.common.variant());
  if (command.common.json) return print_document(problem, ctx, why, range);
  print_table(problem, ctx, why, range);
  if (command.common.backend == "auto") print_missing_backends();
}

// Adds what "add|mul" has and "add|min" has not.
void add_alternatives(std::string& all, std::string_view more) {
  if (all.find('|') == all.npos) return;
  for (const std::string& word : CLI::detail::split(std::string(more), '|')) {
    if (("|" + all + "|").find("|" + word + "|") == all.npos) all += "|" + word;
  }
}

// The options of all entries, each once. Where entries read an option differently, its help says what each reads.
void add_fields(CLI::App& subcommand, plan_command& command) {
  struct option {
    const primitives::problem_field* field;
    std::vector<std::string_view> helps;
    std::string type_name;  ///< with the alternatives of all entries
  };
  std::vector<option> options;
  for (const entry* const e : entries()) {
    for (const field_use& use : e->fields) {
      auto known =
          std::ranges::find_if(options, [&](const option& seen) { return seen.field->option == use.field->option; });
      if (known == options.end()) known = options.insert(known, {use.field, {}, std::string(use.field->type_name)});
      add_alternatives(known->type_name, use.field->type_name);
      if (std::ranges::find(known->helps, use.field->help) == known->helps.end()) {
        known->helps.push_back(use.field->help);
      }
    }
  }
  command.given.reserve(options.size());  // options keep references to their texts
  for (const option& each : options) {
    given_option& given = command.given.emplace_back(given_option{each.field->option, {}});
    const std::string name = (each.field->option == "--key" ? "-k," : "") + std::string(each.field->option);
    const std::string help = fmt::format("{}", fmt::join(each.helps, ". "));
    if (each.field->type_name.empty()) {
      subcommand.add_flag_callback(
          name, [&given] { given.texts.emplace_back(); }, help);
    } else {
      subcommand.add_option(name, given.texts, help)->type_name(each.type_name)->allow_extra_args(false);
    }
  }
}

// A command in lines that help shows whole.
std::string lines_of(std::string command) {
  constexpr std::size_t most = 94;
  std::string lines = "  ";
  while (command.size() > most) {
    const std::size_t end = command.rfind(" --", most);
    lines += command.substr(0, end) + " \\\n    ";
    command.erase(0, end + 1);
  }
  return lines + command + "\n";
}

// One example for each entry.
std::string plan_footer() {
  std::string text =
      "Nothing is run and no memory is taken: the plan follows from the sizes and the machine's profile (sheaf "
      "machine). Primitives:\n";
  for (const entry* const e : entries()) text += fmt::format("  {}\n", e->name);
  text += "\nExamples:\n";
  for (const entry* const e : entries()) text += lines_of(fmt::format("sheaf plan {} {}", e->name, e->example));
  const jobs::sample& row = entries().front()->job->samples.front();
  return text + fmt::format("A row of sheaf-bench, whose name says all of it\n  sheaf plan {}/n=1048576", row.name);
}

std::string names_of_entries() {
  std::string names;
  for (const entry* const e : entries()) names += fmt::format("{}{}", names.empty() ? "" : "|", e->name);
  return names;
}

}  // namespace

void add_plan(CLI::App& app) {
  const auto options = std::make_shared<plan_command>();
  options->common.shows_profile = true;
  CLI::App* subcommand =
      app.add_subcommand("plan", "What each way to do a job would cost here, and which one is taken");
  subcommand
      ->add_option("PRIMITIVE", options->primitive,
                   "What is planned, or the name of a whole problem as sheaf-bench prints it")
      ->required()
      ->type_name(names_of_entries());
  add_fields(*subcommand, *options);
  options->common.add_context_to(*subcommand);
  options->common.add_memory_to(*subcommand);
  options->common.add_variant_to(*subcommand, "PRIMITIVE");
  options->common.add_json_to(*subcommand);
  subcommand->footer(plan_footer());
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
