#include <algorithm>

#include <fmt/format.h>

#include "apps/sheaf/manual/page.hpp"

// Help for a terminal.
namespace sheaf::cli {
namespace {

constexpr std::size_t help_columns = 100;
constexpr std::size_t text_column = 31;

// Names, and behind them, or below where they are long, what they mean.
std::string entry_text(const std::string& names, const std::string& text) {
  const std::string rest = wrapped(text, help_columns, text_column);
  if (rest.empty()) return names + "\n";
  if (names.size() + 2 > text_column) return names + "\n" + rest;
  return fmt::format("{:<{}}{}", names, text_column, rest.substr(text_column));
}

std::string option_text(const page_option& option) {
  const std::string before = option.is_operand ? "  " : option.short_name.empty() ? "      " : "  ";
  const std::string note = option.is_required && !option.is_operand ? " (required)" : "";
  return entry_text(before + option.names_text(), option.text + note);
}

std::string section_text(const page_section& section) {
  std::string text = section.title.empty() ? "" : section.title + ":\n";
  bool begins = true;
  bool was_code = false;
  for (const page_section::block& block : section.blocks) {
    const bool is_next_example = section.title == "Examples" && was_code && !block.is_code;
    if (!begins && !is_next_example && !block.is_code && !was_code) text += "\n";
    if (block.is_code) {
      text += "  ";
      for (const char c : block.text) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
      text += "\n";
    } else {
      text += wrapped(block.text, help_columns);
    }
    begins = false;
    was_code = block.is_code;
  }
  return text + "\n";
}

}  // namespace

std::string help_text(const command_page& page) {
  std::string text = wrapped(page.summary, help_columns) + "\nUsage: " + page.usage() + "\n\n";
  for (const std::string& topic : topics_of(page.subcommands)) {
    text += topic + ":\n";
    for (const page_subcommand& each : page.subcommands) {
      if (each.topic == topic) text += entry_text("  " + each.name, each.summary);
    }
    text += "\n";
  }
  if (!page.operands.empty()) text += "Operands:\n";
  for (const page_option& operand : page.operands) text += option_text(operand);
  if (!page.operands.empty()) text += "\n";
  for (const std::string& topic : topics_of(page.options)) {
    text += topic + ":\n";
    for (const page_option& option : page.options) {
      if (option.topic == topic) text += option_text(option);
    }
    text += "\n";
  }
  for (const page_section& section : page.sections) text += section_text(section);
  text.pop_back();
  return text;
}

std::string help_formatter::make_help(const CLI::App* app, std::string /*name*/, CLI::AppFormatMode /*mode*/) const {
  return help_text(page_of(*app));
}

}  // namespace sheaf::cli
