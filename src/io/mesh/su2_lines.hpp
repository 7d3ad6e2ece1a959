#pragma once

#include <cstdint>
#include <string>

#include "io/mesh/arrays.hpp"
#include "io/mesh/su2_sections.hpp"

namespace sheaf::io {

/// How a section is read.
struct su2_reading {
  const named_text& file;
  std::uint64_t part_bytes;
  int threads;
};

/// The coordinates of all points. @throws error(bad_input), error(out_of_memory)
std::vector<double> read_su2_points(const su2_reading& how, const su2_layout& layout);

/// Elements of `dimension` dimensions whose nodes are among `points`.
/// @param what  "elements" for messages, or those of a marker.
/// @throws error(bad_input), error(out_of_memory)
element_lists read_su2_elements(const su2_reading& how, const su2_section& section, int dimension, std::uint64_t points,
                                const std::string& what);

}  // namespace sheaf::io
