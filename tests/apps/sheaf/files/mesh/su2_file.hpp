#pragma once

#include <string>
#include <string_view>

#include "apps/sheaf/files/mesh/su2.hpp"
#include "support/expect_error.hpp"
#include "support/matrix_market.hpp"

namespace sheaf::tests {

inline io::unstructured_mesh parse_su2(const std::string& file, const io::su2_options& options = {}) {
  return io::parse_su2(bytes_of(file), "m.su2", options);
}

inline void expect_su2_error(const std::string& file, std::string_view message, const io::su2_options& options = {}) {
  expect_error(error_code::bad_input, message, [&] { parse_su2(file, options); });
}

inline std::string format_su2(const io::unstructured_mesh& mesh) {
  std::string text;
  io::format_su2(mesh, [&](std::string_view piece) { text += piece; });
  return text;
}

/// A square of a triangle, nodes 0 1 2, and a quadrilateral, nodes 0 2 3 4, with two markers.
inline const std::string& plane_file() {
  static const std::string text =
      "% a square\n"
      "NDIME= 2\n"
      "NELEM= 2\n"
      "5 0 1 2 0\n"
      "9 0 2 3 4 1\n"
      "NPOIN= 5\n"
      "0 0 0\n"
      "1 0 1\n"
      "1 1 2\n"
      "0.5 1.5 3\n"
      "0 1 4\n"
      "NMARK= 2\n"
      "MARKER_TAG= low\n"
      "MARKER_ELEMS= 1\n"
      "3 0 1\n"
      "MARKER_TAG= high\n"
      "MARKER_ELEMS= 2\n"
      "3 2 3\n"
      "3 3 4\n";
  return text;
}

}  // namespace sheaf::tests
