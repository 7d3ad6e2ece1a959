#pragma once

#include "apps/sheaf/files/mesh/arrays.hpp"
#include "apps/sheaf/files/mesh/su2_sections.hpp"

namespace sheaf::io {

/// How a section is read.
struct su2_reading {
  const named_text& file;
  std::uint64_t part_bytes;
  int threads;
};

/// The coordinates of all points. @throws error(bad_input), error(out_of_memory)
std::vector<double> read_su2_points(const su2_reading& how, const su2_zone& zone);

/// What the elements of a section are.
struct su2_element_lines {
  const su2_section& section;
  int dimension;
  std::uint64_t points;          ///< of the zone; numbers of nodes are below
  std::uint32_t first_node = 0;  ///< of the zone in the mesh, which is added to them
  bool are_of_marker = false;    ///< and may be vertices, which are left out
  std::string what;              ///< for messages
};

struct su2_elements {
  element_lists lists;
  std::uint64_t vertices = 0;  ///< that were left out
};

/// @throws error(bad_input), error(out_of_memory)
su2_elements read_su2_elements(const su2_reading& how, const su2_element_lines& lines);

/// The line of the section that holds element `element` of this type; null, with `element` less by those that are
/// there, if there are fewer. The section is one that was read without an error.
const char* find_su2_element(const su2_section& section, element_type type, std::uint64_t& element);

}  // namespace sheaf::io
