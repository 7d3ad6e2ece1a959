#include "apps/sheaf/manual/page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "apps/sheaf/arguments.hpp"
#include "apps/sheaf/manual/topics.hpp"

namespace sheaf::cli {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '-';
  });
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// The check of CLI11 for a set adds it to the name of the type: "TEXT:{any,last}".
void read_value(const CLI::Option& option, page_option& into) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.rfind('}');
  if (open != type.npos && close != type.npos) {
    into.choices = split_at(std::string_view(type).substr(open + 1, close - open - 1), ',');
  } else if (type.find('|') != type.npos) {
    into.choices = split_at(type, '|');
    if (!std::ranges::all_of(into.choices, is_word)) into.choices.clear();
  }
  if (into.is_operand || option.get_items_expected_max() == 0) return;
  into.value = into.choices.empty() ? type : joined(into.choices, "|");
}

page_option option_of(const CLI::Option& option) {
  page_option page;
  page.is_operand = option.get_positional();
  if (!option.get_snames().empty()) page.short_name = "-" + option.get_snames().front();
  page.name = page.is_operand ? option.get_name(true, false) : "--" + option.get_lnames().front();
  page.text = option.get_description();
  if (const std::string preset = option.get_default_str(); !preset.empty()) {
    page.text += fmt::format("; {} unless given", preset);
  }
  page.is_required = option.get_required();
  page.repeats = option.get_items_expected_max() > 1 && !page.is_operand;
  if (!page.is_operand) page.topic = topic_of(page.name);
  read_value(option, page);
  return page;
}

bool ends_with_colon(const std::string& line) {
  return line.size() > 1 && line.back() == ':' && std::isupper(static_cast<unsigned char>(line.front())) != 0 &&
         line.find(' ', line.find(' ') + 1) == line.npos;
}

// Lines that begin with two spaces stay as they are; others are joined to paragraphs. A line of one or two words and a
// colon begins a section, and so does the first example.
std::vector<page_section> sections_of(const std::string& footer) {
  std::vector<page_section> sections(1);
  bool may_join = false;
  std::istringstream in(footer);
  for (std::string line; std::getline(in, line);) {
    const bool is_code = line.starts_with("  ");
    const bool is_example = line.starts_with("Example: ") && sections.back().title != "Examples";
    if (is_example || (!is_code && ends_with_colon(line))) {
      sections.push_back({is_example ? "Examples" : line.substr(0, line.size() - 1), {}});
      may_join = false;
      if (!is_example) continue;
      line = line.substr(line.find(' ') + 1);
      line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
    }
    if (line.empty()) {
      may_join = false;
      continue;
    }
    auto& blocks = sections.back().blocks;
    if (may_join && !blocks.empty() && blocks.back().is_code == is_code) {
      blocks.back().text += (is_code ? "\n" : " ") + (is_code ? line.substr(2) : line);
    } else {
      blocks.push_back({is_code, is_code ? line.substr(2) : line});
    }
    may_join = true;
  }
  std::erase_if(sections, [](const page_section& section) { return section.blocks.empty(); });
  return sections;
}

template <class Listed>
std::vector<std::string> topics_in_order(const std::vector<Listed>& all) {
  std::vector<std::string> topics;
  for (const std::string_view topic : topic_order()) {
    if (std::ranges::any_of(all, [&](const Listed& each) { return each.topic == topic; })) topics.emplace_back(topic);
  }
  return topics;
}

}  // namespace

std::string page_option::names_text() const {
  const std::string names = short_name.empty() ? name : short_name + ", " + name;
  return value.empty() ? names : names + " " + value;
}

std::string command_page::usage() const {
  std::string text = name() + (options.empty() ? "" : " [OPTIONS]");
  if (!subcommands.empty()) text += " SUBCOMMAND ...";
  for (const page_option& operand : operands)
    text += operand.is_required ? " " + operand.name : " [" + operand.name + "]";
  return text;
}

std::vector<std::string> topics_of(const std::vector<page_option>& options) { return topics_in_order(options); }
std::vector<std::string> topics_of(const std::vector<page_subcommand>& subcommands) {
  return topics_in_order(subcommands);
}

command_page page_of(const CLI::App& app) {
  command_page page;
  const CLI::App* const parent = app.get_parent();
  page.program = parent == nullptr ? app.get_name() : parent->get_name();
  if (parent != nullptr) page.subcommand = app.get_name();
  page.summary = app.get_description();
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    page_option shown = option_of(*option);
    if (shown.name == "--like" && parent != nullptr) shown.choices = planning_subcommands(*parent);
    (shown.is_operand ? page.operands : page.options).push_back(std::move(shown));
  }
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_group().empty()) continue;  // hidden
    page.subcommands.push_back({each->get_name(), each->get_description(), topic_of_subcommand(each->get_name())});
  }
  page.sections = sections_of(app.get_footer());
  return page;
}

std::vector<command_page> pages_of(const CLI::App& program) {
  std::vector<command_page> pages{page_of(program)};
  for (const CLI::App* const each : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) pages.push_back(page_of(*each));
  }
  return pages;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) text += fmt::format("{}{}", text.empty() ? "" : between, part);
  return text;
}

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indentation) {
  const std::string before(indentation, ' ');
  std::string lines;
  std::string line;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (!line.empty() && indentation + line.size() + 1 + word.size() > columns) {
      lines += before + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? lines : lines + before + line + "\n";
}

}  // namespace sheaf::cli
