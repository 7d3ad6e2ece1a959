#pragma once

#include <map>
#include <set>
#include <string>

// What may include what: one table for the library's layers, one for the parts above it, one for public headers, one
// for the families of a backend and one for the folders of a family.
namespace sheaf::tests {

using names = std::set<std::string>;
using names_by_name = std::map<std::string, names>;

/// Layers whose headers a layer includes. A new folder under src/ needs a row.
inline const names_by_name& layers_seen_by_layer() {
  static const names_by_name rows{
      {"core", {"core"}},
      {"plan", {"plan", "core"}},
      {"primitives", {"primitives", "plan", "core"}},
      {"distributed", {"distributed", "primitives", "plan", "core"}},
      {"composition", {"primitives", "plan", "core"}},
      {"cpu", {"cpu", "primitives", "plan", "core"}},
      {"cuda", {"cuda", "primitives", "plan", "core"}},
      {"opengl", {"opengl", "primitives", "plan", "core"}},
  };
  return rows;
}

/// Parts above the library, and what of the library and of each other they include. Nothing in src/ includes them. A
/// file belongs to the longest of these folders that it lies in.
inline const names_by_name& parts_seen_by_part() {
  static const names library{"primitives", "plan", "core"};
  const auto with_library = [](names parts) {
    parts.insert(library.begin(), library.end());
    return parts;
  };
  static const names_by_name rows{
      {"lab/inputs", {"lab/inputs", "primitives", "plan", "core"}},
      {"lab/description", with_library({"lab/description", "lab/inputs"})},
      {"apps/sheaf/files", {"apps/sheaf/files", "plan", "core"}},
      {"apps/sheaf/mesh", with_library({"apps/sheaf/mesh", "apps/sheaf/files", "lab/inputs"})},
      {"apps/sheaf/ranks", with_library({"apps/sheaf/ranks", "apps/sheaf", "apps/sheaf/files", "apps/sheaf/subcommands",
                                         "apps/sheaf/mesh", "lab/description", "lab/inputs", "distributed"})},
      {"apps/sheaf", with_library({"apps/sheaf", "apps/sheaf/files", "apps/sheaf/mesh", "apps/sheaf/ranks",
                                   "lab/description", "lab/inputs"})},
      {"apps/sheaf/subcommands",
       with_library({"apps/sheaf/subcommands", "apps/sheaf/ranks", "apps/sheaf", "apps/sheaf/files", "apps/sheaf/mesh",
                     "lab/description", "lab/inputs"})},
      {"lab/harness",
       with_library({"lab", "lab/harness", "lab/peers", "lab/spatter", "lab/description", "lab/inputs", "papers",
                     "apps/sheaf", "apps/sheaf/files", "apps/sheaf/mesh", "cpu", "cuda", "distributed"})},
      {"lab/peers", with_library({"lab/peers", "lab/harness", "lab/description", "lab/inputs", "distributed"})},
      {"lab/spatter",
       with_library({"lab/spatter", "lab/harness", "lab/description", "lab/inputs", "apps/sheaf/files"})},
  };
  return rows;
}

/// Folders of other layers than backends that are compiled with a device's toolkit, and only where it is there.
inline const names& folders_with_a_toolkit() {
  static const names folders{"distributed/devices"};
  return folders;
}

/// Parts above the library that call none of its primitives.
inline const names& parts_without_primitives() {
  static const names parts{"lab/inputs", "apps/sheaf/files"};
  return parts;
}

/// Parts whose sources compile with the toolkit of a device where it is there; others have .cu files for that.
inline const names& parts_that_measure_devices() {
  static const names parts{"lab/harness", "lab/peers"};
  return parts;
}

/// Public headers of types, errors, contexts and memory, which every layer sees.
inline const names& public_headers_for_all() {
  static const names headers{"context.hpp", "error.hpp", "export.hpp",  "machine_profile.hpp",
                             "memory.hpp",  "plan.hpp",  "records.hpp", "version.hpp"};
  return headers;
}

/// Layers that define what another public header declares: src/primitives, unless a row says otherwise. They include
/// such a header, and so do the parts above the library, which are its users; any other layer would call upwards. A
/// backend takes types of a primitive from primitives/<p>.hpp. No layer defines sheaf.hpp.
inline const names& layers_that_define(const std::string& public_header) {
  static const names_by_name rows{{"machine.hpp", {"plan"}}, {"sheaf.hpp", {}}};
  static const names primitives{"primitives"};
  static const names distributed{"distributed"};
  if (public_header.starts_with("distributed/")) return distributed;
  const auto row = rows.find(public_header);
  return row == rows.end() ? primitives : row->second;
}

/// Families of a backend whose headers all of its families include.
inline const names& families_below_all(const std::string& backend) {
  static const names_by_name rows{
      {"cpu", {"threads"}}, {"cuda", {"device", "block"}}, {"opengl", {"device", "shaders"}}};
  static const names none;
  const auto row = rows.find(backend);
  return row == rows.end() ? none : row->second;
}

/// Families whose headers a family of the same backend includes. A family without a row includes its own and those of
/// the families below all.
inline const names_by_name& families_seen_by_family(const std::string& backend) {
  const auto rows_of = [](const std::string& of) {
    names_by_name rows;
    names seen = families_below_all(of);
    // Each entry lists families of one height, which do not see each other.
    const names heights[] = {
        {"movement"}, {"split"}, {"reduce", "sort"}, {"hash", "linked_list"}, {"sparse", "edges", "ranks"}};
    for (const names& height : heights) {
      for (const std::string& family : height) {
        rows[family] = seen;
        rows[family].insert(family);
      }
      seen.insert(height.begin(), height.end());
    }
    rows["calibrate"] = seen;
    rows["calibrate"].insert("calibrate");
    return rows;
  };
  static const names_by_name cpu = [&] {
    names_by_name rows = rows_of("cpu");
    rows["threads"] = {"threads"};
    return rows;
  }();
  static const names_by_name cuda = [&] {
    names_by_name rows = rows_of("cuda");
    rows["device"] = {"device"};
    rows["block"] = {"device", "block"};
    return rows;
  }();
  static const names_by_name opengl = [&] {
    names_by_name rows = rows_of("opengl");
    rows["device"] = {"device", "shaders"};
    rows["shaders"] = {"shaders"};
    return rows;
  }();
  static const names_by_name none;
  return backend == "cpu" ? cpu : backend == "cuda" ? cuda : backend == "opengl" ? opengl : none;
}

/// Folders of the same family whose headers a folder of a family includes, "" for files of the family itself, which
/// include those of all folders. A new folder under src/<backend>/<family> needs a row.
inline const names_by_name& folders_seen_by_folder(const std::string& backend, const std::string& family) {
  static const names_by_name cuda_sort{
      {"words", {"words"}},
      {"radix", {"words", "radix"}},
  };
  static const names_by_name cuda_split{{"cub", {"cub"}}};
  static const names_by_name cuda_reduce{{"rows", {"rows"}}};
  static const names_by_name cuda_sparse{{"sums", {"sums"}},
                                         {"transposed", {"sums", "transposed"}},
                                         {"prepared", {"", "sums", "prepared"}},
                                         {"solvers", {"", "sums", "prepared", "solvers"}}};
  static const names_by_name cuda_movement{
      {"copy", {"copy"}},
      {"passes", {"copy", "passes"}},
      {"if_ordered", {"copy", "if_ordered"}},
      {"buckets", {"copy", "if_ordered", "buckets"}},
  };
  static const names_by_name cuda_edges{{"buckets", {"", "buckets"}}};
  static const names_by_name none;
  if (backend != "cuda") return none;
  return family == "movement" ? cuda_movement
         : family == "sort"   ? cuda_sort
         : family == "split"  ? cuda_split
         : family == "reduce" ? cuda_reduce
         : family == "sparse" ? cuda_sparse
         : family == "edges"  ? cuda_edges
                              : none;
}

}  // namespace sheaf::tests
