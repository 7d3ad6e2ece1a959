#pragma once

#include <functional>
#include <span>

#include "apps/sheaf/files/mesh/arrays.hpp"

namespace sheaf::io {

struct su2_options {
  int threads = 0;                    ///< 0: all of the host
  std::uint64_t most_text_bytes = 0;  ///< what a .gz file may inflate to; 0: half of the memory that is available
  std::uint64_t part_bytes = 0;       ///< text that a thread reads at once; 0: what suits the size
  std::uint64_t zone = 0;             ///< of several, the one whose IZONE this is; 0: all of them
  std::vector<std::string>* warnings = nullptr;  ///< where what is left out of the mesh is named, if anywhere
};

/// Reads a mesh from a file of SU2's native format (Economon, Palacios, Copeland, Lukaczyk and Alonso 2016), plain or
/// gzip, which its first bytes tell.
/// - NDIME, NELEM, NPOIN, NMARK with MARKER_TAG (or MARKERTAG) and MARKER_ELEMS, in any order. Elements of a type keep
///   the order of the file, as do markers. Element lines are a type (3 line, 5 triangle, 9 quadrilateral,
///   10 tetrahedron, 12 hexahedron, 13 prism, 14 pyramid), node numbers from 0, and maybe a number of the element,
///   which is ignored. Points are numbered by their order; a number behind the coordinates is ignored, and so is a
///   third coordinate in the plane.
/// - Blanks in a marker's name are taken out, as SU2 does: `lower wall` is lowerwall. Vertices (type 1) among the
///   elements of a marker are left out, with a warning.
/// - `NPOIN= n m`, of which m points belong to this part of a mesh, is read as n points.
/// - '%' begins a comment; blank lines, blanks at ends of lines and CRLF anywhere; a byte order mark before the text.
/// - Several zones, each behind its IZONE, become one mesh, in the order of the file: numbers of a zone's nodes are
///   raised by the count of those before, so that zones share no node, and markers of one name become one marker. An
///   NDIME in front of the zones is that of those without one; all must have the same. NZONE is their count.
/// - Other keywords are ignored, with all lines behind them up to the next one of those above: FFD boxes, periodic
///   boundaries, AOA_OFFSET. SEND_RECV and SEND_RECEIVE are refused.
/// - A node that no element names is kept, and an element that names one twice is refused. Elements keep the
///   orientation that they have in the file.
/// The result does not depend on the number of threads, and neither does the error where a file has several.
/// @throws error(bad_input) naming file, line and value; error(out_of_memory) if less is available than the mesh takes;
/// error(bad_argument) if the file has no such zone
unstructured_mesh read_su2(const std::string& path, const su2_options& options = {});

/// Reads a mesh as read_su2 does, from the bytes of a file.
unstructured_mesh parse_su2(std::span<const std::byte> file, const std::string& origin,
                            const su2_options& options = {});

/// An element of a mesh that was read from a file.
struct su2_element_name {
  element_type type;
  std::uint64_t element;  ///< among those of its type
  std::string marker;     ///< whose it is; empty for an element of the mesh itself
};

/// The line of the file where an element stands of the mesh that read_su2 makes of it with these options, counted from
/// 1; 0 if there is no such element. Reads the file again: it is there to say what is wrong with an element. Throws as
/// read_su2 does.
std::uint64_t line_of_su2_element(const std::string& path, const su2_element_name& element,
                                  const su2_options& options = {});

/// Writes a mesh: elements by type, coordinates as the shortest decimal numbers that are read back as these values,
/// bit by bit. It appears whole or not at all.
/// @throws error(bad_argument) if the arrays are not a mesh, or a marker's name is not a word without '%', or is there
/// twice; error(io_failure)
void write_su2(const std::string& path, const unstructured_mesh& mesh);

/// Gives the text of such a file to `take`, piece by piece. @throws error(bad_argument), before the first piece
void format_su2(const unstructured_mesh& mesh, const std::function<void(std::string_view)>& take);

}  // namespace sheaf::io
