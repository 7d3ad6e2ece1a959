#pragma once

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "project/source_tree.hpp"

namespace sheaf::tests {

/// Looks for paths and targets that comments, documents and scripts name, and collects "file:line: name: rule" for
/// every one that is not there. A path counts from the root; what follows a `*`, `<` or `{` in it may be anything, and
/// a source may be named without its ending.
class path_rules {
 public:
  explicit path_rules(std::filesystem::path root) : tree_(std::move(root)) {}

  std::vector<std::string> broken() {
    read_targets();
    for (const char* const folder : folders) {
      if (!std::filesystem::exists(tree_.root() / folder)) continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(tree_.root() / folder)) {
        if (entry.is_regular_file() && is_checked(entry.path())) check(entry.path());
      }
    }
    for (const char* const file : {"README.md", "CONTRIBUTING.md", "CMakeLists.txt"}) {
      if (std::filesystem::exists(tree_.root() / file)) check(tree_.root() / file);
    }
    std::sort(broken_.begin(), broken_.end());
    return broken_;
  }
  std::size_t names_read() const { return names_; }

 private:
  using path = std::filesystem::path;

  static constexpr const char* folders[] = {"src",   "lab",  "papers",   "apps", "include",  "tests", "script",
                                            "cmake", "fuzz", "examples", "docs", "profiles", "python"};

  // Trees that tests plant name what is not there.
  bool is_checked(const path& file) const {
    static const std::set<std::string> endings{".hpp", ".cpp", ".cu", ".cuh",   ".in",   ".md",
                                               ".py",  ".txt", ".sh", ".cmake", ".glsl", ""};
    const std::string name = tree_.name_of(file);
    return endings.contains(file.extension().string()) && !name.starts_with("tests/project/") &&
           !name.starts_with("fuzz/corpus/");
  }

  void read_targets() {
    static const std::regex made(
        R"((?:add_library|add_executable|add_custom_target|sheaf_layer|sheaf_folder_library)\(\s*([\w:]+))");
    for (const char* const folder : folders) {
      if (!std::filesystem::exists(tree_.root() / folder)) continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(tree_.root() / folder)) {
        if (entry.path().filename() != "CMakeLists.txt" && entry.path().extension() != ".cmake") continue;
        const std::string text = text_of(entry.path());
        for (std::sregex_iterator found(text.begin(), text.end(), made); found != std::sregex_iterator(); ++found) {
          targets_.insert((*found)[1].str());
          targets_.insert("sheaf_" + (*found)[1].str());
        }
      }
    }
  }

  void check(const path& file) {
    static const std::regex named_path(
        R"((?:^|[\s`("'=])((?:src|lab|papers|apps|include|tests|script|cmake|fuzz|examples|docs|profiles)/[\w./+-]*)([*<{$]?))");
    static const std::regex named_target(R"((?:--target|`)\s*(sheaf_\w+))");
    std::istringstream text(text_of(file));
    std::string line;
    bool in_code = false;  // of a document, where [](int) is no link
    for (std::size_t number = 1; std::getline(text, line); ++number) {
      if (line.starts_with("#include")) continue;
      if (line.starts_with("```")) in_code = !in_code;
      for (std::sregex_iterator found(line.begin(), line.end(), named_path); found != std::sregex_iterator(); ++found) {
        std::string name = (*found)[1].str();
        if ((*found)[2].length() > 0) name = name.substr(0, name.rfind('/') + 1);
        while (name.ends_with('.')) name.pop_back();
        ++names_;
        if (!is_there(tree_.root() / name) && !is_there(file.parent_path() / name))
          complain(file, number, name, "there is no such file");
      }
      if (file.extension() == ".md" && !in_code) check_links(file, number, line);
      if (file.extension() != ".md" && tree_.name_of(file).rfind("script/", 0) != 0) continue;
      for (std::sregex_iterator found(line.begin(), line.end(), named_target); found != std::sregex_iterator();
           ++found) {
        ++names_;
        if (!targets_.contains((*found)[1].str())) complain(file, number, (*found)[1].str(), "there is no such target");
      }
    }
  }

  // [text](path#part): a path counts from the document's folder.
  void check_links(const path& file, std::size_t number, const std::string& line) {
    static const std::regex link(R"(\]\(([^)#\s]+))");
    for (std::sregex_iterator found(line.begin(), line.end(), link); found != std::sregex_iterator(); ++found) {
      const std::string name = (*found)[1].str();
      if (name.find(':') != std::string::npos) continue;  // https://...
      ++names_;
      if (!std::filesystem::exists(file.parent_path() / name)) complain(file, number, name, "there is no such file");
    }
  }

  static bool is_there(const path& name) {
    const char* const endings[] = {"", ".hpp", ".cpp", ".cu", ".cuh", ".in", ".cpp.in"};
    return std::any_of(std::begin(endings), std::end(endings),
                       [&](const char* ending) { return std::filesystem::exists(path(name) += ending); });
  }

  void complain(const path& file, std::size_t line, const std::string& name, const char* rule) {
    broken_.push_back(fmt::format("{}:{}: {}: {}", tree_.name_of(file), line, name, rule));
  }

  source_tree tree_;
  std::set<std::string> targets_;
  std::vector<std::string> broken_;
  std::size_t names_ = 0;
};

}  // namespace sheaf::tests
