#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

// What there is to say of the program or one of its subcommands, read from the options that CLI11 knows. Help, manual
// pages, completions and the table of options are made of it, so that none of them can miss an option.
namespace sheaf::cli {

struct page_option {
  std::string short_name;  ///< "-o", or empty
  std::string name;        ///< "--output"; of an operand "TABLE"
  std::string value;       ///< "FILE", "any|last"; empty for a flag
  std::string text;
  std::string topic;
  bool is_operand = false;
  bool is_required = false;
  bool repeats = false;
  std::vector<std::string> choices;  ///< all values that there are, where these are few

  /// "-o, --output FILE"
  std::string names_text() const;
};

struct page_subcommand {
  std::string name;
  std::string summary;
  std::string topic;
};

/// A part of the text behind the options: "Examples" and its lines.
struct page_section {
  std::string title;  ///< empty for text that stands alone
  struct block {
    bool is_code = false;  ///< lines that stay as they are
    std::string text;
  };
  std::vector<block> blocks;
};

struct command_page {
  std::string program;     ///< "sheaf"
  std::string subcommand;  ///< "gather"; empty for the program
  std::string summary;
  std::vector<page_option> operands;
  std::vector<page_option> options;
  std::vector<page_subcommand> subcommands;
  std::vector<page_section> sections;

  /// "sheaf gather"
  std::string name() const { return subcommand.empty() ? program : program + " " + subcommand; }
  /// "sheaf gather [OPTIONS] TABLE INDEX"
  std::string usage() const;
};

/// Topics in the order in which help has them.
std::vector<std::string> topics_of(const std::vector<page_option>& options);
std::vector<std::string> topics_of(const std::vector<page_subcommand>& subcommands);

command_page page_of(const CLI::App& app);
/// The pages of the program and of its subcommands, in this order, without hidden ones.
std::vector<command_page> pages_of(const CLI::App& program);

/// "any|last" of two words and "|"
std::string joined(const std::vector<std::string>& words, std::string_view between = " ");

/// Text as lines of at most so many columns, each behind an indentation.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indentation = 0);

std::string help_text(const command_page& page);
/// The page in the language of man (7), for section 1.
std::string man_text(const command_page& page, const std::string& version);
/// Scripts that complete words of the program in a shell.
std::string bash_completion(const std::vector<command_page>& pages);
std::string zsh_completion(const std::vector<command_page>& pages);
std::string fish_completion(const std::vector<command_page>& pages);
/// A table in Markdown: each option, its value, the subcommands that have it, and what it says.
std::string option_table(const std::vector<command_page>& pages);

/// Makes help of pages.
class help_formatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace sheaf::cli
