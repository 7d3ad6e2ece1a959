#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "project/source_tree.hpp"

namespace sheaf::tests {

/// Looks where things lie under a root and collects "file: rule" for every one that is not where its name says.
class layout_rules {
 public:
  static constexpr std::size_t most_files_in_folder = 30;

  explicit layout_rules(std::filesystem::path root) : tree_(std::move(root)) {}

  std::vector<std::string> broken() {
    for (const char* const folder : {"src/cpu", "src/cuda", "src/opengl", "papers"}) {
      for (const auto& file : tree_.sources(folder)) check_variants(file);
    }
    check_declared_variants();
    for (const char* const backend : {"src/cpu", "src/cuda", "src/opengl"}) {
      for (const auto& family : tree_.folders(backend)) check_readme(family);
    }
    for (const char* const folder : {"src", "lab", "papers", "apps", "tests"}) check_names_and_counts(folder);
    for (const char* const folder : {"src", "lab", "papers", "apps"}) {
      for (const auto& file : tree_.sources(folder)) check_parallel_regions(file);
    }
    for (const auto& file : tree_.sources("tests")) check_namespace_of_test(file);
    std::sort(broken_.begin(), broken_.end());
    return broken_;
  }
  std::size_t variants_found() const { return variants_; }

 private:
  using path = std::filesystem::path;

  void complain(const path& file, const std::string& rule) { broken_.push_back(tree_.name_of(file) + ": " + rule); }

  // "lsd" of lsd.cu, "shipped" of shipped.cpp.in
  static std::string stem_of(const path& file) {
    const std::string name = file.filename().string();
    return name.substr(0, name.find('.'));
  }

  // cuda.bucketed is found in gather_bucketed.cu.
  void check_variants(const path& file) {
    static const std::regex definition(R"re(\w*variant\s+\w+\s*\{\s*"(cpu|cuda|opengl)\.(\w+)")re");
    const std::string stem = stem_of(file);
    const std::string text = text_of(file);
    for (std::sregex_iterator found(text.begin(), text.end(), definition); found != std::sregex_iterator(); ++found) {
      ++variants_;
      if (stem.find((*found)[2].str()) != std::string::npos) continue;
      complain(file, fmt::format("defines {}.{}, but is not named for it", (*found)[1].str(), (*found)[2].str()));
    }
  }

  struct named_variant {
    path file;
    std::string name;  ///< "cuda::gather_direct"
    std::string type;  ///< "gather_variant"
    bool is_defined;
  };

  // All variants that a file names with their types. "cuda" is the innermost namespace that has a name.
  static std::vector<named_variant> variants_in(const path& file) {
    static const std::regex variant(
        R"re((extern\s+|constinit\s+)+const\s+(?:primitives::)?(\w+_variant)\s+(\w+(?:\s*,\s*\w+)*)\s*([;{=]))re");
    static const std::regex opened(R"re(namespace\s+(?:\w+::)*(\w+)\s*\{)re");
    static const std::regex word(R"re(\w+)re");
    const std::string text = text_of(file);
    std::vector<named_variant> all;
    for (std::sregex_iterator found(text.begin(), text.end(), variant); found != std::sregex_iterator(); ++found) {
      const std::string before = text.substr(0, static_cast<std::size_t>(found->position()));
      std::string space;
      for (std::sregex_iterator o(before.begin(), before.end(), opened); o != std::sregex_iterator(); ++o)
        space = (*o)[1];
      const std::string declared = (*found)[3];
      for (std::sregex_iterator n(declared.begin(), declared.end(), word); n != std::sregex_iterator(); ++n) {
        all.push_back({file, fmt::format("{}::{}", space, n->str()), (*found)[2], (*found)[4] != ";"});
      }
    }
    return all;
  }

  // The linker does not compare the types of variables: a variant that is declared far from its definition must have
  // the type that it is defined with.
  void check_declared_variants() {
    std::vector<named_variant> declared;
    std::map<std::string, named_variant> defined;
    for (const char* const folder : {"src", "lab", "papers", "apps", "tests"}) {
      for (const auto& file : tree_.sources(folder)) {
        if (tree_.name_of(file).starts_with("tests/project/")) continue;  // plants such lines
        for (named_variant& v : variants_in(file)) {
          if (v.is_defined) {
            defined.emplace(v.name, std::move(v));
          } else {
            declared.push_back(std::move(v));
          }
        }
      }
    }
    for (const named_variant& v : declared) {
      const auto found = defined.find(v.name);
      if (found == defined.end()) {
        complain(v.file, fmt::format("declares {}, which no file defines", v.name));
      } else if (found->second.type != v.type) {
        complain(v.file, fmt::format("declares {} as a {}, {} defines it as a {}", v.name, v.type,
                                     tree_.name_of(found->second.file), found->second.type));
      }
    }
  }

  // OpenMP ends the process where it cannot start a thread, unless it is known before that it can.
  void check_parallel_regions(const path& file) {
    static const std::regex region("(^|\n)[ \t]*#pragma omp parallel[^\n]*");
    const std::string text = text_of(file);
    for (std::sregex_iterator found(text.begin(), text.end(), region); found != std::sregex_iterator(); ++found) {
      if (found->str().find("num_threads(core::startable(") == std::string::npos) {
        complain(file, "has a parallel region whose num_threads is not core::startable");
      }
    }
  }

  // Several tests are compiled as one, so each has a namespace of its own: that of tests/cpu/sort_test.cpp is
  // sheaf::tests::cpu_sort_test.
  void check_namespace_of_test(const path& file) {
    std::string name = tree_.name_of(file).substr(std::string_view("tests/").size());
    name = name.substr(0, name.find('.'));
    if (!name.ends_with("_test") || file.extension() == ".hpp") return;
    std::replace(name.begin(), name.end(), '/', '_');
    const std::string expected = fmt::format("namespace sheaf::tests::{} {{", name);
    if (text_of(file).find(expected) == std::string::npos) complain(file, fmt::format("has no '{}'", expected));
  }

  void check_readme(const path& family) {
    if (!std::filesystem::is_regular_file(family / "README.md")) complain(family, "has no README.md");
  }

  void check_names_and_counts(const std::string& folder) {
    std::map<path, std::size_t> files_of_folder;
    for (const auto& file : tree_.sources(folder)) {
      ++files_of_folder[file.parent_path()];
      const std::string repeated = file.parent_path().filename().string();
      if (has_word(stem_of(file), repeated)) complain(file, fmt::format("repeats its folder's name, {}", repeated));
    }
    for (const auto& [long_folder, count] : files_of_folder) {
      if (count > most_files_in_folder) {
        complain(long_folder, fmt::format("has {} source files, more than {}", count, most_files_in_folder));
      }
    }
  }

  // Whether "_word_" is in "_name_".
  static bool has_word(const std::string& name, const std::string& word) {
    return fmt::format("_{}_", name).find(fmt::format("_{}_", word)) != std::string::npos;
  }

  source_tree tree_;
  std::vector<std::string> broken_;
  std::size_t variants_ = 0;
};

}  // namespace sheaf::tests
