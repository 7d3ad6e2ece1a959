#include "opengl/edges/node_values.hpp"

#include "opengl/device/textures.hpp"

namespace sheaf::opengl {
namespace {

using primitives::edge_sum_problem;

constexpr std::uint32_t channels = 4;
constexpr texel_format two_floats{GL_RG32F, GL_RG, GL_FLOAT, 8};
constexpr texel_format three_floats{GL_RGBA32F, GL_RGB, GL_FLOAT, 12};
constexpr texel_format four_floats{GL_RGBA32F, GL_RGBA, GL_FLOAT, 16};

texel_format texels_of_values(std::uint32_t components) {
  switch (components) {
    case 2: return two_floats;
    case 3: return three_floats;
    case 4: return four_floats;
    default: return float_texels;
  }
}

// No frame buffer has three channels.
texel_format texels_of_sums(std::uint32_t components) {
  return components == 1 ? float_texels : components == 2 ? two_floats : four_floats;
}

std::uint32_t components_of_part(std::uint32_t components, std::size_t part) {
  return std::min(channels, components - channels * static_cast<std::uint32_t>(part));
}

}  // namespace

std::uint64_t node_texels(const edge_sum_problem& p) noexcept {
  return p.components <= channels ? p.nodes : p.nodes * p.components;
}

node_values::node_values(const opengl_state& state, const edge_sum_problem& p, const source_array& values)
    : components_(p.components),
      function_(p.function),
      texels_(state, "edge_sum: the nodes", texels_of_values(p.components), node_texels(p)) {
  texels_.upload(values);
}

void node_values::bind(const program& user) const {
  texels_.bind(0, user, "nodes");
  user.set("components", components_);
  user.set("is_inverse_square", function_ == edge_function::inverse_square ? 1U : 0U);
}

node_sums::node_sums(const opengl_state& state, const edge_sum_problem& p)
    : nodes_(p.nodes), components_(p.components) {
  for (std::size_t part = 0; part * channels < components_; ++part) {
    parts_.push_back(targets_of(state, texels_of_sums(components_of_part(components_, part)), nodes_));
  }
}

void node_sums::clear() const {
  for (const std::vector<tile_target>& targets : parts_) opengl::clear(targets);
}

// Components of several parts lie side by side in the result, and no transfer of pixels leaves bytes between them.
void node_sums::read_back(const result_array& result) const {
  if (parts_.size() == 1) {
    for (const tile_target& target : parts_.front()) target.pixels.read_back(result, components_ * sizeof(float));
  } else if (result.buffer == 0) {
    read_parts(result.data);
  } else {
    const buffer_object together;
    const std::uint64_t bytes = nodes_ * components_ * sizeof(float);
    write_buffer(GL_COPY_WRITE_BUFFER, together, bytes, [&](std::byte* data) { read_parts(data); });
    copy_to_array({together.name(), 0}, bytes, result);
  }
}

void node_sums::read_parts(void* result) const {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const records sums(static_cast<float*>(result) + part * channels, nodes_,
                       components_of_part(components_, part) * sizeof(float), components_ * sizeof(float));
    for (const tile_target& target : parts_[part]) target.pixels.read_back(sums);
  }
}

}  // namespace sheaf::opengl
