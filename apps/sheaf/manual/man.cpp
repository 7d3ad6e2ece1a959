#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "apps/sheaf/manual/page.hpp"

// Manual pages in the language of man (7).
namespace sheaf::cli {
namespace {

// A text that roff prints as it is: a hyphen as the sign that a shell takes, and no line as a request.
std::string roff_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\': escaped += "\\e"; break;
      case '-': escaped += "\\-"; break;
      case '\'': escaped += "\\(aq"; break;
      case '`': escaped += "\\(ga"; break;
      case '^': escaped += "\\(ha"; break;
      case '~': escaped += "\\(ti"; break;
      default: escaped += c;
    }
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

// The value of an option, whose long lists of alternatives may be broken behind a bar.
std::string value_text(const std::string& value) {
  std::string text;
  for (const char c : roff_text(value)) {
    text += c;
    if (c == '|') text += "\\:";
  }
  return "\\fI" + text + "\\fR";
}

std::string bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string hyphenated(const command_page& page) {
  return page.subcommand.empty() ? page.program : page.program + "-" + page.subcommand;
}

std::string paragraph(const std::string& text) {
  std::string lines;
  std::istringstream in(wrapped(text, 100));
  for (std::string line; std::getline(in, line);) lines += roff_text(line) + "\n";
  return lines;
}

std::string code(const std::string& text) {
  std::string lines = ".PP\n.RS 2\n.nf\n";
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines += roff_text(line) + "\n";
  return lines + ".fi\n.RE\n";
}

std::string tag_of(const page_option& option) {
  if (option.is_operand) return italic(option.name);
  const std::string names =
      option.short_name.empty() ? bold(option.name) : bold(option.short_name) + ", " + bold(option.name);
  return option.value.empty() ? names : names + " " + value_text(option.value);
}

std::string tagged(const page_option& option) {
  const std::string note = option.is_required && !option.is_operand ? " (required)" : "";
  return ".TP\n" + tag_of(option) + "\n" + paragraph(option.text + note);
}

std::string blocks_text(const page_section& section) {
  std::string text;
  for (const page_section::block& block : section.blocks)
    text += block.is_code ? code(block.text) : ".PP\n" + paragraph(block.text);
  return text;
}

// The first paragraph behind a heading needs no space before it.
std::string section(const std::string& title, std::string body) {
  if (body.starts_with(".PP\n")) body.erase(0, 4);
  return ".SH " + upper(title) + "\n" + body;
}

std::string subcommands_text(const command_page& page) {
  std::string text;
  for (const std::string& topic : topics_of(page.subcommands)) {
    text += ".SS " + roff_text(topic) + "\n";
    for (const page_subcommand& each : page.subcommands) {
      if (each.topic != topic) continue;
      text += ".TP\n" + bold(page.program + "-" + each.name) + "(1)\n" + paragraph(each.summary);
    }
  }
  return section("Subcommands", text);
}

std::string options_text(const command_page& page) {
  std::string text;
  const auto topics = topics_of(page.options);
  for (const std::string& topic : topics) {
    if (topics.size() > 1) text += ".SS " + roff_text(topic) + "\n";
    for (const page_option& option : page.options) {
      if (option.topic == topic) text += tagged(option);
    }
  }
  return text.empty() ? "" : section("Options", text);
}

std::string see_also(const command_page& page) {
  if (!page.subcommand.empty()) return section("See also", bold(page.program) + "(1)\n");
  std::string names;
  for (const page_subcommand& each : page.subcommands)
    names += fmt::format("{}{}(1)", names.empty() ? "" : ",\n", bold(page.program + "-" + each.name));
  return section("See also", names + "\n");
}

}  // namespace

std::string man_text(const command_page& page, const std::string& version) {
  std::string text = fmt::format(
      ".\\\" Made by `sheaf generate man` of the options of the command.\n.TH {} 1 \"\" "
      "\"{} {}\" \"User Commands\"\n.nh\n.ad l\n",
      upper(roff_text(hyphenated(page))), roff_text(page.program), roff_text(version));
  std::string summary = page.summary;
  if (summary.ends_with('.')) summary.pop_back();
  text += ".SH NAME\n" + roff_text(hyphenated(page)) + " \\- " + roff_text(summary) + "\n";
  std::string usage = roff_text(page.usage().substr(page.name().size()));
  text += ".SH SYNOPSIS\n" + bold(page.name()) + usage + "\n";
  for (const page_section& each : page.sections) {
    if (each.title.empty()) text += section("Description", blocks_text(each));
  }
  if (!page.subcommands.empty()) text += subcommands_text(page);
  if (!page.operands.empty()) {
    std::string operands;
    for (const page_option& operand : page.operands) operands += tagged(operand);
    text += section("Operands", operands);
  }
  text += options_text(page);
  for (const page_section& each : page.sections) {
    if (!each.title.empty()) text += section(each.title, blocks_text(each));
  }
  if (!page.subcommand.empty()) {
    text += section("Exit status", "0 if all is done.\n" + bold(page.program) +
                                       "(1) lists what else there is, and the variables of the environment.\n");
  }
  return text + see_also(page);
}

}  // namespace sheaf::cli
