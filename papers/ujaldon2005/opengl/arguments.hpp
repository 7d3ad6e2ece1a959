#pragma once

#include "opengl/device/state.hpp"
#include "opengl/device/tile.hpp"
#include "opengl/shaders/sources.hpp"
#include "primitives/edges/edge_sum.hpp"

namespace sheaf::opengl {

/// @throws error(bad_argument), naming the call, unless this is a gather that one texture for each array can do
void require_one_texture_each(std::string_view call, const context& ctx, const_records table, index_span index,
                              records out);
/// The tile of an array that fits one texture. @throws error(bad_argument), naming call and array, if it does not
tile only_tile(std::string_view call, std::string_view array, const opengl_state& state, std::uint64_t count);
/// @throws error(bad_argument), naming the call, what and the limit, unless one texture of layers holds so many texels
void require_layers(std::string_view call, const opengl_state& state, std::string_view what, std::uint64_t count);
/// @throws error(bad_argument), naming the call, unless the context is one of OpenGL and the values are f32
void require_float_pipeline(std::string_view call, const context& ctx, value_type type);
/// A sum over edges without weights, of f32.
primitives::edge_sum_problem plain_edge_sum(const edge_view& edges, std::uint64_t nodes, std::uint32_t components,
                                            edge_function function);
/// The checked list as record numbers of an array of so many records; reports what is bad to the context in these
/// words.
std::vector<std::uint32_t> record_numbers_of(opengl_state& state, index_span list, std::uint64_t records,
                                             const core::index_wording& wording);

/// The files of shaders/ here, with the library's prelude.glsl in front.
std::span<const shader_source> paper_shaders() noexcept;

}  // namespace sheaf::opengl
