#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "project/include_tables.hpp"
#include "project/source_tree.hpp"

namespace sheaf::tests {

/// Reads the sources under a root and collects "file:line: target: rule" for every include that breaks a rule.
class include_rules {
 public:
  explicit include_rules(std::filesystem::path root) : tree_(std::move(root)) {}

  std::vector<std::string> broken() {
    for (const auto& file : sources("src")) check_source(file);
    for (const char* const part : {"lab", "apps"}) {
      for (const auto& file : sources(part)) check_part(file);
    }
    for (const auto& file : sources("include")) check_public(file);
    for (const auto& file : sources("examples")) check_example(file);
    for (const char* const folder : {"src", "lab", "papers", "tests", "examples"}) {
      for (const auto& file : tree_.sources(folder)) {
        if (file.extension() == ".cu") check_no_fmt(file);
      }
    }
    std::sort(broken_.begin(), broken_.end());
    return broken_;
  }
  std::size_t files_read() const { return files_; }

 private:
  using path = std::filesystem::path;

  std::vector<path> sources(const char* folder) {
    std::vector<path> files = tree_.sources(folder);
    files_ += files.size();
    return files;
  }

  void complain(const path& file, const include_line& include, const std::string& rule) {
    broken_.push_back(fmt::format("{}:{}: {}: {}", tree_.name_of(file), include.line, include.target, rule));
  }
  void complain_of_no_row(const path& file, const include_line& include, const std::string& folder) {
    complain(file, include, folder + " has no rule of its own");
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
  static std::string below_include(const std::string& name) { return name.substr(std::string("sheaf/").size()); }

  void check_source(const path& file) {
    const std::vector<std::string> folders = tree_.folders_of(file);
    const std::string layer = folders.size() > 1 ? folders[1] : "";
    const bool device_code = layer == "cuda" || layer == "opengl" || file.extension() == ".cu" ||
                             file.extension() == ".cuh" ||
                             (folders.size() > 2 && folders_with_a_toolkit().contains(layer + "/" + folders[2]));
    for (const include_line& include : includes_of(file)) {
      if (!layers_seen_by_layer().contains(layer)) {
        complain_of_no_row(file, include, "src/" + layer);
      } else if (include.quoted) {
        check_layer(file, folders, include);
      } else if (is_device_header(include.target) && !device_code) {
        complain(file, include, "device headers are for the backends and .cu files");
      } else if (is_device_side_public(include.target)) {
        if (!device_code) complain(file, include, "device-side public headers are for the backends and .cu files");
      } else if (include.target.starts_with("sheaf/")) {
        check_definer(file, layer, include);
      }
    }
  }

  void check_layer(const path& file, const std::vector<std::string>& folders, const include_line& include) {
    const std::vector<std::string> target = source_tree::parts_of(path(include.target).parent_path());
    const std::string& layer = folders[1];
    const names& seen = layers_seen_by_layer().at(layer);
    if (target.empty() || !seen.contains(target[0])) {
      complain(file, include, fmt::format("{} may include {}", layer, fmt::join(seen, ", ")));
    } else if (target[0] == layer && !families_seen_by_family(layer).empty()) {
      check_family(file, folders, include, target);
    }
  }

  // The longest row of the parts that a folder lies in, else the layer of the library.
  static std::string part_of(const std::vector<std::string>& folders) {
    std::string folder;
    std::string longest = folders.empty() ? "" : folders[0];
    for (const std::string& name : folders) {
      folder += (folder.empty() ? "" : "/") + name;
      if (parts_seen_by_part().contains(folder)) longest = folder;
    }
    return longest;
  }

  void check_part(const path& file) {
    const std::vector<std::string> folders = tree_.folders_of(file);
    const std::string part = part_of(folders);
    const auto row = parts_seen_by_part().find(part);
    const bool device_code =
        file.extension() == ".cu" || file.extension() == ".cuh" || parts_that_measure_devices().contains(part);
    for (const include_line& include : includes_of(file)) {
      if (row == parts_seen_by_part().end()) {
        complain_of_no_row(file, include, fmt::format("{}", fmt::join(folders, "/")));
      } else if (include.quoted) {
        const std::string target = part_of(source_tree::parts_of(path(include.target).parent_path()));
        if (!row->second.contains(target)) {
          complain(file, include, fmt::format("{} may include {}", part, fmt::join(row->second, ", ")));
        }
      } else if ((is_device_header(include.target) || is_device_side_public(include.target)) && !device_code) {
        complain(file, include, "device headers are for the backends and .cu files");
      } else if (include.target.starts_with("sheaf/") && parts_without_primitives().contains(part)) {
        check_definer(file, part, include);
      }
    }
  }

  // A public function is called by the layers that define it and by the parts above the library.
  void check_definer(const path& file, const std::string& layer, const include_line& include) {
    const std::string header = below_include(include.target);
    if (public_headers_for_all().contains(header)) return;
    // Calls between ranks stand on the calls of each rank.
    if (layer == "distributed" && layers_that_define(header).contains("primitives")) return;
    const names& definers = layers_that_define(header);
    if (definers.empty()) {
      complain(file, include, fmt::format("{} includes what it needs and no more", layer));
    } else if (!definers.contains(layer)) {
      complain(file, include, fmt::format("{} may not call what {} defines", layer, fmt::join(definers, ", ")));
    }
  }

  void check_family(const path& file, const std::vector<std::string>& folders, const include_line& include,
                    const std::vector<std::string>& target) {
    const names_by_name& rows = families_seen_by_family(folders[1]);
    const std::string family = folders.size() > 2 ? folders[2] : "";
    const auto row = rows.find(family);
    names seen = row == rows.end() ? families_below_all(folders[1]) : row->second;
    seen.insert(family);
    const std::string place = fmt::format("{}/{}", folders[1], family);
    if (family.empty()) {
      complain(file, include, fmt::format("files of src/{} lie in a family's folder", folders[1]));
    } else if (target.size() < 2 || !seen.contains(target[1])) {
      complain(file, include, fmt::format("{} may include {}", place, fmt::join(seen, ", ")));
    } else if (target[1] == family && folders.size() > 3) {
      check_folder_of_family(file, folders, include, target);
    }
  }

  void check_folder_of_family(const path& file, const std::vector<std::string>& folders, const include_line& include,
                              const std::vector<std::string>& target) {
    const names_by_name& rows = folders_seen_by_folder(folders[1], folders[2]);
    const auto row = rows.find(folders[3]);
    const std::string place = fmt::format("{}/{}/{}", folders[1], folders[2], folders[3]);
    if (row == rows.end()) {
      complain_of_no_row(file, include, "src/" + place);
    } else if (!row->second.contains(target.size() < 3 ? "" : target[2])) {
      complain(file, include, fmt::format("{} may include {}", place, fmt::join(row->second, ", ")));
    }
  }

  void check_public(const path& file) {
    const std::string name = tree_.name_of(file).substr(std::string("include/").size());
    const bool device_side = is_device_side_public(name);
    const bool for_all = name.starts_with("sheaf/") && public_headers_for_all().contains(below_include(name));
    for (const include_line& include : includes_of(file)) {
      const std::string& target = include.target;
      if (include.quoted) {
        complain(file, include, "public headers include no header of src/");
      } else if (!device_side && (is_device_header(target) || is_device_side_public(target))) {
        complain(file, include, "no CUDA or GL header is reachable from a public one outside interop/ and cuda/");
      } else if (is_fmt(target) || target.starts_with("nlohmann/") || target == "omp.h") {
        complain(file, include, "public headers ask for nothing but the standard library");
      } else if (for_all && target.starts_with("sheaf/") && !public_headers_for_all().contains(below_include(target))) {
        complain(file, include, "headers that every layer includes reach no header that some may not");
      }
    }
  }

  void check_example(const path& file) {
    for (const include_line& include : includes_of(file)) {
      if (include.quoted && !std::filesystem::is_regular_file(file.parent_path() / include.target)) {
        complain(file, include, "examples include public headers and each other's only");
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
      for (const include_line& include : includes_of(file)) {
        if (is_fmt(include.target)) {
          complain(file, include, "fmt is reachable from " + tree_.name_of(device_source));
        }
        for (const char* const folder : {"", "src", "include", "tests"}) {
          const path next = tree_.root() / folder / include.target;
          if (std::filesystem::is_regular_file(next)) open.push_back(next);
        }
      }
    }
  }

  source_tree tree_;
  std::vector<std::string> broken_;
  std::size_t files_ = 0;
};

}  // namespace sheaf::tests
