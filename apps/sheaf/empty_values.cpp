#include "apps/sheaf/empty_values.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sheaf::cli {
namespace {

constexpr const char* what_is_wrong = "the value is empty, as when a shell variable is not set";

std::vector<CLI::App*> subcommands_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// In front of all other validators, of which some have other words for an empty text.
void check_values_of(CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return;  // a flag
  option.transform(
      CLI::Validator([](const std::string& value) { return std::string(value.empty() ? what_is_wrong : ""); }, ""));
}

// Looks at what CLI11 does not show to validators: the nothing behind `--name=` and `-o=`, and items that it leaves
// out.
class text_checker {
 public:
  explicit text_checker(CLI::App& app) : app_(app) {
    for (const CLI::App* const subcommand : subcommands_of(app)) subcommands_.push_back(subcommand->get_name());
  }

  /// @param given  the texts behind the name of the program or subcommand
  void check(const std::vector<std::string>& given) const {
    for (std::size_t at = 0; at < given.size() && given[at] != "--" && !is_subcommand(given[at]);) {
      const std::string& text = given[at++];
      if (!text.starts_with('-')) continue;
      const bool is_long = text.starts_with("--");
      const std::size_t equals = is_long ? text.find('=') : text.size() == 3 && text[2] == '=' ? 2 : text.npos;
      const CLI::Option* const option = app_.get_option_no_throw(text.substr(0, equals));
      if (option == nullptr) continue;
      if (equals == text.npos) {
        at = end_of_values(*option, given, at);
      } else if (equals + 1 == text.size()) {
        throw CLI::ValidationError(option->get_name(), what_is_wrong);
      } else {
        check_list(*option, text.substr(equals + 1));
      }
    }
  }

 private:
  bool is_subcommand(const std::string& text) const {
    return std::ranges::find(subcommands_, text) != subcommands_.end();
  }

  static void check_list(const CLI::Option& option, const std::string& list) {
    const char delimiter = option.get_delimiter();
    if (delimiter == '\0' || list.empty()) return;
    const bool has_empty_item =
        list.front() == delimiter || list.back() == delimiter || list.find(std::string(2, delimiter)) != list.npos;
    if (has_empty_item) throw CLI::ValidationError(option.get_name(), fmt::format("'{}' has an empty item", list));
  }

  // Checks the values from `at` on, and returns where they end.
  std::size_t end_of_values(const CLI::Option& option, const std::vector<std::string>& given, std::size_t at) const {
    const auto least = static_cast<std::size_t>(option.get_items_expected_min());
    const bool may_have_more = option.get_delimiter() != '\0' && option.get_allow_extra_args();
    for (std::size_t taken = 0; at < given.size(); ++at, ++taken) {
      const bool is_one_more = may_have_more && !given[at].starts_with('-') && !is_subcommand(given[at]);
      if (taken >= least && !is_one_more) break;
      check_list(option, given[at]);
    }
    return at;
  }

  const CLI::App& app_;
  std::vector<std::string> subcommands_;
};

void check_app(CLI::App& app, const std::vector<std::string>& all) {
  for (CLI::Option* const option : app.get_options()) check_values_of(*option);
  app.preparse_callback([checker = text_checker(app), all](std::size_t left) {
    checker.check({all.end() - static_cast<std::ptrdiff_t>(left), all.end()});
  });
}

}  // namespace

void refuse_empty_values(CLI::App& app, const std::vector<std::string>& arguments) {
  check_app(app, arguments);
  for (CLI::App* const subcommand : subcommands_of(app)) check_app(*subcommand, arguments);
}

}  // namespace sheaf::cli
