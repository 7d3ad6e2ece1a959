#include <fmt/ranges.h>

#include "apps/sheaf/arguments.hpp"
#include "apps/sheaf/subcommands/planned_call.hpp"
#include "core/printable.hpp"
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
  std::string like;
  std::vector<given_option> given;

  problem_spec problem() const;
};

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

void run(const plan_command& command) {
  if (command.primitive.empty()) throw CLI::RequiredError("PRIMITIVE");
  const problem_spec problem = command.problem();
  const context ctx = command.common.make_context();
  const auto explain = [&](const problem_spec& of) { return entry_of(of).explain(ctx, of, command.common.variant()); };
  planned_call call{call_words_of(problem), explain(problem)};
  if (entry_of(problem).takes(primitives::fields::pattern) && problem.access == access_pattern::unknown()) {
    call.by_order = [&](access_pattern order) {
      problem_spec ordered = problem;
      ordered.access = order;
      return explain(ordered);
    };
  }
  print_plan(command.common, ctx, call);
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
      "machine).\n--like SUBCOMMAND ARGUMENTS plans what that subcommand would do with these files. It reads their "
      "headers, and more only where the plan needs it (matrices, meshes, the table of a search, members of archives): "
      "it says which files. Nothing is written, and the output may be left out.\nPrimitives:\n";
  for (const entry* const e : entries()) text += fmt::format("  {}\n", e->name);
  text += "\nExamples:\n";
  for (const entry* const e : entries()) text += lines_of(fmt::format("sheaf plan {} {}", e->name, e->example));
  const jobs::sample& row = entries().front()->job->samples.front();
  text += fmt::format("A row of sheaf-bench, whose name says all of it\n  sheaf plan {}/n=1048576\n", row.name);
  return text +
         "What sheaf gather would do with two files\n"
         "  printf 'zero one  two  ' > table.bin; printf '\\2\\0\\0\\0\\0\\0\\0\\0' > index.bin\n"
         "  sheaf plan --like gather table.bin index.bin --record-bytes 5 --index-type u32";
}

std::string names_of_entries() {
  std::string names;
  for (const entry* const e : entries()) names += fmt::format("{}{}", names.empty() ? "" : "|", e->name);
  return names;
}

std::string no_plan_of(const CLI::App& app, const std::string& name) {
  return fmt::format("'{}' is not a subcommand that is planned; there are {}", core::printable(name),
                     fmt::join(planning_subcommands(app), ", "));
}

}  // namespace

void add_plan(CLI::App& app) {
  const auto options = std::make_shared<plan_command>();
  options->common.shows_profile = true;
  CLI::App* subcommand =
      app.add_subcommand("plan", "What each way to do a job would cost here, and which one is taken");
  CLI::Option* const primitive =
      subcommand
          ->add_option("PRIMITIVE", options->primitive,
                       "What is planned, or the name of a whole problem as sheaf-bench prints it")
          ->type_name(names_of_entries());
  // A command line that says it rightly is one of the subcommand, and does not come here; see like_another().
  subcommand
      ->add_option("--like", options->like,
                   "Plan what a subcommand would do with the files and options that follow its name")
      ->type_name("SUBCOMMAND")
      ->check(CLI::Validator(
          [&app](const std::string& text) {
            return planning_subcommand(app, text) != nullptr ? "" : no_plan_of(app, text);
          },
          ""))
      ->excludes(primitive);
  add_fields(*subcommand, *options);
  options->common.add_context_to(*subcommand);
  options->common.add_memory_to(*subcommand);
  options->common.add_variant_to(*subcommand, "PRIMITIVE");
  options->common.add_json_to(*subcommand);
  subcommand->footer(plan_footer());
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
