#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "opengl/device/layered_texture.hpp"
#include "opengl/edges/ends.hpp"
#include "opengl/edges/node_values.hpp"

namespace sheaf::opengl {

/// The edges of each node in textures, in the order of the edges: the node at the other end, and the edge's number.
class incidence {
 public:
  /// Host memory that the constructor needs.
  static std::uint64_t scratch_bytes(const primitives::edge_sum_problem& p) noexcept;

  /// Edges that have bad ends are left out.
  incidence(const opengl_state& state, const primitives::edge_sum_problem& p, const edge_view& edges,
            std::byte* scratch);

  std::uint64_t first_bad() const noexcept { return first_bad_; }
  std::uint64_t bytes() const noexcept { return rows_.bytes() + entries_.bytes(); }

  /// Adds the contributions of all edges to the sums of both ends.
  /// @param weights  of all edges, or null
  void draw(opengl_state& state, const primitives::edge_sum_problem& p, const node_values& values, const void* weights,
            const node_sums& sums) const;

 private:
  std::uint64_t first_bad_ = no_edge;
  std::uint64_t most_edges_ = 0;  ///< of a node
  layered_texture rows_;
  layered_texture entries_;
};

}  // namespace sheaf::opengl
