#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

// docs/glossary.md says what each term means, once, and the code uses its terms and none that it rules out.
namespace sheaf::tests::project_glossary_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Words in small letters, parted and surrounded by one blank: of an identifier, its parts.
std::string words_of(std::string_view text) {
  std::string words = " ";
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.ends_with(' ')) {
      words += ' ';
    }
  }
  return words.ends_with(' ') ? words : words + ' ';
}

struct glossary {
  std::vector<std::string> terms;
  std::vector<std::string> not_used;
};

/// The first cells of the rows of all tables, "(of a list)" left out and "head, tail" taken for two.
glossary parse(const std::string& text) {
  glossary g;
  std::vector<std::string>* to = &g.terms;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "## Not used") to = &g.not_used;
    if (!line.starts_with("| ") || line.starts_with("| term |") || line.starts_with("| not |")) continue;
    std::string cell(trimmed(line.substr(1, line.find('|', 1) - 1)));
    for (std::size_t begin = cell.find(" ("); begin != std::string::npos; begin = cell.find(" (")) {
      cell.erase(begin, cell.find(')', begin) - begin + 1);
    }
    std::istringstream parts(cell);
    for (std::string part; std::getline(parts, part, ',');) to->push_back(words_of(trimmed(part)));
  }
  return g;
}

/// What is wrong with a glossary, beside the words of the code.
std::vector<std::string> faults_of(const glossary& g, const std::string& code) {
  std::vector<std::string> faults;
  std::set<std::string> seen;
  for (const std::string& term : g.terms) {
    if (!seen.insert(term).second) faults.push_back(fmt::format("{}: stands twice", trimmed(term)));
    const std::string stem = term.substr(0, term.size() - 1);
    const bool is_used = code.find(term) != std::string::npos || code.find(stem + "s ") != std::string::npos;
    if (!is_used) faults.push_back(fmt::format("{}: the code has no such term", trimmed(term)));
  }
  for (const std::string& word : g.not_used) {
    if (code.find(word) != std::string::npos) faults.push_back(fmt::format("{}: the code uses it", trimmed(word)));
  }
  return faults;
}

using list = std::vector<std::string>;

TEST(Glossary, HasEachTermOnceAndAsTheCodeUsesIt) {
  const fs::path root = SHEAF_SOURCE_DIR;
  if (!fs::exists(root / "src/core")) GTEST_SKIP() << "the sources are not at " SHEAF_SOURCE_DIR;
  static const std::set<std::string> endings{".hpp", ".cpp", ".cu", ".cuh", ".in", ".glsl", ".md"};
  std::string code;
  for (const char* const folder : {"src", "include", "lab", "papers", "apps"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && endings.contains(entry.path().extension().string())) {
        code += words_of(text_of(entry.path()));
      }
    }
  }
  const glossary g = parse(text_of(root / "docs/glossary.md"));
  EXPECT_GE(g.terms.size(), 120U);
  EXPECT_GE(g.not_used.size(), 2U);
  for (const std::string& fault : faults_of(g, code)) ADD_FAILURE() << fault;
}

TEST(Glossary, FaultsAreNamed) {
  const glossary g = parse(
      "| term | meaning |\n|---|---|\n| head, tail | ... |\n| rank (of a node) | ... |\n| head | ... |\n"
      "## Not used\n| not | but |\n|---|---|\n| dear | expensive |\n| as_told | as_given |\n");
  EXPECT_EQ(faults_of(g, words_of("std::uint32_t heads; // the tail's rank")), (list{"head: stands twice"}));
  EXPECT_EQ(faults_of(g, words_of("head is_dear(rank); as_told_before(rank)")),
            (list{"tail: the code has no such term", "head: stands twice", "dear: the code uses it",
                  "as told: the code uses it"}));
}

}  // namespace
}  // namespace sheaf::tests::project_glossary_test
