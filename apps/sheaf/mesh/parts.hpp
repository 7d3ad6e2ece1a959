#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>

#include "apps/sheaf/mesh/edges.hpp"
#include "apps/sheaf/mesh/element_shape.hpp"

namespace sheaf::mesh {

// Edges and faces as elements have them, numbered through all elements of all types: type after type, element after
// element. Several elements share an edge or a face, and a sort by nodes brings these together.

/// An edge or a face of one element.
struct element_part {
  element_type type;
  std::uint64_t element;  ///< among those of its type
  std::uint8_t part;      ///< edge or face of the element's shape
};

/// The numbers that edges, or faces, of elements have.
class part_numbers {
 public:
  static part_numbers of_edges(const io::element_lists& elements) {
    return {elements, [](element_type type) { return shape_of(type).edge_count; }};
  }
  static part_numbers of_faces(const io::element_lists& elements) {
    return {elements, [](element_type type) { return shape_of(type).face_count; }};
  }

  std::uint64_t count() const noexcept { return begins_.back(); }
  std::uint64_t begin(element_type type) const noexcept { return begins_[static_cast<std::size_t>(type)]; }
  element_part operator[](std::uint64_t number) const noexcept {
    std::size_t type = 0;
    while (begins_[type + 1] <= number) ++type;
    const std::uint64_t in_type = number - begins_[type];
    return {static_cast<element_type>(type), in_type / per_element_[type],
            static_cast<std::uint8_t>(in_type % per_element_[type])};
  }

 private:
  template <class Count>
  part_numbers(const io::element_lists& elements, Count count_of) {
    for (std::size_t type = 0; type < io::element_types; ++type) {
      const auto of = static_cast<element_type>(type);
      per_element_[type] = count_of(of);
      begins_[type + 1] = begins_[type] + elements.count(of) * per_element_[type];
    }
  }

  std::array<std::uint64_t, io::element_types + 1> begins_{};
  std::array<std::uint64_t, io::element_types> per_element_{};
};

/// The unique edges of a mesh, and the elements' edges that each stands for: numbers[begins[e]] to
/// numbers[begins[e + 1] - 1] for edge e, ascending.
template <class Number>
struct edge_incidence {
  std::vector<edge> edges;
  std::vector<std::uint64_t> begins;
  std::vector<Number> numbers;
};

/// Number is std::uint32_t where part_numbers::count() is at most 2^32. ctx is a CPU context, the mesh is checked.
template <class Number>
edge_incidence<Number> incidence_of(const context& ctx, const unstructured_mesh& mesh, const part_numbers& parts);

/// A face of the boundary.
struct boundary_face {
  static constexpr std::uint32_t no_marker = ~std::uint32_t{0};

  std::uint64_t number;  ///< of the one element's face that it is
  std::uint32_t marker;  ///< that covers it, or no_marker
};

struct boundary {
  std::vector<boundary_face> faces;   ///< by marker, those of no marker last; inside a marker by their numbers
  std::vector<std::string> warnings;  ///< of markers with elements inside the mesh, or with faces of other markers
};

/// Faces of one element alone, each of the first marker that covers it. Elements of markers differ within a marker.
/// @throws error(bad_argument) naming the element where three share a face, or a marker's element is no face
boundary boundary_of(const context& ctx, const unstructured_mesh& mesh, const part_numbers& faces);

/// @throws error(bad_argument) unless ctx is of the CPU
void require_cpu(const context& ctx);

/// Asks for memory before it is taken. @throws error(out_of_memory) saying what for
void require_memory(std::uint64_t bytes, std::string_view what);

}  // namespace sheaf::mesh
