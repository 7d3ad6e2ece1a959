#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/scatter.hpp>

#include "cli/movement.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* footer =
    "Nothing is run and no memory is taken: the plan follows from the sizes and the machine's profile (sheaf "
    "machine).\n\n"
    "Example: a scatter of a hundred million records of 16 bytes at random places of a table of the same size\n"
    "  sheaf plan scatter --count 100000000 --table 100000000 --bytes 16 --pattern random";

struct plan_command {
  common_options common;
  std::string primitive;
  std::uint64_t count = 0;
  std::uint64_t table = 0;
  std::uint64_t record_bytes = 0;
  std::optional<index_type> index_kind;
  access_pattern pattern;
  std::optional<sheaf::duplicates> repeats;
};

explanation explain(const plan_command& o, const context& ctx) {
  const index_span index(nullptr, o.count, o.index_kind.value_or(index_type::u32));
  const records near(nullptr, o.count, o.record_bytes);
  const records far(nullptr, o.table, o.record_bytes);
  if (o.primitive == "scatter") {
    return explain_scatter(
        ctx, near, index, far,
        {.pattern = o.pattern, .duplicates = o.repeats.value_or(duplicates::any), .variant = o.common.variant()});
  }
  if (o.repeats) throw error(error_code::bad_argument, "--duplicates is for scatter");
  return explain_gather(ctx, far, index, near, {.pattern = o.pattern, .variant = o.common.variant()});
}

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
  print_json({{"command", "plan"},
              {"primitive", why.primitive},
              {"backend", name(ctx.backend())},
              {"threads", ctx.threads()},
              {"machine", why.machine},
              {"profile", ctx.profile().source},
              {"count", o.count},
              {"table", o.table},
              {"record_bytes", o.record_bytes},
              {"index_type", name(o.index_kind.value_or(index_type::u32))},
              {"pattern", name(o.pattern)},
              {"choice", choice != nullptr ? nlohmann::json(choice->variant) : nlohmann::json()},
              {"variants", variants}});
}

std::string terms_text(const variant_estimate& v) {
  std::string text;
  for (const cost_term& term : v.terms) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", term.what, seconds_text(term.seconds));
  }
  return text;
}

void print_table(const plan_command& o, const context& ctx, const explanation& why) {
  fmt::print("{}: {} records of {} bytes, table of {} ({}), {} index, pattern {}\n", why.primitive, o.count,
             o.record_bytes, o.table, bytes_text(o.table * o.record_bytes),
             name(o.index_kind.value_or(index_type::u32)), name(o.pattern));
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
  const context ctx = o.common.make_context();
  const explanation why = explain(o, ctx);
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
  constexpr auto most = ~std::uint64_t{0};
  subcommand->add_option("PRIMITIVE", options->primitive, "gather or scatter")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"gather", "scatter"}));
  add_number(
      *subcommand, "--count", 0, most, [options](std::uint64_t n) { options->count = n; }, "Records that move")
      ->required();
  add_number(
      *subcommand, "--table", 0, most, [options](std::uint64_t n) { options->table = n; },
      "Records that INDEX may name: gather's table, scatter's output")
      ->required();
  add_number(
      *subcommand, "--bytes", 1, most, [options](std::uint64_t n) { options->record_bytes = n; }, "Bytes of a record")
      ->required();
  add_index_type(*subcommand, options->index_kind, "Type of the index; u32 unless given");
  add_pattern(*subcommand, "--pattern", options->pattern);
  subcommand
      ->add_option_function<std::string>(
          "--duplicates",
          [options](const std::string& which) {
            options->repeats = which == "last" ? duplicates::last : duplicates::any;
          },
          "Which writer of a scatter wins: any or last")
      ->check(CLI::IsMember({"any", "last"}));
  options->common.add_to(*subcommand);
  subcommand->footer(footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
