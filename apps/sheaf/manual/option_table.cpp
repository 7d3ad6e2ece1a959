#include <algorithm>

#include <fmt/format.h>

#include "apps/sheaf/manual/page.hpp"

// The options of all subcommands as one table, for docs/command.md.
namespace sheaf::cli {
namespace {

struct option_row {
  page_option option;
  std::vector<std::string> subcommands;
  std::vector<std::string> values;
};

std::vector<option_row> rows_of(const std::vector<command_page>& pages) {
  std::vector<option_row> rows;
  for (const command_page& page : pages) {
    for (const page_option& option : page.options) {
      auto row = std::ranges::find_if(rows, [&](const option_row& r) { return r.option.name == option.name; });
      if (row == rows.end()) row = rows.insert(rows.end(), {option, {}, {}});
      row->subcommands.push_back(page.subcommand.empty() ? page.program : page.subcommand);
      if (row->option.short_name.empty()) row->option.short_name = option.short_name;
      const bool is_new = std::ranges::find(row->values, option.value) == row->values.end();
      if (is_new && !option.value.empty()) row->values.push_back(option.value);
    }
  }
  std::ranges::sort(rows, {}, [](const option_row& row) { return row.option.name; });
  return rows;
}

// What has a meaning in Markdown, or ends a cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '_' || c == '*' || c == '<' || c == '[') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string subcommands_text(const option_row& row, std::size_t all) {
  if (row.subcommands.size() == all) return "all";
  return joined(row.subcommands, ", ");
}

}  // namespace

std::string option_table(const std::vector<command_page>& pages) {
  std::string text = "| option | value | subcommands |\n|---|---|---|\n";
  for (const option_row& row : rows_of(pages)) {
    const std::string names =
        row.option.short_name.empty() ? row.option.name : row.option.short_name + ", " + row.option.name;
    text += fmt::format("| `{}` | {} | {} |\n", names, cell(joined(row.values, " or ")),
                        subcommands_text(row, pages.size()));
  }
  return text;
}

}  // namespace sheaf::cli
