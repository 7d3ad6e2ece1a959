#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sheaf::tests {

/// The source files of a checkout, and their paths as the rules name them.
class source_tree {
 public:
  using path = std::filesystem::path;

  explicit source_tree(path root) : root_(std::move(root)) {}

  const path& root() const { return root_; }

  /// Every source file below a folder of the root; none if there is no such folder.
  std::vector<path> sources(const std::string& folder) const {
    std::vector<path> files;
    if (!std::filesystem::exists(root_ / folder)) return files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_ / folder)) {
      if (is_source(entry)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  /// The folders directly in a folder of the root; none if there is no such folder.
  std::vector<path> folders(const std::string& folder) const {
    std::vector<path> found;
    if (!std::filesystem::exists(root_ / folder)) return found;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / folder)) {
      if (entry.is_directory()) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// "src/cuda/sort/lsd.cu" of a file of the tree.
  std::string name_of(const path& file) const { return std::filesystem::relative(file, root_).generic_string(); }
  /// {"src", "cuda", "sort"} of that file.
  std::vector<std::string> folders_of(const path& file) const {
    return parts_of(std::filesystem::relative(file, root_).parent_path());
  }

  static std::vector<std::string> parts_of(const path& way) {
    std::vector<std::string> parts;
    for (const path& part : way) parts.push_back(part.string());
    return parts;
  }

 private:
  static bool is_source(const std::filesystem::directory_entry& entry) {
    static const std::set<std::string> endings{".hpp", ".cpp", ".cu", ".cuh", ".h", ".in"};
    return entry.is_regular_file() && endings.contains(entry.path().extension().string());
  }

  path root_;
};

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct include_line {
  std::size_t line = 0;
  bool quoted = false;
  std::string target;
};

inline std::vector<include_line> includes_of(const std::filesystem::path& file) {
  std::vector<include_line> found;
  std::ifstream in(file);
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    const auto hash = text.find_first_not_of(" \t");
    if (hash == std::string::npos || text[hash] != '#') continue;
    const auto word = text.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || text.compare(word, 7, "include") != 0) continue;
    const auto open = text.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const auto close = text.find(text[open] == '<' ? '>' : '"', open + 1);
    found.push_back({line, text[open] == '"', text.substr(open + 1, close - open - 1)});
  }
  return found;
}

}  // namespace sheaf::tests
