#include "apps/sheaf/arguments.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/former_names.hpp"

namespace sheaf::cli {
namespace {

constexpr std::string_view json_option = "--json";
constexpr std::string_view like_option = "--like";

bool is_option(std::string_view text) { return text.size() > 1 && text.front() == '-'; }

std::string_view name_part_of(std::string_view text) { return text.substr(0, text.find('=')); }

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of_subcommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const subcommand : subcommands_of(app)) {
    if (!subcommand->get_group().empty()) names.push_back(subcommand->get_name());
  }
  return names;
}

std::vector<std::string> long_names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;  // which no help shows
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool plans(const CLI::App& subcommand) {
  return subcommand.get_option_no_throw(std::string(plan_only_option)) != nullptr;
}

// The edits between two texts: letters put in, left out, replaced, or swapped with the next (Damerau 1964).
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const std::size_t replaced = last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, replaced});
      const bool is_swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (is_swapped) row[k] = std::min(row[k], before_last[k - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string meant_text(const std::string& name) { return name.empty() ? "" : fmt::format("; did you mean {}?", name); }

// The subcommands that have an option, where the one that was given has not.
std::string takers_of(const CLI::App& app, std::string_view option) {
  std::string takers;
  for (const CLI::App* const other : subcommands_of(app)) {
    if (other->get_group().empty() || other->get_option_no_throw(std::string(option)) == nullptr) continue;
    takers += fmt::format("{}{}", takers.empty() ? "" : ", ", other->get_name());
  }
  return takers;
}

std::string unknown_option_text(const CLI::App& app, const CLI::App& subcommand, std::string_view option) {
  const bool is_main = &app == &subcommand;
  std::string former = former_name_text(is_main ? "" : subcommand.get_name(), option);
  if (!former.empty()) return former;
  const std::string nearest = nearest_name(option, long_names_of(subcommand));
  if (nearest.empty()) {
    if (const std::string takers = takers_of(app, option); !takers.empty()) {
      return is_main ? fmt::format("{} stands behind its subcommand: {}", option, takers)
                     : fmt::format("{} is an option of {}, not of {}", option, takers, subcommand.get_name());
    }
  }
  return fmt::format("there is no option {}{}", option, meant_text(nearest));
}

// Looks at the arguments of one subcommand, or of the program before its subcommand.
class argument_reader {
 public:
  argument_reader(const CLI::App& app, const CLI::App& subcommand, std::span<const std::string> given)
      : app_(app), subcommand_(subcommand), given_(given) {}

  std::optional<std::string> unknown() {
    for (; at_ < given_.size() && given_[at_] != "--"; ++at_) {
      const std::string& text = given_[at_];
      if (!is_option(text)) continue;
      if (auto problem = text.starts_with("--") ? unknown_long(text) : unknown_short(text)) return problem;
    }
    return std::nullopt;
  }

 private:
  // What follows an option as its value is no option, whatever it looks like.
  void skip_values_of(const CLI::Option& option) {
    at_ += static_cast<std::size_t>(std::max(0, option.get_items_expected_min()));
  }

  std::optional<std::string> unknown_long(const std::string& text) {
    const std::string name(name_part_of(text));
    const CLI::Option* const option = subcommand_.get_option_no_throw(name);
    if (option == nullptr) return unknown_option_text(app_, subcommand_, name);
    if (name.size() == text.size()) skip_values_of(*option);
    return std::nullopt;
  }

  // "-qv" is two flags, and "-j4" an option with its value.
  std::optional<std::string> unknown_short(const std::string& text) {
    for (std::size_t i = 1; i < text.size() && text[i] != '='; ++i) {
      const std::string name{'-', text[i]};
      const CLI::Option* const option = subcommand_.get_option_no_throw(name);
      if (option == nullptr) {
        const std::string meant = i == 1 ? nearest_name("-" + text, long_names_of(subcommand_)) : "";
        return fmt::format("there is no option {}{}", i == 1 && text.size() > 2 && !meant.empty() ? text : name,
                           meant_text(text.size() > 2 ? meant : ""));
      }
      if (option->get_items_expected_max() == 0) continue;
      if (i + 1 == text.size()) skip_values_of(*option);
      break;
    }
    return std::nullopt;
  }

  const CLI::App& app_;
  const CLI::App& subcommand_;
  std::span<const std::string> given_;
  std::size_t at_ = 0;
};

// The value of -o in an argument: what stands behind it there, also behind flags as in "-qo-", or the argument that
// follows. None where the argument has no -o.
std::optional<std::string> output_in(const CLI::App& subcommand, const std::string& text, const std::string& next) {
  if (text == "--output") return next;
  if (text.starts_with("--output=")) return text.substr(text.find('=') + 1);
  if (!is_option(text) || text.starts_with("--")) return std::nullopt;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == 'o') {
      if (i + 1 == text.size()) return next;
      return text.substr(i + (text[i + 1] == '=' ? 2 : 1));
    }
    const CLI::Option* const option = subcommand.get_option_no_throw(std::string{'-', text[i]});
    if (option == nullptr || option->get_items_expected_max() > 0) return std::nullopt;
  }
  return std::nullopt;
}

// The place of the subcommand among the arguments: of the first that is no option. The program's own options have no
// values.
std::size_t place_of_subcommand(std::span<const std::string> arguments) {
  std::size_t at = 0;
  while (at < arguments.size() && is_option(arguments[at]) && arguments[at] != "--") ++at;
  return at;
}

}  // namespace

std::string nearest_name(std::string_view text, std::span<const std::string> known) {
  const auto bare = [](std::string_view name) {
    return name.substr(std::min(name.size(), name.find_first_not_of('-')));
  };
  const std::string_view wanted = bare(text);
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::vector<std::string> begun;  // with the text, or an end of their own in it
  for (const std::string& name : known) {
    const std::string_view candidate = bare(name);
    if (wanted.size() > 1 && (candidate.starts_with(wanted) || wanted.starts_with(candidate))) begun.push_back(name);
    const std::size_t edits = edits_between(wanted, candidate);
    if (edits >= least) continue;
    least = edits;
    nearest = name;
  }
  if (least > 1 && begun.size() == 1) return begun.front();
  return nearest.empty() && !begun.empty() ? fmt::format("{}", fmt::join(begun, " or ")) : nearest;
}

std::vector<std::string> ordered_arguments(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const std::size_t place = place_of_subcommand(arguments);
  if (place == arguments.size() || subcommand_of(app, arguments) == nullptr) return arguments;
  const auto begin = arguments.begin();
  const auto is_json = [](const std::string& text) { return name_part_of(text) == json_option; };
  // The subcommand's own --json stands behind, and is the one that counts.
  const auto moved = std::stable_partition(begin, begin + static_cast<std::ptrdiff_t>(place),
                                           [&](const std::string& text) { return !is_json(text); });
  std::rotate(moved, begin + static_cast<std::ptrdiff_t>(place), begin + static_cast<std::ptrdiff_t>(place) + 1);
  return arguments;
}

bool wants_json(std::span<const std::string> arguments) {
  bool wanted = false;
  for (const std::string& text : arguments) {
    if (text == "--") break;
    if (name_part_of(text) != json_option) continue;
    std::string value = text.substr(std::min(text.size(), json_option.size() + 1));
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (value.empty() && text.size() > json_option.size()) continue;  // "--json=", which is refused
    constexpr std::array no{"false", "off", "0", "no", "disable"};
    wanted = std::ranges::find(no, value) == no.end();
  }
  return wanted;
}

bool wants_plan(std::span<const std::string> arguments) {
  const auto end = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), end, plan_only_option) != end;
}

std::vector<std::string> planning_subcommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const subcommand : subcommands_of(app)) {
    if (plans(*subcommand)) names.push_back(subcommand->get_name());
  }
  return names;
}

CLI::App* planning_subcommand(CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* s) { return s->get_name() == name && plans(*s); });
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> like_another(CLI::App& app, std::vector<std::string> arguments) {
  const auto end = std::ranges::find(arguments, "--");
  const auto plan = arguments.begin() + static_cast<std::ptrdiff_t>(place_of_subcommand(arguments));
  if (plan >= end || *plan != "plan") return arguments;
  const auto like = std::find_if(plan, end, [](const std::string& text) { return name_part_of(text) == like_option; });
  if (like == end || (plan + 1 != like && !is_option(plan[1]))) return arguments;  // with a PRIMITIVE
  const bool has_name = like->size() > like_option.size();
  if (!has_name && like + 1 == arguments.end()) return arguments;
  const std::string name = has_name ? like->substr(like_option.size() + 1) : like[1];
  CLI::App* const subcommand = planning_subcommand(app, name);
  if (subcommand == nullptr) return arguments;
  if (CLI::Option* const output = subcommand->get_option_no_throw("--output")) output->required(false);
  std::vector<std::string> others(arguments.begin(), plan);
  others.insert(others.end(), {name, std::string(plan_only_option)});
  others.insert(others.end(), plan + 1, like);
  others.insert(others.end(), like + (has_name ? 1 : 2), arguments.end());
  return others;
}

bool wants_standard_output(const CLI::App& subcommand, std::span<const std::string> arguments) {
  if (subcommand.get_option_no_throw("--output") == nullptr) return false;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const auto output = output_in(subcommand, arguments[i], i + 1 < arguments.size() ? arguments[i + 1] : "");
    if (output && io::is_standard_output(*output)) return true;
  }
  return false;
}

const CLI::App* subcommand_of(const CLI::App& app, std::span<const std::string> arguments) {
  const std::size_t place = place_of_subcommand(arguments);
  if (place == arguments.size()) return nullptr;
  for (const CLI::App* const subcommand : subcommands_of(app)) {
    if (subcommand->get_name() == arguments[place]) return subcommand;
  }
  return nullptr;
}

std::optional<argument_fault> unknown_argument(const CLI::App& app, std::span<const std::string> arguments) {
  const std::size_t place = place_of_subcommand(arguments);
  if (const auto words = argument_reader(app, app, arguments.first(place)).unknown()) return argument_fault{{}, *words};
  if (place == arguments.size() || arguments[place] == "--") return std::nullopt;
  const CLI::App* const subcommand = subcommand_of(app, arguments);
  if (subcommand == nullptr) {
    return argument_fault{{},
                          fmt::format("'{}' is not a subcommand{}", arguments[place],
                                      meant_text(nearest_name(arguments[place], names_of_subcommands(app))))};
  }
  const auto words = argument_reader(app, *subcommand, arguments.subspan(place + 1)).unknown();
  if (!words) return std::nullopt;
  return argument_fault{subcommand->get_name(), *words};
}

}  // namespace sheaf::cli
