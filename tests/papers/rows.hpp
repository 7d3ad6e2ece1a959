#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "project/source_tree.hpp"

namespace sheaf::tests {

/// A part of a paper's system, and what holds it here.
struct paper_row {
  std::string_view id;        ///< letter of the paper and number: "A6"
  std::string_view what;      ///< in our words
  std::string_view variants;  ///< "gather, scatter: cpu.direct, cuda.direct; sort: cpu.msd"
  std::string_view figures;   ///< that show it, of its paper: "1, 6, table1"
  std::string_view others;    ///< "command npb-cg; example octree; split, split_unstable in include/sheaf/split.hpp"
};

/// A paper, the folder of its figures, and how many rows it has.
struct numbered_paper {
  char letter;
  std::string_view folder;
  int rows;
};
constexpr numbered_paper numbered_papers[] = {
    {'A', "he2007", 14}, {'B', "wei2010", 7}, {'C', "ujaldon2005", 8}, {'D', "patidar2009", 10}};

/// A1 to A14, B1 to B7, C1 to C8 and D1 to D10.
inline std::vector<std::string> ids_of_rows() {
  std::vector<std::string> ids;
  for (const numbered_paper& paper : numbered_papers) {
    for (int row = 1; row <= paper.rows; ++row) ids.push_back(fmt::format("{}{}", paper.letter, row));
  }
  return ids;
}

/// What is between separators, without blanks around it; nothing of an empty text.
inline std::vector<std::string> items_of(std::string_view text, char separator) {
  std::vector<std::string> items;
  std::istringstream all{std::string(text)};
  for (std::string item; std::getline(all, item, separator);) {
    const auto first = item.find_first_not_of(" \n");
    if (first != std::string::npos) items.push_back(item.substr(first, item.find_last_not_of(" \n") + 1 - first));
  }
  return items;
}

/// Looks for what rows name in the lists of variants and in the sources under a root, and collects "A6: what is gone".
class paper_rows {
 public:
  using list = std::vector<std::string>;

  /// @param joined  the variants that this program can run, "sort cpu.msd". Those of backends of which it has none are
  /// looked for in the sources.
  paper_rows(std::filesystem::path root, std::set<std::string> joined)
      : tree_(std::move(root)), joined_(std::move(joined)) {
    for (const char* const folder : {"src/cpu", "src/cuda", "src/opengl", "papers"}) read_variants(folder);
  }

  list faults_of(std::span<const paper_row> rows) const {
    list faults = faults_of_ids(rows);
    for (const paper_row& row : rows) {
      for (const std::string& fault : faults_of_row(row)) faults.push_back(fmt::format("{}: {}", row.id, fault));
    }
    return faults;
  }

  /// A document has a line "| A6 | part | what holds it | figures |" of each row, which says what the row says.
  list faults_of_document(std::span<const paper_row> rows, const std::string& text) const {
    list faults;
    for (const paper_row& row : rows) {
      const std::string begin = fmt::format("| {} |", row.id);
      list lines = items_of(text, '\n');
      std::erase_if(lines, [&](const std::string& line) { return !line.starts_with(begin); });
      if (lines.size() != 1) {
        faults.push_back(fmt::format("{}: has {} lines, not one", row.id, lines.size()));
        continue;
      }
      const std::string figures = row.figures.empty() ? "| |" : fmt::format("| {} |", row.figures);
      if (!lines[0].ends_with(figures)) faults.push_back(fmt::format("{}: its last cell is not '{}'", row.id, figures));
      for (const std::string& words : words_of_document(row)) {
        if (lines[0].find(words) == std::string::npos) faults.push_back(fmt::format("{}: says no '{}'", row.id, words));
      }
    }
    return faults;
  }

  /// The numbers in the table of figures of a paper's folder, as sheaf-bench takes them: "12", "table1".
  std::set<std::string> figures_of(std::string_view folder) const {
    static const std::regex figure(R"re(\{\s*(?:(\d+)|table_number\((\d+)\))\s*,\s*\w+\s*\})re");
    const std::string text = code_of(fmt::format("papers/{}/figures.cpp", folder));
    std::set<std::string> numbers;
    const auto begin = text.find(" figures[] = {");
    if (begin == std::string::npos) return numbers;
    const std::string table = text.substr(begin, text.find(';', begin) - begin);
    for (std::sregex_iterator found(table.begin(), table.end(), figure); found != std::sregex_iterator(); ++found) {
      numbers.insert((*found)[1].matched ? (*found)[1].str() : fmt::format("table{}", (*found)[2].str()));
    }
    return numbers;
  }

  /// Variants that a source defines and the table of its backend, or that of the papers, lists.
  const std::set<std::string>& sourced() const { return sourced_; }

 private:
  static const numbered_paper* paper_of(std::string_view id) {
    const auto* const found = std::ranges::find(numbered_papers, id.empty() ? ' ' : id[0], &numbered_paper::letter);
    return found == std::end(numbered_papers) ? nullptr : found;
  }

  static list faults_of_ids(std::span<const paper_row> rows) {
    list faults;
    const list ids = ids_of_rows();
    for (const std::string& id : ids) {
      const auto count = std::ranges::count(rows, id, &paper_row::id);
      if (count != 1) faults.push_back(fmt::format("{}: stands {} times", id, count));
    }
    for (const paper_row& row : rows) {
      if (std::ranges::find(ids, row.id) == ids.end()) faults.push_back(fmt::format("{}: no paper has it", row.id));
    }
    return faults;
  }

  /// "gather cpu.direct" of each primitive with each variant behind it.
  static std::vector<std::pair<std::string, std::string>> variants_of(const paper_row& row) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const std::string& group : items_of(row.variants, ';')) {
      const auto colon = group.find(':');
      for (const std::string& primitive : items_of(group.substr(0, colon), ',')) {
        for (const std::string& variant : items_of(std::string_view(group).substr(colon + 1), ',')) {
          all.emplace_back(primitive, variant);
        }
      }
    }
    return all;
  }

  list faults_of_row(const paper_row& row) const {
    list faults;
    if (row.variants.empty() && row.others.empty()) faults.emplace_back("nothing holds it");
    for (const auto& [primitive, variant] : variants_of(row)) {
      if (!has_variant(primitive, variant)) {
        faults.push_back(fmt::format("no list of {} has the variant {}", primitive, variant));
      } else if (!is_measured(primitive, variant)) {
        faults.push_back(fmt::format("no figure measures {} {}", primitive, variant));
      }
    }
    if (const numbered_paper* const paper = paper_of(row.id)) {
      const std::set<std::string> figures = figures_of(paper->folder);
      for (const std::string& figure : items_of(row.figures, ',')) {
        if (!figures.contains(figure)) faults.push_back(fmt::format("{} has no figure {}", paper->folder, figure));
      }
    }
    for (const std::string& other : items_of(row.others, ';')) add_faults_of(other, faults);
    return faults;
  }

  bool has_variant(const std::string& primitive, const std::string& variant) const {
    const std::string backend = fmt::format(" {}.", variant.substr(0, variant.find('.')));
    const bool is_built = std::ranges::any_of(
        joined_, [&](const std::string& joined) { return joined.find(backend) != std::string::npos; });
    return (is_built ? joined_ : sourced_).contains(fmt::format("{} {}", primitive, variant));
  }

  /// The sources of a paper's figures name the variants that only this paper needs, ".bitonic" or "bitonic" at least.
  bool is_measured(const std::string& primitive, const std::string& variant) const {
    const auto form = papers_of_forms_.find(fmt::format("{} {}", primitive, variant));
    if (form == papers_of_forms_.end()) return true;
    const std::regex name(fmt::format(R"re([."]{}\b)re", variant.substr(variant.find('.') + 1)));
    return std::ranges::any_of(tree_.sources("papers/" + form->second), [&](const auto& file) {
      return file.parent_path().filename() == form->second && std::regex_search(without_comments(text_of(file)), name);
    });
  }

  void add_faults_of(const std::string& other, list& faults) const {
    const auto behind = [&](std::string_view word) { return other.substr(word.size()); };
    constexpr std::string_view in = " in ";
    if (other.starts_with("command ")) {
      if (!has_command(behind("command "))) faults.push_back(fmt::format("there is no {}", other));
    } else if (other.starts_with("example ")) {
      if (!has_example(behind("example "))) faults.push_back(fmt::format("there is no {}", other));
    } else if (const auto place = other.find(in); place == std::string::npos) {
      faults.push_back(fmt::format("'{}' is neither a command nor an example nor names in a file", other));
    } else {
      const std::string file = other.substr(place + in.size());
      const std::string code = code_of(file);
      for (const std::string& name : items_of(other.substr(0, place), ',')) {
        if (!std::regex_search(code, std::regex("\\b" + name + "\\b"))) {
          faults.push_back(fmt::format("{} has no {}", file, name));
        }
      }
    }
  }

  /// main.cpp has {"npb-cg", add_npb_cg} in its table, and a file of the subcommands says that it is called npb-cg.
  bool has_command(const std::string& name) const {
    std::string function = name;
    std::ranges::replace(function, '-', '_');
    const std::string row = fmt::format("{{\"{}\", add_{}", name, function);
    if (code_of("apps/sheaf/main.cpp").find(row) == std::string::npos) return false;
    return std::ranges::any_of(tree_.sources("apps/sheaf/subcommands"), [&](const auto& file) {
      return text_of(file).find(fmt::format("add_subcommand(\"{}\"", name)) != std::string::npos;
    });
  }

  /// The first list of examples in CMakeLists.txt is that of the programs that are built.
  bool has_example(const std::string& name) const {
    static const std::regex built(R"re(foreach\(example IN ITEMS ([^)]*)\))re");
    const std::string text = text_of(tree_.root() / "examples/CMakeLists.txt");
    std::smatch found;
    if (!std::regex_search(text, found, built)) return false;
    const list names = items_of(found[1].str(), ' ');
    return std::ranges::find(names, name) != names.end() &&
           std::filesystem::is_regular_file(tree_.root() / "examples" / (name + ".cpp"));
  }

  /// What a document says of a row, beside its figures.
  static list words_of_document(const paper_row& row) {
    list words;
    for (const auto& [primitive, variant] : variants_of(row)) {
      if (std::ranges::find(words, primitive) == words.end()) words.push_back(primitive);
      words.push_back(fmt::format("`{}`", variant));
    }
    for (const std::string& other : items_of(row.others, ';')) {
      if (other.starts_with("command ")) {
        words.push_back(fmt::format("`sheaf {}`", other.substr(8)));
      } else if (other.starts_with("example ")) {
        words.push_back(fmt::format("(../examples/{}.cpp)", other.substr(8)));
      } else {
        for (const std::string& name : items_of(other.substr(0, other.find(" in ")), ',')) {
          words.push_back(fmt::format("`{}`", name));
        }
      }
    }
    return words;
  }

  /// A file without its comments, empty if there is none.
  std::string code_of(const std::string& file) const { return without_comments(text_of(tree_.root() / file)); }
  static std::string without_comments(const std::string& text) {
    std::string code;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) code += line.substr(0, line.find("//")) + '\n';
    return code;
  }

  /// Reads which variants the files of a folder define, of which the folder's tables list those that count.
  void read_variants(const std::string& folder) {
    static const std::regex definition(
        R"re((\w+)_variant\s+(\w+)\s*\{\s*"((cpu|cuda|opengl)\.\w+)"\s*,\s*backend_kind)re");
    const bool is_of_papers = folder == "papers";
    const std::set<std::string> objects = objects_of_tables(code_of(folder + "/variants.cpp"));
    for (const auto& file : tree_.sources(folder)) {
      const std::string text = without_comments(text_of(file));
      if (text.find("_variant ") == std::string::npos) continue;
      for (std::sregex_iterator found(text.begin(), text.end(), definition); found != std::sregex_iterator(); ++found) {
        const std::string object = (*found)[2];
        if (!objects.contains(is_of_papers ? fmt::format("{}::{}", (*found)[4].str(), object) : object)) continue;
        const std::string variant = fmt::format("{} {}", (*found)[1].str(), (*found)[3].str());
        sourced_.insert(variant);
        if (is_of_papers) papers_of_forms_[variant] = tree_.folders_of(file).at(1);
      }
    }
  }

  /// "cpu::sort_msd" in table<cpu::sort_msd, ...>.
  static std::set<std::string> objects_of_tables(const std::string& code) {
    static const std::regex table(R"re(\btable<([^>]*)>)re");
    std::set<std::string> objects;
    for (std::sregex_iterator found(code.begin(), code.end(), table); found != std::sregex_iterator(); ++found) {
      for (const std::string& object : items_of((*found)[1].str(), ',')) objects.insert(object);
    }
    return objects;
  }

  source_tree tree_;
  std::set<std::string> joined_;
  std::set<std::string> sourced_;
  std::map<std::string, std::string> papers_of_forms_;  ///< "he2007" of a variant that only this paper needs
};

}  // namespace sheaf::tests
