#include "apps/sheaf/mesh/dual.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <span>

#include "apps/sheaf/mesh/parts.hpp"
#include "apps/sheaf/mesh/repeated.hpp"
#include "core/startable.hpp"
#include "primitives/views.hpp"

namespace sheaf::mesh {
namespace {

template <int Dimension>
using vector = std::array<double, static_cast<std::size_t>(Dimension)>;

template <std::size_t N>
std::array<double, N> operator-(const std::array<double, N>& a, const std::array<double, N>& b) {
  std::array<double, N> difference{};
  for (std::size_t axis = 0; axis < N; ++axis) difference[axis] = a[axis] - b[axis];
  return difference;
}
template <std::size_t N>
void add(std::array<double, N>& to, const std::array<double, N>& term, double factor) {
  for (std::size_t axis = 0; axis < N; ++axis) to[axis] += factor * term[axis];
}
template <std::size_t N>
double dot(const std::array<double, N>& a, const std::array<double, N>& b) {
  double sum = 0;
  for (std::size_t axis = 0; axis < N; ++axis) sum += a[axis] * b[axis];
  return sum;
}
vector<3> cross(const vector<3>& a, const vector<3>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
// Turned by a right angle, clockwise.
vector<2> turned(const vector<2>& a) { return {a[1], -a[0]}; }

// One element, with the points that its part of the dual is made of. Coordinates are relative to its first node, so
// that a mesh far from the origin loses no digits.
template <int Dimension>
class element_geometry {
 public:
  element_geometry(const unstructured_mesh& mesh, element_type type, std::uint64_t element)
      : shape_(shape_of(type)), count_(nodes_of(type)) {
    const std::uint32_t* const nodes = mesh.elements.element(type, element);
    const vector<Dimension> origin = point(mesh, nodes[0]);
    for (std::uint64_t n = 0; n < count_; ++n) {
      nodes_[n] = point(mesh, nodes[n]) - origin;
      add(center_, nodes_[n], 1 / static_cast<double>(count_));
    }
  }

  // Of the dual face between an edge's nodes, from its first to its second. In space it is a quadrilateral, whose area
  // vector is half of the product of its diagonals, wherever its corners lie.
  vector<Dimension> edge_normal(std::uint8_t e) const {
    const element_edge& edge = shape_.edges[e];
    vector<Dimension> middle{};
    add(middle, nodes_[edge.first], 0.5);
    add(middle, nodes_[edge.second], 0.5);
    if constexpr (Dimension == 2) {
      return turned(center_ - middle);
    } else {
      vector<3> normal{};
      add(normal, cross(center_ - middle, face_center(edge.left) - face_center(edge.right)), 0.5);
      return normal;
    }
  }

  vector<Dimension> along(std::uint8_t e) const {
    return nodes_[shape_.edges[e].second] - nodes_[shape_.edges[e].first];
  }

  // Each edge's nodes have pyramids over its dual face, of half the edge's length.
  double volume() const {
    double sum = 0;
    for (std::uint8_t e = 0; e < shape_.edge_count; ++e) sum += dot(edge_normal(e), along(e));
    return sum / Dimension;
  }

  // Outwards, of the part of a face that belongs to one of its nodes.
  vector<Dimension> face_normal(std::uint8_t face_index, std::uint8_t node_index) const {
    const element_face& face = shape_.faces[face_index];
    vector<Dimension> normal{};
    if constexpr (Dimension == 2) {
      add(normal, turned(nodes_[face.nodes[1]] - nodes_[face.nodes[0]]), 0.5);
    } else {
      // A quadrilateral again: the node, the middle of the edge behind it, the centroid, the middle of the one before.
      const vector<3>& node = nodes_[face.nodes[node_index]];
      const vector<3>& next = nodes_[face.nodes[(node_index + 1U) % face.count]];
      const vector<3>& before = nodes_[face.nodes[(node_index + face.count - 1U) % face.count]];
      add(normal, cross(face_center(face_index) - node, before - next), 0.25);
    }
    return normal;
  }

 private:
  static vector<Dimension> point(const unstructured_mesh& mesh, std::uint64_t node) {
    vector<Dimension> at{};
    std::copy_n(mesh.node(node), Dimension, at.begin());
    return at;
  }

  vector<Dimension> face_center(std::uint8_t f) const {
    const element_face& face = shape_.faces[f];
    vector<Dimension> center{};
    for (std::uint8_t n = 0; n < face.count; ++n) add(center, nodes_[face.nodes[n]], 1.0 / face.count);
    return center;
  }

  const element_shape& shape_;
  std::uint64_t count_;
  std::array<vector<Dimension>, 8> nodes_{};
  vector<Dimension> center_{};
};

template <int Dimension>
class dual_maker {
 public:
  dual_maker(const context& ctx, const unstructured_mesh& mesh) : ctx_(ctx), mesh_(mesh) {}

  dual_mesh make() {
    find_orientations();
    make_boundary();
    const part_numbers parts = part_numbers::of_edges(mesh_.elements);
    if (parts.count() <= std::uint64_t{1} << 32) {
      make_edges(parts, incidence_of<std::uint32_t>(ctx_, mesh_, parts));
    } else {
      make_edges(parts, incidence_of<std::uint64_t>(ctx_, mesh_, parts));
    }
    make_volumes();
    require_finite();
    return std::move(dual_);
  }

 private:
  // signs_ has 1 for each element, or -1 where its nodes are in the opposite order.
  void find_orientations() {
    std::uint64_t reoriented = 0;
    std::uint64_t flat = 0;
    for (const element_type type : io::all_element_types) {
      std::vector<signed char>& signs = signs_[static_cast<std::size_t>(type)];
      signs.resize(mesh_.elements.count(type));
#pragma omp parallel for num_threads(core::startable(ctx_.threads())) schedule(static) reduction(+ : reoriented, flat)
      for (std::uint64_t i = 0; i < signs.size(); ++i) {
        const double volume = element_geometry<Dimension>(mesh_, type, i).volume();
        signs[i] = volume < 0 ? -1 : 1;
        reoriented += volume < 0 ? 1 : 0;
        flat += volume == 0 ? 1 : 0;
      }
    }
    dual_.reoriented_elements = reoriented;
    dual_.flat_elements = flat;
  }

  double sign_of(const element_part& part) const { return signs_[static_cast<std::size_t>(part.type)][part.element]; }

  template <class Number>
  void make_edges(const part_numbers& parts, edge_incidence<Number> incidence) {
    const std::uint64_t count = incidence.edges.size();
    require_memory(count * Dimension * sizeof(double), "the normals of edges");
    dual_.edge_normals.resize(count * Dimension);
#pragma omp parallel for num_threads(core::startable(ctx_.threads())) schedule(static)
    for (std::uint64_t e = 0; e < count; ++e) {
      vector<Dimension> sum{};
      for (std::uint64_t i = incidence.begins[e]; i < incidence.begins[e + 1]; ++i) {
        const element_part part = parts[incidence.numbers[i]];
        const std::uint8_t first = shape_of(part.type).edges[part.part].first;
        const bool is_reversed = mesh_.elements.element(part.type, part.element)[first] != incidence.edges[e].first;
        add(sum, element_geometry<Dimension>(mesh_, part.type, part.element).edge_normal(part.part),
            is_reversed ? -sign_of(part) : sign_of(part));
      }
      std::ranges::copy(sum, dual_.edge_normals.begin() + static_cast<std::ptrdiff_t>(e * Dimension));
    }
    dual_.edges = std::move(incidence.edges);
  }

  // One thread adds up, in the order of edges, so that sums are the same for every number of threads. A node's cell is
  // made of the pyramids between it and the dual faces around it. Those of an edge's two nodes are as high as each
  // other, so that the edge alone says what both are.
  void make_volumes() {
    require_memory(mesh_.nodes() * sizeof(double), "the volumes of nodes");
    dual_.volumes.assign(mesh_.nodes(), 0);
    for (std::uint64_t e = 0; e < dual_.edges.size(); ++e) {
      const edge& of = dual_.edges[e];
      double sum = 0;
      for (std::size_t axis = 0; axis < Dimension; ++axis) {
        sum += dual_.edge_normals[e * Dimension + axis] * (mesh_.node(of.second)[axis] - mesh_.node(of.first)[axis]);
      }
      dual_.volumes[of.first] += sum / (2 * Dimension);
      dual_.volumes[of.second] += sum / (2 * Dimension);
    }
  }

  // An area is a product of two coordinates, a volume one of three; each may be more than a double holds.
  void require_finite() const {
    const auto is_finite = [](double number) { return std::isfinite(number); };
    const auto normal = std::ranges::find_if_not(dual_.edge_normals, is_finite);
    if (normal != dual_.edge_normals.end()) {
      const edge& of = dual_.edges[static_cast<std::size_t>(normal - dual_.edge_normals.begin()) / Dimension];
      primitives::refuse(
          "mesh: the nodes {} and {} are so far apart that no number of 8 bytes holds the normal of their dual face",
          of.first, of.second);
    }
    const auto volume = std::ranges::find_if_not(dual_.volumes, is_finite);
    if (volume != dual_.volumes.end()) {
      primitives::refuse("mesh: node {}: no number of 8 bytes holds the volume of its cell",
                         volume - dual_.volumes.begin());
    }
  }

  void make_boundary() {
    const part_numbers faces = part_numbers::of_faces(mesh_.elements);
    boundary found = boundary_of(ctx_, mesh_, faces);
    dual_.warnings = std::move(found.warnings);
    const std::vector<boundary_face>& all = found.faces;
    auto at = all.begin();
    for (std::uint32_t marker = 0; marker <= mesh_.markers.size(); ++marker) {
      const bool is_marker = marker < mesh_.markers.size();
      const auto end = is_marker
                           ? std::find_if(at, all.end(), [&](const boundary_face& f) { return f.marker != marker; })
                           : all.end();
      if (is_marker || at != end) {
        dual_.boundary.push_back(normals_of(faces, {at, end}, is_marker ? mesh_.markers[marker].name : ""));
      }
      at = end;
    }
  }

  boundary_normals normals_of(const part_numbers& numbers, std::span<const boundary_face> faces,
                              const std::string& marker) const {
    boundary_normals made{marker, {}, {}};
    for (const boundary_face& face : faces) {
      const element_part part = numbers[face.number];
      const element_face& shape = shape_of(part.type).faces[part.part];
      for (std::uint8_t n = 0; n < shape.count; ++n) made.nodes.push_back(node_of(part, shape, n));
    }
    std::ranges::sort(made.nodes);
    made.nodes.erase(std::unique(made.nodes.begin(), made.nodes.end()), made.nodes.end());
    made.normals.assign(made.nodes.size() * Dimension, 0);
    for (const boundary_face& face : faces) {
      const element_part part = numbers[face.number];
      const element_face& shape = shape_of(part.type).faces[part.part];
      const element_geometry<Dimension> geometry(mesh_, part.type, part.element);
      for (std::uint8_t n = 0; n < shape.count; ++n) {
        const auto place = std::ranges::lower_bound(made.nodes, node_of(part, shape, n));
        const vector<Dimension> normal = geometry.face_normal(part.part, n);
        double* const to = made.normals.data() + (place - made.nodes.begin()) * Dimension;
        for (std::size_t axis = 0; axis < Dimension; ++axis) to[axis] += sign_of(part) * normal[axis];
      }
    }
    return made;
  }

  std::uint32_t node_of(const element_part& part, const element_face& face, std::uint8_t n) const {
    return mesh_.elements.element(part.type, part.element)[face.nodes[n]];
  }

  const context& ctx_;
  const unstructured_mesh& mesh_;
  std::array<std::vector<signed char>, io::element_types> signs_;
  dual_mesh dual_;
};

}  // namespace

dual_mesh median_dual(const context& ctx, const unstructured_mesh& mesh) {
  require_cpu(ctx);
  io::require_mesh(mesh);
  try {
    require_distinct_elements(ctx, mesh);
    return mesh.dimension == 2 ? dual_maker<2>(ctx, mesh).make() : dual_maker<3>(ctx, mesh).make();
  } catch (const std::bad_alloc&) {
    throw error(error_code::out_of_memory, "mesh: no memory for its median dual");
  }
}

dual_check check_dual(const unstructured_mesh& mesh, const dual_mesh& dual) {
  const auto dimension = static_cast<std::size_t>(mesh.dimension);
  std::vector<double> sums(mesh.nodes() * dimension, 0);
  std::vector<double> lengths(mesh.nodes(), 0);
  const auto add_normal = [&](std::uint64_t node, const double* normal, double sign) {
    double square = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      sums[node * dimension + axis] += sign * normal[axis];
      square += normal[axis] * normal[axis];
    }
    lengths[node] += std::sqrt(square);
  };
  for (std::uint64_t e = 0; e < dual.edges.size(); ++e) {
    add_normal(dual.edges[e].first, dual.edge_normals.data() + e * dimension, 1);
    add_normal(dual.edges[e].second, dual.edge_normals.data() + e * dimension, -1);
  }
  for (const boundary_normals& part : dual.boundary) {
    for (std::uint64_t n = 0; n < part.nodes.size(); ++n) {
      add_normal(part.nodes[n], part.normals.data() + n * dimension, 1);
    }
  }
  dual_check found;
  for (const double volume : dual.volumes) found.volume += volume;
  for (std::uint64_t node = 0; node < mesh.nodes(); ++node) {
    if (lengths[node] == 0) continue;  // a node of no element
    double square = 0;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      square += sums[node * dimension + axis] * sums[node * dimension + axis];
    }
    found.closure_error = std::max(found.closure_error, std::sqrt(square) / lengths[node]);
  }
  return found;
}

}  // namespace sheaf::mesh
