#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sheaf::tests {

// Includes point one way: into the layers named here and into no other. A new folder under src/ needs a row.
inline const std::map<std::string, std::set<std::string>>& layers_seen_by_layer() {
  static const std::map<std::string, std::set<std::string>> rows{
      {"core", {"core"}},
      {"plan", {"plan", "core"}},
      {"primitives", {"primitives", "plan", "core"}},
      {"reference", {"reference", "primitives", "plan", "core"}},
      {"cpu", {"cpu", "primitives", "plan", "core"}},
      {"cuda", {"cuda", "primitives", "plan", "core"}},
      {"opengl", {"opengl", "primitives", "plan", "core"}},
      {"io", {"io", "plan", "core"}},
      {"inputs", {"inputs", "core"}},
      {"jobs", {"jobs", "inputs", "io", "reference", "primitives", "plan", "core"}},
      {"cli", {"cli", "jobs", "inputs", "io", "reference", "primitives", "plan", "core"}},
  };
  return rows;
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

/// Reads the sources under a root and collects "file:line: rule" for every include that breaks one.
class include_rules {
 public:
  explicit include_rules(std::filesystem::path root) : root_(std::move(root)) {}

  std::vector<std::string> broken() {
    for (const auto& file : sources("src")) check_layer(file);
    for (const auto& file : sources("include")) check_public(file);
    for (const auto& file : sources("examples")) check_example(file);
    for (const auto& file : sources("src")) {
      if (file.extension() == ".cu") check_no_fmt(file);
    }
    std::sort(broken_.begin(), broken_.end());
    return broken_;
  }
  std::size_t files_read() const { return files_; }

 private:
  using path = std::filesystem::path;

  std::vector<path> sources(const char* folder) {
    static const std::set<std::string> endings{".hpp", ".cpp", ".cu", ".cuh", ".h", ".in"};
    std::vector<path> files;
    if (!std::filesystem::exists(root_ / folder)) return files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_ / folder)) {
      if (entry.is_regular_file() && endings.contains(entry.path().extension().string())) files.push_back(entry.path());
    }
    files_ += files.size();
    return files;
  }

  path relative(const path& file) const { return std::filesystem::relative(file, root_); }
  void complain(const path& file, const include_line& at, const std::string& rule) {
    broken_.push_back(fmt::format("{}:{}: {}: {}", relative(file).generic_string(), at.line, at.target, rule));
  }

  static bool is_device_header(const std::string& target) {
    static const char* const prefixes[] = {"cuda",     "cub/",   "thrust/", "cooperative_groups",
                                           "cusparse", "cublas", "curand",  "nv/",
                                           "nvtx",     "GL/",    "EGL/",    "epoxy/"};
    return std::any_of(std::begin(prefixes), std::end(prefixes), [&](const char* p) { return target.starts_with(p); });
  }
  static bool is_device_side_public(const std::string& target) {
    return target.starts_with("sheaf/interop/") || target.starts_with("sheaf/cuda/");
  }
  static bool is_fmt(const std::string& target) { return target.starts_with("fmt/"); }

  void check_layer(const path& file) {
    const path place = relative(file);
    const std::string layer = std::next(place.begin())->string();
    const auto row = layers_seen_by_layer().find(layer);
    const bool device_code =
        layer == "cuda" || layer == "opengl" || file.extension() == ".cu" || file.extension() == ".cuh";
    for (const include_line& at : includes_of(file)) {
      if (row == layers_seen_by_layer().end()) {
        complain(file, at, fmt::format("src/{} has no rule of its own", layer));
      } else if (at.quoted && !row->second.contains(at.target.substr(0, at.target.find('/')))) {
        complain(file, at, fmt::format("{} may include {}", layer, fmt::join(row->second, ", ")));
      } else if (!at.quoted && is_device_header(at.target) && !device_code) {
        complain(file, at, "device headers are for the backends and .cu files");
      } else if (!at.quoted && is_device_side_public(at.target) && !device_code) {
        complain(file, at, "device-side public headers are for the backends and .cu files");
      }
    }
  }

  void check_public(const path& file) {
    const std::string inside = relative(file).generic_string().substr(std::string("include/").size());
    const bool device_side = is_device_side_public(inside);
    for (const include_line& at : includes_of(file)) {
      if (at.quoted) {
        complain(file, at, "public headers include no header of src/");
      } else if (!device_side && (is_device_header(at.target) || is_device_side_public(at.target))) {
        complain(file, at, "no CUDA or GL header is reachable from a public one outside interop/ and cuda/");
      } else if (is_fmt(at.target) || at.target.starts_with("nlohmann/") || at.target == "omp.h") {
        complain(file, at, "public headers ask for nothing but the standard library");
      }
    }
  }

  void check_example(const path& file) {
    for (const include_line& at : includes_of(file)) {
      if (at.quoted && !std::filesystem::is_regular_file(file.parent_path() / at.target)) {
        complain(file, at, "examples include public headers and each other's only");
      }
    }
  }

  // nvcc 13 cannot compile fmt 9.
  void check_no_fmt(const path& device_source) {
    std::set<path> seen;
    std::vector<path> open{device_source};
    while (!open.empty()) {
      const path file = open.back();
      open.pop_back();
      if (!seen.insert(file).second) continue;
      for (const include_line& at : includes_of(file)) {
        if (is_fmt(at.target)) complain(file, at, "fmt is reachable from " + relative(device_source).generic_string());
        for (const path& next : {root_ / "src" / at.target, root_ / "include" / at.target}) {
          if (std::filesystem::is_regular_file(next)) open.push_back(next);
        }
      }
    }
  }

  path root_;
  std::vector<std::string> broken_;
  std::size_t files_ = 0;
};

}  // namespace sheaf::tests
