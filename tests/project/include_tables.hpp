#pragma once

#include <map>
#include <set>
#include <string>

// What may include what: one table for layers, one for public headers, one for the families of a backend and one for
// the folders of a family.
namespace sheaf::tests {

using names = std::set<std::string>;
using names_by_name = std::map<std::string, names>;

/// Layers whose headers a layer includes. A new folder under src/ needs a row.
inline const names_by_name& layers_seen_by_layer() {
  static const names_by_name rows{
      {"core", {"core"}},
      {"plan", {"plan", "core"}},
      {"primitives", {"primitives", "plan", "core"}},
      {"reference", {"reference", "primitives", "plan", "core"}},
      {"graph", {"graph", "primitives", "plan", "core"}},
      {"cpu", {"cpu", "graph", "primitives", "plan", "core"}},
      {"cuda", {"cuda", "graph", "primitives", "plan", "core"}},
      {"opengl", {"opengl", "primitives", "plan", "core"}},
      {"io", {"io", "plan", "core"}},
      {"inputs", {"inputs", "primitives", "plan", "core"}},
      {"mesh", {"mesh", "inputs", "io", "primitives", "plan", "core"}},
      {"jobs", {"jobs", "mesh", "inputs", "io", "reference", "primitives", "plan", "core"}},
      {"cli", {"cli", "jobs", "mesh", "inputs", "io", "reference", "primitives", "plan", "core"}},
  };
  return rows;
}

/// Public headers of types, errors, contexts and memory, which every layer sees.
inline const names& public_headers_for_all() {
  static const names headers{"context.hpp", "error.hpp", "export.hpp",  "machine_profile.hpp",
                             "memory.hpp",  "plan.hpp",  "records.hpp", "version.hpp"};
  return headers;
}

/// Layers that define what another public header declares: src/primitives, unless a row says otherwise. They include
/// such a header, and so do the layers above the library, which are its users; any other layer would call upwards. A
/// backend takes types of a primitive from primitives/<p>.hpp. No layer defines sheaf.hpp.
inline const names& layers_that_define(const std::string& public_header) {
  static const names_by_name rows{{"machine.hpp", {"io", "plan"}}, {"sheaf.hpp", {}}};
  static const names primitives{"primitives"};
  const auto row = rows.find(public_header);
  return row == rows.end() ? primitives : row->second;
}

/// Layers that use the library as any program does.
inline const names& layers_above_the_library() {
  static const names layers{"mesh", "jobs", "cli"};
  return layers;
}

/// Families whose headers a family of the same backend includes. A new folder under src/<backend> needs a row.
inline const names_by_name& families_seen_by_family(const std::string& backend) {
  const auto rows_above = [](const names& bottom) {
    names_by_name rows;
    names seen = bottom;
    // Each entry lists families of one height, which do not see each other.
    const names heights[] = {{"movement"},     {"split"},           {"reduce", "sort"},
                             {"hash", "list"}, {"sparse", "edges"}, {"solvers"}};
    for (const names& height : heights) {
      for (const std::string& family : height) {
        rows[family] = seen;
        rows[family].insert(family);
      }
      seen.insert(height.begin(), height.end());
    }
    for (const char* const family : {"papers", "calibrate"}) {
      rows[family] = seen;
      rows[family].insert({"papers", "calibrate"});
    }
    return rows;
  };
  static const names_by_name cpu = [&] {
    names_by_name rows = rows_above({"threads"});
    rows["threads"] = {"threads"};
    return rows;
  }();
  static const names_by_name cuda = [&] {
    names_by_name rows = rows_above({"device", "block"});
    rows["device"] = {"device"};
    rows["block"] = {"device", "block"};
    return rows;
  }();
  static const names_by_name opengl = [&] {
    names_by_name rows = rows_above({"device", "shaders"});
    rows["device"] = {"device", "shaders"};
    rows["shaders"] = {"shaders"};
    return rows;
  }();
  static const names_by_name none;
  return backend == "cpu" ? cpu : backend == "cuda" ? cuda : backend == "opengl" ? opengl : none;
}

/// Folders of the same family whose headers a folder of a family includes. Files of the family itself include all of
/// them. A new folder under src/<backend>/<family> needs a row.
inline const names_by_name& folders_seen_by_folder(const std::string& backend, const std::string& family) {
  static const names_by_name cuda_sort{
      {"words", {"words"}},
      {"radix", {"words", "radix"}},
  };
  static const names_by_name cuda_split{{"cub", {"cub"}}};
  static const names_by_name cuda_sparse{{"sums", {"sums"}}};
  static const names_by_name cuda_movement{
      {"copy", {"copy"}},
      {"passes", {"copy", "passes"}},
      {"if_ordered", {"copy", "if_ordered"}},
      {"buckets", {"copy", "if_ordered", "buckets"}},
  };
  static const names_by_name none;
  if (backend != "cuda") return none;
  return family == "movement" ? cuda_movement
         : family == "sort"   ? cuda_sort
         : family == "split"  ? cuda_split
         : family == "sparse" ? cuda_sparse
                              : none;
}

}  // namespace sheaf::tests
