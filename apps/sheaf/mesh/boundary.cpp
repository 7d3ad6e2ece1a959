#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <sheaf/sort.hpp>

#include "apps/sheaf/mesh/parts.hpp"
#include "core/printable.hpp"
#include "core/startable.hpp"

namespace sheaf::mesh {
namespace {

// A face by its nodes alone, ascending. The highest one fills the places that a face of fewer nodes leaves.
struct face_key {
  std::array<std::uint32_t, 4> nodes;
  friend bool operator==(const face_key&, const face_key&) = default;
};
static_assert(sizeof(face_key) == 16);

template <class NodeAt>
face_key key_of(std::uint64_t count, NodeAt node_at) {
  face_key key{};
  for (std::uint64_t n = 0; n < key.nodes.size(); ++n) {
    const std::uint32_t node = n < count ? node_at(n) : key.nodes[n - 1];
    std::uint64_t to = n;
    for (; to > 0 && key.nodes[to - 1] > node; --to) key.nodes[to] = key.nodes[to - 1];
    key.nodes[to] = node;
  }
  return key;
}

// Elements of a marker, behind the faces of all elements.
struct marker_element {
  std::uint32_t marker;
  element_type type;
  std::uint64_t element;
};

std::vector<marker_element> marker_elements_of(const unstructured_mesh& mesh) {
  std::vector<marker_element> all;
  for (std::uint32_t m = 0; m < mesh.markers.size(); ++m) {
    for (const element_type type : io::all_element_types) {
      for (std::uint64_t i = 0; i < mesh.markers[m].elements.count(type); ++i) all.push_back({m, type, i});
    }
  }
  return all;
}

std::string words_of(const unstructured_mesh& mesh, const marker_element& covering) {
  return fmt::format("marker '{}': {} {}", core::printable(mesh.markers[covering.marker].name), name(covering.type),
                     covering.element);
}

// Elements of one marker that are not on the boundary, or that an earlier marker has.
struct exceptions_of_marker {
  std::uint64_t count = 0;
  std::uint64_t first = 0;                 // the lowest of their numbers
  std::array<std::uint64_t, 2> besides{};  // the elements' faces that it lies between, or the marker's element before
};

std::string words_of(const element_part& of) { return fmt::format("{} {}", name(of.type), of.element); }

class boundary_finder {
 public:
  boundary_finder(const context& ctx, const unstructured_mesh& mesh, const part_numbers& faces)
      : ctx_(ctx),
        mesh_(mesh),
        faces_(faces),
        covering_(marker_elements_of(mesh)),
        inside_(mesh.markers.size()),
        covered_(mesh.markers.size()) {}

  boundary find() {
    sort();
    boundary made;
    std::vector<boundary_face>& found = made.faces;
    for (std::uint64_t begin = 0; begin < keys_.size();) {
      std::uint64_t end = begin + 1;
      while (end < keys_.size() && keys_[end] == keys_[begin]) ++end;
      take({numbers_.data() + begin, numbers_.data() + end}, found);
      begin = end;
    }
    std::ranges::sort(found, [](const boundary_face& a, const boundary_face& b) {
      return a.marker != b.marker ? a.marker < b.marker : a.number < b.number;
    });
    add_warnings(made.warnings);
    return made;
  }

 private:
  // A stable sort: numbers of one face ascend, with the markers' behind those of elements.
  void sort() {
    const std::uint64_t count = faces_.count() + covering_.size();
    require_memory(count * 2 * (sizeof(face_key) + sizeof(std::uint64_t)) * 2, "the faces of all elements");
    std::vector<face_key> keys(count);
    for (const element_type type : io::all_element_types) fill_keys(type, keys.data() + faces_.begin(type));
    for (std::uint64_t i = 0; i < covering_.size(); ++i) {
      const marker_element& of = covering_[i];
      const std::uint32_t* const nodes = mesh_.markers[of.marker].elements.element(of.type, of.element);
      keys[faces_.count() + i] = key_of(nodes_of(of.type), [&](std::uint64_t n) { return nodes[n]; });
    }
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    keys_.resize(count);
    numbers_.resize(count);
    const sort_column column{numbers, numbers_};
    sort_pairs(ctx_, keys, sort_key(key_field{0, sizeof(face_key)}), keys_, std::span(&column, 1));
    ctx_.wait();
  }

  void fill_keys(element_type type, face_key* to) const {
    const element_shape& shape = shape_of(type);
#pragma omp parallel for num_threads(core::startable(ctx_.threads())) schedule(static)
    for (std::uint64_t i = 0; i < mesh_.elements.count(type); ++i) {
      const std::uint32_t* const nodes = mesh_.elements.element(type, i);
      for (std::uint64_t f = 0; f < shape.face_count; ++f) {
        const element_face& face = shape.faces[f];
        to[i * shape.face_count + f] = key_of(face.count, [&](std::uint64_t n) { return nodes[face.nodes[n]]; });
      }
    }
  }

  // All that have one face.
  void take(std::span<const std::uint64_t> numbers, std::vector<boundary_face>& found) {
    const auto of_markers = std::ranges::lower_bound(numbers, faces_.count());
    const auto of_elements = of_markers - numbers.begin();
    if (of_elements > 2) {
      fail("{}, {} and {} share a face", words_of(faces_[numbers[0]]), words_of(faces_[numbers[1]]),
           words_of(faces_[numbers[2]]));
    }
    if (of_elements == 0) fail("{} is not a face of an element", words_of(mesh_, covering(*of_markers)));
    if (of_elements == 2) {
      for (auto at = of_markers; at != numbers.end(); ++at) except(inside_, *at, {numbers[0], numbers[1]});
      return;
    }
    const bool is_covered = of_markers != numbers.end();
    found.push_back({numbers[0], is_covered ? covering(*of_markers).marker : boundary_face::no_marker});
    if (!is_covered) return;
    for (auto at = of_markers + 1; at != numbers.end(); ++at) except(covered_, *at, {*of_markers, 0});
  }

  void except(std::vector<exceptions_of_marker>& markers, std::uint64_t number,
              const std::array<std::uint64_t, 2>& besides) {
    exceptions_of_marker& of = markers[covering(number).marker];
    if (of.count++ == 0 || number < of.first) {
      of.first = number;
      of.besides = besides;
    }
  }

  void add_warnings(std::vector<std::string>& warnings) const {
    for (std::uint32_t marker_index = 0; marker_index < mesh_.markers.size(); ++marker_index) {
      const std::string marker = fmt::format("marker '{}'", core::printable(mesh_.markers[marker_index].name));
      const std::uint64_t elements = mesh_.markers[marker_index].elements.count();
      if (const auto& of = inside_[marker_index]; of.count > 0) {
        warnings.push_back(
            fmt::format("{}: {} of its {} elements lie inside the mesh and do not contribute to its normals; the "
                        "first, {}, is between {} and {}",
                        marker, of.count, elements, words_in_marker(of.first), words_of(faces_[of.besides[0]]),
                        words_of(faces_[of.besides[1]])));
      }
      if (const auto& of = covered_[marker_index]; of.count > 0) {
        warnings.push_back(fmt::format(
            "{}: {} of its {} elements cover faces of earlier markers and do not contribute to its normals; the first, "
            "{}, "
            "covers the face of {}",
            marker, of.count, elements, words_in_marker(of.first), words_of(mesh_, covering(of.besides[0]))));
      }
    }
  }

  std::string words_in_marker(std::uint64_t number) const {
    return fmt::format("{} {}", name(covering(number).type), covering(number).element);
  }

  const marker_element& covering(std::uint64_t number) const { return covering_[number - faces_.count()]; }

  template <class... Args>
  [[noreturn]] static void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw error(error_code::bad_argument, "mesh: " + fmt::format(format, std::forward<Args>(args)...));
  }

  const context& ctx_;
  const unstructured_mesh& mesh_;
  const part_numbers& faces_;
  std::vector<marker_element> covering_;
  std::vector<exceptions_of_marker> inside_;   // of each marker, those between two elements
  std::vector<exceptions_of_marker> covered_;  // and those whose face a marker before it has
  std::vector<face_key> keys_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace

boundary boundary_of(const context& ctx, const unstructured_mesh& mesh, const part_numbers& faces) {
  return boundary_finder(ctx, mesh, faces).find();
}

}  // namespace sheaf::mesh
