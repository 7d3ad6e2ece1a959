#include "apps/sheaf/usage_words.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/printable.hpp"

namespace sheaf::cli {
namespace {

struct text_parts {
  std::string before;
  std::string behind;
};

std::optional<text_parts> cut_at(const std::string& text, std::string_view middle) {
  const std::size_t at = text.find(middle);
  if (at == text.npos) return std::nullopt;
  return text_parts{text.substr(0, at), text.substr(at + middle.size())};
}

// "TEXT:{any,last}" or "{any,last}" as "any, last".
std::string alternatives_in(const std::string& text) {
  const std::size_t open = text.find('{');
  const std::size_t close = text.rfind('}');
  if (open == text.npos || close == text.npos || close < open) return text;
  std::string list;
  for (const char c : text.substr(open + 1, close - open - 1)) list += c == ',' ? std::string(", ") : std::string(1, c);
  return list;
}

std::string extras_text(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  std::string list;
  for (const std::string& extra : extras)
    list += fmt::format("{}'{}'", list.empty() ? "" : ", ", core::printable(extra));
  return fmt::format("{} {} expected", list,
                     extras.size() == 1 ? "is an argument more than is" : "are more arguments than are");
}

}  // namespace

std::string usage_words(const CLI::App& app, const CLI::ParseError& error) {
  std::string words = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return extras_text(app);
  if (const auto parts = cut_at(words, ": At Most 1 required but received "))
    return fmt::format("{} is given {} times, but takes one value", parts->before, parts->behind);
  if (const auto parts = cut_at(words, ": 1 required ")) {
    const auto value = cut_at(parts->behind, " missing");
    if (value) return fmt::format("{} needs a value: {}", parts->before, alternatives_in(value->before));
  }
  // A flag that is given several times has all of its values here.
  if (const auto parts = cut_at(words, "Could not convert: ")) {
    const auto flag = cut_at(parts->behind, " = ");
    if (flag) return fmt::format("{}: '{}' is neither true nor false", flag->before, core::printable(flag->behind));
  }
  if (const auto parts = cut_at(words, " not in {")) {
    const auto value = cut_at(parts->before, ": ");
    if (value) {
      return fmt::format("{}: '{}' is not one of {}", value->before, core::printable(value->behind),
                         alternatives_in("{" + parts->behind));
    }
  }
  return words;
}

}  // namespace sheaf::cli
