#include "apps/sheaf/subcommands/planned_call.hpp"

#include <fmt/ranges.h>
#include <sheaf/machine.hpp>

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"

namespace sheaf::cli {

call_words call_words_of(const primitives::problem_spec& problem) {
  const primitives::entry& entry = entry_of(problem);
  return {std::string(problem.primitive), entry.text(problem), entry.facts(problem)};
}

std::string chosen_variant(const explanation& plan) {
  return plan.choice() != nullptr ? plan.choice()->variant : "nothing";  // which runs for an empty index
}

double predicted_seconds(const explanation& plan) { return plan.choice() != nullptr ? plan.choice()->seconds : 0; }

double predicted_run_seconds(const explanation& plan) {
  if (plan.choice() == nullptr) return 0;
  for (const decided_value& decided : plan.choice()->decided) {
    if (std::string_view(decided.what) == "run_seconds") return std::get<double>(decided.value);
  }
  return plan.choice()->seconds;
}

std::string learned_text(const explanation& plan) { return plan.learned.empty() ? "" : "; " + plan.learned; }

namespace {

bool cannot_run(const explanation& plan) { return plan.choice() == nullptr && !plan.variants.empty(); }

}  // namespace

planned_work work_of(std::string subcommand, planned_call call, std::vector<std::string> read) {
  planned_work work{.subcommand = std::move(subcommand),
                    .calls = {},
                    .variant = cannot_run(call.plan) ? "" : chosen_variant(call.plan),
                    .predicted_seconds = predicted_seconds(call.plan),
                    .read = std::move(read)};
  work.calls.push_back(std::move(call));
  return work;
}

std::vector<std::string> read_when_opened(std::initializer_list<std::string> paths) {
  std::vector<std::string> read;
  for (const std::string& path : paths) {
    const bool is_member = path.ends_with(".npz") || (!path.empty() && io::file_behind(path) != path);
    if (is_member || io::is_kept_stream(path)) read.push_back(path);
  }
  return read;
}

namespace {

using primitives::fact;

/// What variants take by two lists, of which one is in order and the other at random.
struct order_range {
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

std::optional<order_range> range_of(const planned_call& call) {
  if (!call.by_order) return std::nullopt;
  return order_range{call.by_order(access_pattern::sequential()), call.by_order(access_pattern::random())};
}

nlohmann::json decided_json(const variant_estimate& estimate) {
  nlohmann::json decided = nlohmann::json::object();
  for (const decided_value& d : estimate.decided) {
    std::visit([&](const auto& value) { decided[d.what] = value; }, d.value);
  }
  return decided;
}

nlohmann::json variant_json(const variant_estimate& estimate) {
  nlohmann::json terms = nlohmann::json::array();
  for (const cost_term& term : estimate.terms) terms.push_back({{"what", term.what}, {"seconds", term.seconds}});
  nlohmann::json row = {{"variant", estimate.variant},
                        {"applicable", estimate.applicable},
                        {"chosen", estimate.chosen},
                        {"reason", estimate.reason}};
  if (estimate.applicable) {
    row.update({{"predicted_seconds", estimate.seconds},
                {"scratch_bytes", estimate.scratch_bytes},
                {"terms", terms},
                {"decided", decided_json(estimate)}});
  }
  return row;
}

void add_facts(nlohmann::json& document, const std::vector<fact>& facts) {
  for (const fact& f : facts) {
    std::visit([&](const auto& value) { document[std::string(f.name)] = value; }, f.value);
  }
}

nlohmann::json call_json(const planned_call& call) {
  const std::optional<order_range> range = range_of(call);
  nlohmann::json variants = nlohmann::json::array();
  for (const variant_estimate& v : call.plan.variants) {
    nlohmann::json row = variant_json(v);
    if (const auto seconds = range && v.applicable ? range->of(v.variant) : std::nullopt) {
      row.update({{"seconds_in_order", seconds->in_order}, {"seconds_at_random", seconds->at_random}});
    }
    variants.push_back(std::move(row));
  }
  const variant_estimate* const choice = call.plan.choice();
  nlohmann::json document = {{"primitive", call.words.primitive},
                             {"choice", choice != nullptr ? nlohmann::json(choice->variant) : nlohmann::json()},
                             {"variants", std::move(variants)}};
  if (!call.plan.learned.empty()) document["learned"] = call.plan.learned;
  add_facts(document, call.words.facts);
  return document;
}

nlohmann::json document_of(const context& ctx, const planned_call& call) {
  nlohmann::json document = call_json(call);
  const variant_estimate* const choice = call.plan.choice();
  document.update({{"command", "plan"},
                   {"backend", name(ctx.backend())},
                   {"threads", ctx.threads()},
                   {"device", ctx.state().device_name},
                   {"machine", call.plan.machine},
                   {"profile", ctx.profile().source},
                   {"predicted_seconds", choice != nullptr ? nlohmann::json(choice->seconds) : nlohmann::json()}});
  if (!ctx.ignored_profile().empty()) document["ignored"] = ctx.ignored_profile();
  return document;
}

nlohmann::json document_of(const context& ctx, const planned_work& work) {
  nlohmann::json document = document_of(ctx, work.calls.front());
  const bool is_predicted = work.is_predicted && !work.variant.empty();
  document.update({{"like", work.subcommand},
                   {"variant", work.variant.empty() ? nlohmann::json() : nlohmann::json(work.variant)},
                   {"predicted_seconds", is_predicted ? nlohmann::json(work.predicted_seconds) : nlohmann::json()},
                   {"read", work.read}});
  add_facts(document, work.facts);
  if (work.iteration_seconds) document["predicted_iteration_seconds"] = *work.iteration_seconds;
  nlohmann::json others = nlohmann::json::array();
  for (std::size_t i = 1; i < work.calls.size(); ++i) others.push_back(call_json(work.calls[i]));
  document["other_calls"] = std::move(others);
  return document;
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

std::string time_text(const variant_estimate& v, const std::optional<order_range>& range) {
  if (!v.applicable) return "-";
  std::string planned = seconds_text(v.seconds);
  const auto seconds = range ? range->of(v.variant) : std::nullopt;
  if (!seconds) return planned;
  const std::string least = seconds_text(std::min(seconds->in_order, seconds->at_random));
  const std::string most = seconds_text(std::max(seconds->in_order, seconds->at_random));
  return least == most ? planned : fmt::format("{} to {}, planned as {}", least, most, planned);
}

// "passes 3, digit bits 8, streams": what was decided, and of flags those that are set.
std::string decided_text(const variant_estimate& estimate) {
  std::vector<std::string> shown;
  for (const decided_value& decided : estimate.decided) {
    std::string what = decided.what;
    std::ranges::replace(what, '_', ' ');
    if (const bool* const flag = std::get_if<bool>(&decided.value)) {
      if (*flag) shown.push_back(what);
    } else if (const double* const number = std::get_if<double>(&decided.value)) {
      shown.push_back(fmt::format("{} {}", what,
                                  what.ends_with("seconds") ? seconds_text(*number) : fmt::format("{:.3g}", *number)));
    } else if (const std::string* const word = std::get_if<std::string>(&decided.value)) {
      shown.push_back(fmt::format("{} {}", what, *word));
    } else {
      shown.push_back(fmt::format("{} {}", what, std::get<std::uint64_t>(decided.value)));
    }
  }
  return fmt::format("{}", fmt::join(shown, ", "));
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

void print_variants(const planned_call& call) {
  const std::optional<order_range> range = range_of(call);
  if (range) fmt::print("times: from a list in order to one at random; --pattern says what is known of it\n");
  std::size_t width = 0;
  for (const variant_estimate& v : call.plan.variants) width = std::max(width, v.variant.size());
  for (const variant_estimate& v : call.plan.variants) {
    fmt::print("{} {:<{}}  {:>8}", v.chosen ? '*' : ' ', v.variant, width, time_text(v, range));
    if (v.applicable) fmt::print("  = {}", terms_text(v));
    if (v.scratch_bytes > 0) fmt::print("; scratch {}", bytes_text(v.scratch_bytes));
    if (const std::string decided = decided_text(v); !decided.empty()) fmt::print("; decided: {}", decided);
    if (!v.reason.empty()) fmt::print("{}{}", v.applicable ? "; not taken: " : "  cannot run: ", v.reason);
    fmt::print("\n");
  }
  if (call.plan.choice() == nullptr) fmt::print("no variant can run this\n");
  if (!call.plan.learned.empty()) fmt::print("learned: {}\n", call.plan.learned);
}

void print_headline(const planned_call& call) {
  fmt::print("{}: {}\n", call.words.primitive, shown_on(stdout, call.words.text));
}

void print_first(const context& ctx, const planned_call& call) {
  print_headline(call);
  fmt::print("machine: {}, profile {}\n", call.plan.machine, ctx.profile().source);
  if (!ctx.ignored_profile().empty()) fmt::print("not used: {}\n", ctx.ignored_profile());
  print_variants(call);
}

std::string what_was_read(const planned_work& work) {
  if (work.read.empty()) return "headers and sizes alone";
  std::vector<std::string> names;
  for (const std::string& path : work.read) names.push_back(shown_file(stdout, path));
  return fmt::format("all of {}", fmt::join(names, ", "));
}

std::string what_runs(const planned_work& work) {
  if (work.variant.empty()) return "would fail, because no variant can run this";
  if (work.iteration_seconds)
    return fmt::format("runs {}, predicted {} an iteration", work.variant, seconds_text(*work.iteration_seconds));
  if (!work.is_predicted) return fmt::format("runs {}", work.variant);
  return fmt::format("runs {}, predicted {}", work.variant, seconds_text(work.predicted_seconds));
}

}  // namespace

void print_plan(const common_options& common, const context& ctx, const planned_call& call) {
  if (common.json) return print_json(document_of(ctx, call));
  print_first(ctx, call);
  if (common.backend == "auto") print_missing_backends();
}

void print_plan(const common_options& common, const context& ctx, const planned_work& work) {
  if (common.quiet) return;
  if (common.json) return print_json(document_of(ctx, work));
  print_first(ctx, work.calls.front());
  for (std::size_t i = 1; i < work.calls.size(); ++i) {
    print_headline(work.calls[i]);
    print_variants(work.calls[i]);
  }
  for (const std::string& remark : work.remarks) fmt::print("{}\n", shown_on(stdout, remark));
  fmt::print("read: {}\n", what_was_read(work));
  fmt::print("sheaf {}: {}\n", work.subcommand, what_runs(work));
  if (common.backend == "auto") print_missing_backends();
}

}  // namespace sheaf::cli
