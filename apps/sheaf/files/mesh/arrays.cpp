#include "apps/sheaf/files/mesh/arrays.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/printable.hpp"

namespace sheaf::io {
namespace {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw error(error_code::bad_argument, "mesh: " + fmt::format(format, std::forward<Args>(args)...));
}

void require_elements(const unstructured_mesh& mesh, const element_lists& elements, int dimension,
                      const std::string& where) {
  for (const element_type type : all_element_types) {
    const auto& nodes = elements.nodes(type);
    const std::uint64_t per_element = nodes_of(type);
    if (nodes.empty()) continue;
    if (dimension_of(type) != dimension) {
      fail("{}a {} is not an element of {} dimension{}", where, name(type), dimension, dimension == 1 ? "" : "s");
    }
    if (nodes.size() % per_element != 0) {
      fail("{}{} node numbers of type {}, which has {} each", where, nodes.size(), name(type), per_element);
    }
    for (std::uint64_t i = 0; i < nodes.size() / per_element; ++i) {
      const std::uint32_t* const element = elements.element(type, i);
      for (std::uint64_t n = 0; n < per_element; ++n) {
        if (element[n] >= mesh.nodes()) {
          fail("{}{} {}: node {} is not below {}", where, name(type), i, element[n], mesh.nodes());
        }
      }
      if (const std::uint64_t twice = repeated_node(element, per_element); twice != per_element) {
        fail("{}{} {}: node {} appears twice", where, name(type), i, element[twice]);
      }
    }
  }
}

}  // namespace

void require_mesh(const unstructured_mesh& mesh) {
  if (mesh.dimension != 2 && mesh.dimension != 3) fail("dimension {} is neither 2 nor 3", mesh.dimension);
  const auto dimension = static_cast<std::uint64_t>(mesh.dimension);
  if (mesh.coordinates.size() % dimension != 0) {
    fail("{} coordinates do not make nodes of {} dimensions", mesh.coordinates.size(), dimension);
  }
  if (mesh.nodes() > most_nodes) fail("{} nodes, more than 2^32", mesh.nodes());
  for (std::uint64_t i = 0; i < mesh.coordinates.size(); ++i) {
    if (!std::isfinite(mesh.coordinates[i])) {
      fail("node {}: coordinate {} is {}", i / dimension, i % dimension, mesh.coordinates[i]);
    }
  }
  require_elements(mesh, mesh.elements, mesh.dimension, "");
  for (const mesh_marker& marker : mesh.markers) {
    require_elements(mesh, marker.elements, mesh.dimension - 1,
                     fmt::format("marker '{}': ", core::printable(marker.name)));
  }
}

}  // namespace sheaf::io
