#pragma once

#include "opengl/device/textures.hpp"
#include "opengl/edges/ends.hpp"
#include "opengl/edges/node_values.hpp"

namespace sheaf::opengl {

/// Who reads the numbers of edges: nobody where no weights belong to them.
enum class edge_numbers : std::uint8_t { none, kept };

/// The program of sums over the edges of nodes, linked if this is its first use.
const program& node_program(opengl_state& state, const primitives::edge_sum_problem& problem, bool has_weights);

/// The edges of each node in textures, in the order of the edges: the nodes at the other ends, and apart from them the
/// numbers of the edges, which sums with weights alone read.
class incidence {
 public:
  /// Host memory that the constructor needs.
  static std::uint64_t scratch_bytes(const primitives::edge_sum_problem& problem, edge_numbers numbers) noexcept;

  /// Edges that have bad ends are left out.
  incidence(const opengl_state& state, const primitives::edge_sum_problem& problem, const edge_view& edges,
            edge_numbers numbers, std::byte* scratch);

  std::uint64_t first_bad() const noexcept { return first_bad_; }
  std::uint64_t bytes() const noexcept { return rows_.bytes() + others_.bytes() + (numbers_ ? numbers_->bytes() : 0); }

  /// Writes the sums of the contributions of all edges at both ends to all pixels.
  /// @param weights  of all edges, or none. With weights the numbers of the edges have been kept.
  void draw(opengl_state& state, const primitives::edge_sum_problem& problem, const node_values& values,
            const source_array& weights, const node_sums& sums) const;

 private:
  std::uint64_t first_bad_ = no_edge;
  std::uint64_t most_edges_ = 0;  ///< of a node
  layered_texture rows_;
  layered_texture others_;
  std::optional<layered_texture> numbers_;
};

}  // namespace sheaf::opengl
