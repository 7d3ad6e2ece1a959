#pragma once

#include "apps/sheaf/files/text/lines.hpp"

namespace sheaf::io {

/// Lines of numbers behind a keyword that says how many there are.
struct su2_section {
  const char* line = nullptr;  ///< the keyword's
  std::uint64_t count = 0;     ///< lines that it announces
  std::string_view body;       ///< all lines up to the next keyword; comments and blank lines among them
};

struct su2_marker_section {
  std::string name;
  su2_section elements;
};

/// Where the parts of one mesh are, of which a file may have several.
struct su2_zone {
  std::uint64_t number = 0;    ///< what IZONE says; 0 in a file that has no IZONE
  const char* line = nullptr;  ///< IZONE's, or the first of the file
  int dimension = 0;
  su2_section elements;
  su2_section points;
  bool points_have_two_numbers = false;  ///< as in `NPOIN= n m`, where a point's number here and in the whole follow it
  std::vector<su2_marker_section> markers;
};

/// Where the parts of an SU2 file are.
struct su2_layout {
  std::vector<su2_zone> zones;  ///< in the order of the file; at least one
};

/// Checks that the first line of a text that says something is a keyword's. The front is all of the text, or as much as
/// is at hand. @throws error(bad_input)
void require_su2_front(const named_text& front);

/// Finds all keywords, on several threads, and what belongs to each. @throws error(bad_input)
su2_layout read_su2_layout(const named_text& file, std::uint64_t part_bytes, int threads);

}  // namespace sheaf::io
