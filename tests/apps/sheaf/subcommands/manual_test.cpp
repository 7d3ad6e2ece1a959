#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

// Help, manual pages, completions and the table of options, which are made of the options themselves.
namespace sheaf::tests::apps_sheaf_subcommands_manual_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> subcommands{"gather", "scatter", "split", "multi-split", "sort",  "search",
                                           "rank",   "scan",    "spmv",  "edges",       "solve", "npb-cg",
                                           "plan",   "machine", "demo",  "version",     "help"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

class CliManual : public cli_test {
 protected:
  void fill_folder() override {}

  void generate() {
    for (const char* what : {"man", "bash", "zsh", "fish"}) expect_success(fmt::format("generate {} share", what));
  }
};

TEST_F(CliManual, HelpFitsIntoAHundredColumns) {
  for (const std::string& subcommand : subcommands) {
    for (const std::string& line : lines_of(run_sheaf(folder, subcommand + " --help").out))
      EXPECT_LE(line.size(), 100U) << subcommand << ": " << line;
  }
  for (const std::string& line : lines_of(run_sheaf(folder, "--help").out)) EXPECT_LE(line.size(), 100U) << line;
}

TEST_F(CliManual, HelpIsASubcommandToo) {
  EXPECT_EQ(run_sheaf(folder, "help").out, run_sheaf(folder, "--help").out);
  for (const std::string& subcommand : subcommands) {
    const program_result help = run_sheaf(folder, "help " + subcommand);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("\nUsage: sheaf " + subcommand)) << subcommand;
    EXPECT_EQ(help.out, run_sheaf(folder, subcommand + " --help").out);
    EXPECT_THAT(run_sheaf(folder, "--help").out, HasSubstr("\n  " + subcommand + " ")) << subcommand;
  }
  EXPECT_THAT(run_sheaf(folder, "--help").out, Not(HasSubstr("  generate ")));
}

TEST_F(CliManual, HelpIsInTopics) {
  const std::vector<std::string> lines = lines_of(run_sheaf(folder, "help sort").out);
  for (const char* topic : {"Operands:", "What is done:", "Input:", "Output:", "Where and how it runs:",
                            "Checks and reports:", "Examples:"}) {
    EXPECT_THAT(lines, Contains(topic));
  }
}

/// Commands of the examples, without the backslashes that continue lines.
std::string examples_of(const std::string& help) {
  std::string commands;
  bool is_inside = false;
  for (const std::string& line : lines_of(help)) {
    if (line == "Examples:") is_inside = true;
    if (is_inside && line.starts_with("  ")) commands += line.substr(2) + "\n";
  }
  return commands;
}

// Everything that the examples of a help say is done, in a folder that has the files which they do not make.
TEST_F(CliManual, ExamplesRun) {
  if (!has_program("python3")) GTEST_SKIP() << "python3 is not here, which makes arrays in the examples";
  const bool has_numpy = std::system("python3 -c 'import numpy' >/dev/null 2>&1") == 0;
  const std::string modules =
      has_numpy ? "" : "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" SHEAF_SOURCE_DIR "/tests/support/little_numpy";
  // What takes minutes, or measures.
  const std::set<std::string> not_run{"machine", "demo", "npb-cg"};
  std::size_t commands = 0;
  for (const std::string& subcommand : subcommands) {
    if (not_run.contains(subcommand)) continue;
    const temporary_folder work;
    work.write("in.dat", std::string(1000, 'x'));
    work.write("wing.su2", "NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0 0\n1 0\n0 1\nNMARK= 0\n");
    work.write("people.npy",
               npy_file("[('id', '<i4'), ('name', '|S4')]", "(2,)", std::string("\1\0\0\0ab\0\0\2\0\0\0cd\0\0", 16)));
    work.write("keys.bin", bytes_of<std::int32_t>({5, 8}));
    work.write("table.bin", std::string(8, 'x') + bytes_of<std::int32_t>({5, 6}) + std::string(8, 'y') +
                                bytes_of<std::int32_t>({8, 9}));
    if (subcommand == "scatter") {
      work.write("table.npy", npy_file("'<f4'", "(10, 3)", std::string(120, 'x')));
      work.write("index.npy", npy_file("'<i8'", "(3,)", bytes_of<std::int64_t>({7, 0, 2})));
    }
    const std::string text = examples_of(run_sheaf(folder, subcommand + " --help").out);
    ASSERT_THAT(text, HasSubstr("sheaf ")) << subcommand;
    commands += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    work.write("commands.sh", text);
    const std::string bin = std::filesystem::path(sheaf_program()).parent_path().string();
    const int status =
        std::system(fmt::format("cd '{}' && PATH='{}':$PATH {} bash -eu -o pipefail commands.sh >out 2>err",
                                work.path(), bin, modules)
                        .c_str());
    EXPECT_EQ(status, 0) << subcommand << "\n" << text << work.read("err");
  }
  EXPECT_GT(commands, 50U);
}

TEST_F(CliManual, PagesOfTheManualSayAllThatHelpSays) {
  generate();
  EXPECT_TRUE(folder.has("share/man/man1/sheaf.1"));
  for (const std::string& subcommand : subcommands) {
    const std::string page = folder.read("share/man/man1/sheaf-" + subcommand + ".1");
    EXPECT_THAT(page, HasSubstr(".SH NAME\n")) << subcommand;
    EXPECT_THAT(page, HasSubstr(".SH SYNOPSIS\n")) << subcommand;
    EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n")) << subcommand;
    for (const std::string& line : lines_of(run_sheaf(folder, "help " + subcommand).out)) {
      if (line == "Examples:") break;
      const std::size_t option = line.find("--");
      if (!line.starts_with("  ") || (option != 6 && !(option == 6 && line[2] == '-'))) continue;
      std::string name = line.substr(option, line.find(' ', option) - option);
      for (std::size_t at = name.find('-'); at != name.npos; at = name.find('-', at + 2)) name.replace(at, 1, "\\-");
      EXPECT_THAT(page, HasSubstr("\\fB" + name + "\\fR")) << subcommand;
    }
  }
  if (!has_program("groff")) GTEST_SKIP() << "groff is not here, which would read the pages";
  for (const auto& page : std::filesystem::directory_iterator(folder / "share/man/man1")) {
    const std::string line =
        fmt::format("groff -ww -man -Tutf8 '{}' >/dev/null 2>'{}'", page.path().string(), folder / "warnings");
    EXPECT_EQ(std::system(line.c_str()), 0) << page.path();
    EXPECT_EQ(folder.read("warnings"), "") << page.path();
  }
}

class CliCompletions : public CliManual {
 protected:
  void fill_folder() override {
    folder.write("table.npy", "");
    folder.write("index.npy", "");
    generate();
  }

  /// What bash offers behind these words, of which the last is being written.
  std::vector<std::string> offered(const std::vector<std::string>& words) {
    std::string array;
    for (const std::string& word : words) array += fmt::format("'{}' ", word);
    folder.write("ask.sh", fmt::format("source share/bash-completion/completions/sheaf\n"
                                       "compopt() {{ :; }}\n"
                                       "COMP_WORDS=({})\nCOMP_CWORD={}\n_sheaf\n"
                                       "printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                                       array, words.size() - 1));
    const int status = std::system(fmt::format("cd '{}' && bash -eu ask.sh >offered 2>err", folder.path()).c_str());
    EXPECT_EQ(status, 0) << folder.read("err");
    std::vector<std::string> lines = lines_of(folder.read("offered"));
    std::erase(lines, "");
    return lines;
  }
};

TEST_F(CliCompletions, BashOffersSubcommandsOptionsAndValues) {
  EXPECT_THAT(offered({"sheaf", ""}), testing::IsSupersetOf(subcommands));
  EXPECT_THAT(offered({"sheaf", "so"}), ElementsAre("sort", "solve"));
  EXPECT_THAT(offered({"sheaf", "gather", "--rec"}), ElementsAre("--record-bytes"));
  EXPECT_THAT(offered({"sheaf", "gather", "--ou"}), ElementsAre("--output"));
  EXPECT_THAT(offered({"sheaf", "--json", "sort", "--desc"}), ElementsAre("--descending"));
  EXPECT_THAT(offered({"sheaf", "scatter", "--duplicates", ""}), testing::UnorderedElementsAre("any", "last"));
  EXPECT_THAT(offered({"sheaf", "gather", "--backend", "c"}), ElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered({"sheaf", "gather", "--backend", "=", "re"}), ElementsAre("reference"));
  EXPECT_THAT(offered({"sheaf", "gather", "--backend", "="}), Contains("cpu"));
  EXPECT_THAT(offered({"sheaf", "plan", "multi"}), ElementsAre("multi_split"));
  EXPECT_THAT(offered({"sheaf", "npb-cg", ""}), ElementsAre("S", "W", "A", "B", "C"));
  EXPECT_THAT(offered({"sheaf", "help", "spm"}), testing::UnorderedElementsAre("spmv", "spmm"));
  // Behind plan --like stand the arguments of another subcommand.
  EXPECT_THAT(offered({"sheaf", "plan", "--like", "so"}), ElementsAre("sort", "solve"));
  EXPECT_THAT(offered({"sheaf", "plan", "--like", "="}), Contains("npb-cg"));
  EXPECT_THAT(offered({"sheaf", "plan", "--like", ""}), Not(Contains("machine")));
  EXPECT_THAT(offered({"sheaf", "plan", "--like", "sort", "in.npy", "--desc"}), ElementsAre("--descending"));
  EXPECT_THAT(offered({"sheaf", "plan", "--json", "--like", "=", "scatter", "a", "b", "--dup"}),
              ElementsAre("--duplicates"));
  EXPECT_THAT(offered({"sheaf", "plan", "--like", "scatter", "--duplicates", ""}),
              testing::UnorderedElementsAre("any", "last"));
  EXPECT_THAT(offered({"sheaf", "plan", "--like", "npb-cg", ""}), ElementsAre("S", "W", "A", "B", "C"));
  EXPECT_THAT(offered({"sheaf", "plan", "--like", "sort", "--row-e"}), ElementsAre());
  EXPECT_THAT(offered({"sheaf", "plan", "--row-e"}), ElementsAre("--row-ends"));
  // Files are left to bash, and a number is nobody's to complete.
  EXPECT_THAT(offered({"sheaf", "gather", "ta"}), ElementsAre());
  EXPECT_THAT(offered({"sheaf", "gather", "table.npy", "index.npy", "-o", ""}), ElementsAre());
  EXPECT_THAT(offered({"sheaf", "gather", "--threads", ""}), ElementsAre());
}

TEST_F(CliCompletions, ZshReadsItsFile) {
  const std::string script = folder.read("share/zsh/site-functions/_sheaf");
  EXPECT_TRUE(script.starts_with("#compdef sheaf\n"));
  for (const std::string& subcommand : subcommands) EXPECT_THAT(script, HasSubstr("        " + subcommand + ")\n"));
  if (!has_program("zsh")) GTEST_SKIP() << "zsh is not here";
  EXPECT_EQ(std::system(fmt::format("zsh -n '{}'", folder / "share/zsh/site-functions/_sheaf").c_str()), 0);
  // What _arguments is called with: the subcommand's options, and the words that it looks at.
  folder.write("ask.zsh",
               "compdef() { :; }\n"
               "_arguments() {\n"
               "  if [[ $1 == -C ]]; then line=($words[2]) state=argument words=($words[2,-1]); (( CURRENT -= 1 ))\n"
               "  else print -r -- $words[1] $CURRENT ${(M)#@:#*--descending*} ${(M)#@:#*--row-ends*}\n"
               "  fi\n"
               "}\n"
               "_describe() { :; }\n"
               "ask() { words=(\"$@\") CURRENT=$#; curcontext=; source share/zsh/site-functions/_sheaf; }\n"
               "ask sheaf sort in.npy --desc\n"
               "ask sheaf plan --like sort in.npy --desc\n"
               "ask sheaf plan --like=sort in.npy --desc\n"
               "ask sheaf plan --json --like sort ''\n"
               "ask sheaf plan --like sor\n"
               "ask sheaf plan --row\n");
  EXPECT_EQ(std::system(fmt::format("cd '{}' && zsh -f ask.zsh >offered 2>err", folder.path()).c_str()), 0);
  EXPECT_EQ(folder.read("err"), "");
  EXPECT_EQ(folder.read("offered"), "sort 3 2 0\nsort 3 2 0\n--like=sort 3 2 0\nsort 2 2 0\nplan 3 0 1\nplan 2 0 1\n");
}

TEST_F(CliCompletions, FishReadsItsFile) {
  const std::string script = folder.read("share/fish/vendor_completions.d/sheaf.fish");
  for (const std::string& subcommand : subcommands)
    EXPECT_THAT(script, HasSubstr("__fish_use_subcommand -a " + subcommand + " "));
  if (!has_program("fish")) GTEST_SKIP() << "fish is not here";
  const std::string ask = fmt::format(
      "cd '{}' && fish --no-config -c \"source share/fish/vendor_completions.d/sheaf.fish; "
      "complete -C 'sheaf scatter --duplicates '\" >offered",
      folder.path());
  EXPECT_EQ(std::system(ask.c_str()), 0);
  EXPECT_THAT(folder.read("offered"), HasSubstr("last"));
  const auto offered_by_fish = [&](const std::string& line) {
    const std::string words = fmt::format(
        "cd '{}' && fish --no-config -c \"source share/fish/vendor_completions.d/sheaf.fish; complete -C '{}'\" "
        ">offered",
        folder.path(), line);
    EXPECT_EQ(std::system(words.c_str()), 0) << line;
    return folder.read("offered");
  };
  EXPECT_THAT(offered_by_fish("sheaf plan --like so"), HasSubstr("solve"));
  for (const std::string like : {"--like sort", "--like=sort", "--json --like sort"}) {
    EXPECT_THAT(offered_by_fish("sheaf plan " + like + " in.npy --desc"), HasSubstr("--descending")) << like;
    EXPECT_EQ(offered_by_fish("sheaf plan " + like + " in.npy --row-e"), "") << like;
  }
  EXPECT_THAT(offered_by_fish("sheaf plan --row-e"), HasSubstr("--row-ends"));
  EXPECT_EQ(offered_by_fish("sheaf plan --desc"), "");
  EXPECT_THAT(offered_by_fish("sheaf sort plan --desc"), HasSubstr("--descending"));
}

TEST_F(CliManual, NothingIsWrittenWithoutAPlace) {
  expect_failure("generate man", 2, "sheaf generate: FOLDER is required for man");
  expect_failure("generate options share", 2, "sheaf generate: options are printed, and need no FOLDER");
  folder.write("file", "");
  EXPECT_EQ(run_sheaf(folder, "generate bash file").code, 5);
  EXPECT_EQ(run_sheaf(folder, "generate nonsense share").code, 2);
}

struct table_row {
  std::string name;
  std::string value;
};

std::vector<table_row> rows_of(const std::string& table) {
  std::vector<table_row> rows;
  for (const std::string& line : lines_of(table)) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find("` |");
    const std::size_t dashes = line.rfind("--", end);
    const std::size_t next = line.find(" | ", end + 3);
    rows.push_back({line.substr(dashes, end - dashes), line.substr(end + 4, next - end - 4)});
  }
  return rows;
}

TEST_F(CliManual, TheTableOfOptionsIsThatOfTheDocument) {
  const std::string table = run_sheaf(folder, "generate options").out;
  std::ifstream file(SHEAF_SOURCE_DIR "/docs/command.md");
  const std::string document{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(document, HasSubstr("<!-- table: options -->\n\n" + table + "\n<!-- end -->\n"))
      << "script/update-options writes it";
}

struct described_option {
  std::string subcommand;
  std::string name;
  bool takes_value = false;
  std::string text;  ///< without what only one subcommand can say: that it is required, and the primitive of a plan
};

// What help says of options.
std::vector<described_option> options_in(const std::string& subcommand, const std::string& help) {
  std::vector<described_option> options;
  bool is_open = false;
  const std::string column(31, ' ');
  for (const std::string& line : lines_of(help)) {
    const bool goes_on = line.starts_with(column);
    is_open = is_open && goes_on;
    if (line.starts_with("  ") && line.find("--") == 6) {
      const std::size_t end = std::min(line.find(' ', 6), line.size());
      const bool has_text = line.size() > column.size() && line[column.size() - 1] == ' ';
      const std::string value = line.substr(end, has_text ? column.size() - end : line.npos);
      options.push_back({subcommand, line.substr(6, end - 6), value.find_first_not_of(' ') != value.npos,
                         has_text ? line.substr(column.size()) : ""});
      is_open = true;
    } else if (is_open) {
      options.back().text += (options.back().text.empty() ? "" : " ") + line.substr(column.size());
    }
  }
  for (described_option& option : options) {
    option.text = std::regex_replace(option.text, std::regex(" \\(required\\)$"), "");
    option.text = std::regex_replace(option.text, std::regex("as sheaf plan \\S+ names"), "as sheaf plan names");
  }
  return options;
}

/// What options mean that subcommands describe in different words.
struct option_meaning {
  std::string meaning;
  std::set<std::string> texts;
};

std::map<std::string, option_meaning> known_meanings() {
  std::ifstream file(SHEAF_SOURCE_DIR "/tests/apps/sheaf/subcommands/option_meanings.txt");
  std::map<std::string, option_meaning> meanings;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("--")) {
      name = line.substr(0, line.find(':'));
      meanings[name].meaning = line.substr(name.size() + 2);
    } else if (line.starts_with("  ") && !name.empty()) {
      meanings[name].texts.insert(line.substr(2));
    }
  }
  return meanings;
}

class CliOptions : public CliManual {
 protected:
  std::vector<described_option> all_options() {
    std::vector<described_option> options;
    for (const std::string& subcommand : subcommands) {
      const auto of_subcommand = options_in(subcommand, run_sheaf(folder, "help " + subcommand).out);
      options.insert(options.end(), of_subcommand.begin(), of_subcommand.end());
    }
    return options;
  }
};

// One name for one thing: an option is listed once, and none of the names that were given up is among them.
TEST_F(CliOptions, NoThingHasTwoNames) {
  const std::vector<table_row> rows = rows_of(run_sheaf(folder, "generate options").out);
  EXPECT_GT(rows.size(), 60U);
  std::set<std::string> names;
  for (const table_row& row : rows) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  for (const char* former :
       {"--pattern-hint", "--transpose", "--exclusive", "--f32", "--type", "--bytes", "--table-key", "--table-bytes",
        "--first", "--first-type", "--category-bytes", "--limit", "--reverse"}) {
    EXPECT_FALSE(names.contains(former)) << former;
  }
  // Options of one meaning would say the same of themselves.
  std::map<std::string, std::string> name_of_text;
  for (const described_option& option : all_options()) {
    EXPECT_NE(option.text, "") << option.subcommand << " " << option.name;
    const auto [known, is_new] = name_of_text.emplace(option.text, option.name);
    EXPECT_TRUE(is_new || known->second == option.name)
        << known->second << " and " << option.name << ": " << option.text;
  }
  std::map<std::string, std::string> name_of_meaning;
  for (const auto& [name, known] : known_meanings())
    EXPECT_TRUE(name_of_meaning.emplace(known.meaning, name).second) << name << ": " << known.meaning;
}

// One thing for one name: subcommands that have an option say the same of it, or what a person has found to mean the
// same.
TEST_F(CliOptions, NoNameIsOfTwoThings) {
  std::map<std::string, std::vector<described_option>> by_name;
  for (const described_option& option : all_options()) by_name[option.name].push_back(option);
  std::map<std::string, option_meaning> meanings = known_meanings();
  std::size_t shared = 0;
  for (const auto& [name, options] : by_name) {
    if (options.size() < 2) continue;
    ++shared;
    std::set<std::string> texts;
    for (const described_option& option : options) {
      texts.insert(option.text);
      EXPECT_EQ(option.takes_value, options.front().takes_value)
          << name << " is a flag in one of " << option.subcommand << " and " << options.front().subcommand;
    }
    if (texts.size() == 1) continue;
    EXPECT_EQ(meanings[name].texts, texts) << name
                                           << " is described in several ways; option_meanings.txt lists those "
                                              "that have one meaning";
    EXPECT_NE(meanings[name].meaning, "") << name;
    meanings.erase(name);
  }
  EXPECT_GT(shared, 30U);
  for (const auto& [name, known] : meanings) EXPECT_TRUE(known.texts.empty()) << name << " is no longer described so";
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_manual_test
