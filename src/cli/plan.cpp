#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sheaf/machine.hpp>
#include <sheaf/plan.hpp>

#include "cli/command.hpp"
#include "cli/plan_problem.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* footer =
    "Nothing is run and no memory is taken: the plan follows from the sizes and the machine's profile (sheaf "
    "machine).\n\n"
    "Example: a scatter of a hundred million records of 16 bytes at random places of a table of the same size\n"
    "  sheaf plan scatter --count 100000000 --table 100000000 --bytes 16 --pattern random\n"
    "A split of as many records by the 11 bits from bit 5 on\n"
    "  sheaf plan split --count 100000000 --bytes 16 --key 5:11\n"
    "A sort of as many records of 100 bytes by their first 10, and of 64-bit keys with values of 4 and of 16 bytes\n"
    "  sheaf plan sort_records --count 100000000 --bytes 100 --key 0:10\n"
    "  sheaf plan sort_pairs --count 100000000 --key-bytes 8 --bytes 4 --bytes 16";

struct plan_command {
  common_options common;
  plan_problem problem;
};

nlohmann::json variant_json(const variant_estimate& v) {
  nlohmann::json terms = nlohmann::json::array();
  for (const cost_term& term : v.terms) terms.push_back({{"what", term.what}, {"seconds", term.seconds}});
  nlohmann::json row = {
      {"variant", v.variant}, {"applicable", v.applicable}, {"chosen", v.chosen}, {"reason", v.reason}};
  if (v.applicable) row.update({{"seconds", v.seconds}, {"scratch_bytes", v.scratch_bytes}, {"terms", terms}});
  return row;
}

void print_document(const plan_command& o, const context& ctx, const explanation& why) {
  nlohmann::json variants = nlohmann::json::array();
  for (const variant_estimate& v : why.variants) variants.push_back(variant_json(v));
  const variant_estimate* choice = why.choice();
  nlohmann::json document = {{"command", "plan"},
                             {"primitive", why.primitive},
                             {"backend", name(ctx.backend())},
                             {"threads", ctx.threads()},
                             {"machine", why.machine},
                             {"profile", ctx.profile().source},
                             {"choice", choice != nullptr ? nlohmann::json(choice->variant) : nlohmann::json()},
                             {"variants", variants}};
  document.update(o.problem.json());
  print_json(document);
}

std::string terms_text(const variant_estimate& v) {
  std::string text;
  for (const cost_term& term : v.terms) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", term.what, seconds_text(term.seconds));
  }
  return text;
}

void print_table(const plan_command& o, const context& ctx, const explanation& why) {
  fmt::print("{}: {}\n", why.primitive, o.problem.text());
  fmt::print("machine: {}, profile {}\n", why.machine, ctx.profile().source);
  std::size_t width = 0;
  for (const variant_estimate& v : why.variants) width = std::max(width, v.variant.size());
  for (const variant_estimate& v : why.variants) {
    fmt::print("{} {:<{}}  {:>8}", v.chosen ? '*' : ' ', v.variant, width,
               v.applicable ? seconds_text(v.seconds) : "-");
    if (v.applicable) fmt::print("  = {}", terms_text(v));
    if (v.scratch_bytes > 0) fmt::print("; scratch {}", bytes_text(v.scratch_bytes));
    if (!v.reason.empty()) fmt::print("{}{}", v.applicable ? "; not taken: " : "  cannot run: ", v.reason);
    fmt::print("\n");
  }
  if (why.choice() == nullptr) fmt::print("no variant can run this\n");
}

void run(const plan_command& o) {
  o.problem.require_options();
  const context ctx = o.common.make_context();
  const explanation why = o.problem.explain(ctx, o.common.variant());
  if (o.common.quiet) return;
  if (o.common.json) {
    print_document(o, ctx, why);
  } else {
    print_table(o, ctx, why);
  }
}

}  // namespace

void add_plan(CLI::App& app) {
  const auto options = std::make_shared<plan_command>();
  CLI::App* subcommand =
      app.add_subcommand("plan", "What each way to do a job would cost here, and which one is taken");
  options->problem.add_to(*subcommand);
  options->common.add_to(*subcommand);
  subcommand->footer(footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
