#pragma once

#include "opengl/device/textures.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "primitives/edges/prepare.hpp"

namespace sheaf::opengl {

/// What a sum reads and writes, f32.
struct edge_arrays {
  source_array values;   ///< of the nodes
  source_array weights;  ///< of all edges, or none
  result_array result;
};

/// An executor whose values, weights and results lie in host memory or in buffer objects.
class array_edges : public primitives::prepared_edges {
 public:
  void run(const context& ctx, const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b) final {
    run_arrays(ctx, p, {b.values, b.weights, b.result});
  }
  /// The arrays are checked. A result in a buffer may not be there yet when this returns.
  virtual void run_arrays(const context& ctx, const primitives::edge_sum_problem& problem,
                          const edge_arrays& arrays) = 0;
};

/// Texels of the values of all nodes.
std::uint64_t node_texels(const primitives::edge_sum_problem& problem) noexcept;

/// The values of nodes in a texture: up to 4 components in a texel, more in as many texels of one channel.
class node_values {
 public:
  node_values(const opengl_state& state, const primitives::edge_sum_problem& problem, const source_array& values);

  /// Tells the program in use the values, by texture unit 0, and the function.
  void bind(const program& user) const;

 private:
  std::uint32_t components_;
  edge_function function_;
  layered_texture texels_;
};

/// The sums of all nodes, in frame buffers of up to 4 channels: 5 to 8 components take two parts.
class node_sums {
 public:
  /// Of undefined pixels.
  node_sums(const opengl_state& state, const primitives::edge_sum_problem& problem);

  void clear() const;
  /// Calls draw() for each tile of each part, about which the program in use is told.
  template <class Draw>
  void for_each_target(const program& user, Draw draw) const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      user.set("part", static_cast<std::uint32_t>(part));
      for (const tile_target& target : parts_[part]) {
        draw_to(user, target);
        draw();
      }
    }
  }
  void read_back(const result_array& result) const;

 private:
  void read_parts(void* result) const;

  std::uint64_t nodes_;
  std::uint32_t components_;
  std::vector<std::vector<tile_target>> parts_;
};

}  // namespace sheaf::opengl
