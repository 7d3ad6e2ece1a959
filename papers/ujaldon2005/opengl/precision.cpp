#include "papers/ujaldon2005/opengl/precision.hpp"

#include <chrono>
#include <limits>

#include "opengl/device/textures.hpp"
#include "opengl/edges/edge_vertices.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "opengl/sparse/point_matrix.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

constexpr std::string_view spmv_call = "spmv_at_precision";
constexpr std::string_view edge_call = "edge_sum_at_precision";
constexpr program_files product_files{"spmv_points.vert", "", "spmv_signed.frag", paper_shaders};
constexpr program_files contribution_files{"edge_points.vert", "", "edge_signed.frag", paper_shaders};

// A pixel of 8 bits has 128 for zero, and 127 steps to both sides.
constexpr float zero_of_fixed = 128.0F / 255;
constexpr float range_of_fixed = 127.0F / 255;

texel_format one_channel(channel_bits bits, bool is_frame_buffer) {
  switch (bits) {
    case channel_bits::fixed8:
      return is_frame_buffer ? texel_format{GL_R8, GL_RED, GL_FLOAT, 4} : texel_format{GL_R8_SNORM, GL_RED, GL_BYTE, 1};
    case channel_bits::float16: return {GL_R16F, GL_RED, GL_FLOAT, 4};
    default: return float_texels;
  }
}

// With as many channels in memory as there are components, to which the driver adds the others; but texels of 8 bits
// have all four.
texel_format four_channels(channel_bits bits, std::uint32_t components, bool is_frame_buffer) {
  constexpr GLenum formats[] = {GL_RED, GL_RG, GL_RGB, GL_RGBA};
  if (bits == channel_bits::fixed8 && !is_frame_buffer) return {GL_RGBA8_SNORM, GL_RGBA, GL_BYTE, 4};
  const GLint internal = bits == channel_bits::fixed8    ? GL_RGBA8
                         : bits == channel_bits::float16 ? GL_RGBA16F
                                                         : GL_RGBA32F;
  return {internal, formats[components - 1], GL_FLOAT, components * 4};
}

/// Frame buffers, and passes over them.
class signed_sums {
 public:
  signed_sums(const opengl_state& state, const texel_format& texels, std::uint64_t count, channel_bits bits)
      : targets_(zero_targets(state, texels, count)), is_fixed_(bits == channel_bits::fixed8) {}

  /// Of what is added, so that 1 is the largest sum that there is room for.
  float range() const { return is_fixed_ ? range_of_fixed : 1; }
  void clear() const {
    const GLfloat zero[4] = {is_fixed_ ? zero_of_fixed : 0, is_fixed_ ? zero_of_fixed : 0,
                             is_fixed_ ? zero_of_fixed : 0, is_fixed_ ? zero_of_fixed : 0};
    for (const tile_target& target : targets_) {
      target.pixels.bind();
      glClearBufferfv(GL_COLOR, 0, zero);
    }
  }
  /// Calls draw() for each target, and with a frame buffer that has no sign for positive and negative numbers apart.
  template <class Draw>
  void add(const program& user, bool is_subtracted, Draw draw) const {
    for (const int sign_of : {0, 1, -1}) {
      if ((sign_of == 0) == is_fixed_) continue;
      user.set("sign_of", std::int32_t{sign_of});
      if (is_subtracted == (sign_of < 0)) {
        begin_sums();
      } else {
        begin_differences();
      }
      for (const tile_target& target : targets_) {
        draw_to(user, target);
        draw();
      }
    }
    end_sums();
  }
  /// The sums, times `scale`.
  void read_back(float* out, std::uint64_t count, std::uint32_t components, double scale) const {
    const records numbers(out, count, components * sizeof(float));
    for (const tile_target& target : targets_) target.pixels.read_back(numbers);
    for (std::uint64_t i = 0; i < count * components; ++i) {
      out[i] = static_cast<float>((out[i] - (is_fixed_ ? zero_of_fixed : 0)) / range() * scale);
    }
  }

 private:
  std::vector<tile_target> targets_;
  bool is_fixed_;
};

/// The least time of so many runs.
template <class Run>
double seconds_of(int runs, Run run) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    glFinish();
    const auto begin = std::chrono::steady_clock::now();
    run();
    glFinish();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

/// The least time of drawing all pieces and reading their sums back, times `scale`.
template <class Piece, class DrawPiece>
double seconds_of_sums(int runs, const signed_sums& sums, const std::vector<Piece>& pieces, float* out,
                       std::uint64_t count, std::uint32_t components, double scale, DrawPiece draw) {
  return seconds_of(runs, [&] {
    sums.clear();
    for (const Piece& piece : pieces) {
      glBindVertexArray(piece.attributes.name());
      draw(piece);
    }
    glBindVertexArray(0);
    sums.read_back(out, count, components, scale);
  });
}

void require_runs(std::string_view call, int runs) {
  if (runs < 1) refuse("{}: {} runs, not 1 or more", call, runs);
}

void draw_points(const opengl_state& state, std::uint64_t points) {
  for_each_draw(state, points, [](std::uint64_t first, std::uint64_t count) {
    glDrawArrays(GL_POINTS, static_cast<GLint>(first), static_cast<GLsizei>(count));
  });
}

std::vector<float> scaled(const float* numbers, std::uint64_t count, double factor) {
  std::vector<float> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = static_cast<float>(numbers[i] * factor);
  return out;
}

std::vector<float> texels_of(const texel_scale& scale, const float* numbers, std::uint64_t count,
                             std::uint32_t components) {
  std::vector<float> out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(scale.scaled(numbers[i], static_cast<std::uint32_t>(i % components)));
  }
  return out;
}

/// Fills a texture with scaled numbers, of so many components for each texel.
void upload_texels(const layered_texture& texture, channel_bits bits, const texel_scale& scale, const float* numbers,
                   std::uint64_t count, std::uint32_t components) {
  const std::vector<float> texels = texels_of(scale, numbers, count, components);
  if (bits != channel_bits::fixed8) return texture.upload(texels.data());
  std::vector<std::int8_t> fixed(texture.bytes());
  const std::uint64_t channels = count == 0 ? 1 : texture.bytes() / (count / components);
  for (std::uint64_t i = 0; i < count; ++i) {
    fixed[i / components * channels + i % components] = fixed_texel(texels[i]);
  }
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  texture.upload(fixed.data());
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
}

precision_figures judged(const expected_sums& expected, const float* found, double seconds) {
  precision_figures figures = expected.judged({found, expected.sums.size()});
  figures.seconds = seconds;
  return figures;
}

}  // namespace

precision_figures spmv_at_precision(const context& ctx, const csr_view& a, const_values x, values y,
                                    const pipeline_precision& precision, int runs) {
  require_runs(spmv_call, runs);
  require_csr_shape(spmv_call, a);
  require_float_pipeline(spmv_call, ctx, a.values.type);
  const spmv_problem problem = describe_spmv(spmv_call, ctx, a, false, spmv_sums::as_values, {});
  require_csr_memory(spmv_call, ctx, a);
  require_vectors(spmv_call, ctx, problem, a, x, y);
  opengl_state& state = state_of(ctx);
  require_layers(spmv_call, state, "values of x", problem.columns);
  const std::uint64_t number = state.begin_call();
  const auto* const numbers = static_cast<const float*>(x.data);
  auto* const out = static_cast<float*>(y.data);
  const expected_sums expected = expected_product(problem, a, numbers, precision);
  double seconds = 0;
  bool has_faults = false;
  {
    pipeline_call call(state, spmv_call);
    const signed_sums sums(state, one_channel(precision.frame_buffer, true), problem.rows, precision.frame_buffer);
    const layered_texture texels(state, "x", one_channel(precision.texture, false), problem.columns);
    upload_texels(texels, precision.texture, expected.scale, numbers, x.count, 1);
    const std::vector<float> factors = scaled(static_cast<const float*>(a.values.data), problem.entries,
                                              expected.scale.gain * static_cast<double>(sums.range()) / expected.limit);
    csr_view of_factors = a;
    of_factors.values = const_values(factors.data(), problem.entries, value_type::f32);
    entry_cursor cursor(problem, of_factors);
    std::vector<point_piece> pieces;
    while (!cursor.is_done()) pieces.push_back(next_piece(state, problem, point_form::texture_lookup, cursor));
    has_faults = cursor.has_met_faults();
    const program& points = state.program_of(product_files);
    points.use();
    texels.bind(0, points, "x");
    seconds = seconds_of_sums(runs, sums, pieces, out, problem.rows, 1, expected.limit, [&](const point_piece& piece) {
      sums.add(points, false, [&] { draw_points(state, piece.points); });
    });
    call.finish();
  }
  if (has_faults) state.keep_first(find_fault(problem, a, csr_call::spmv, number));
  return judged(expected, out, seconds);
}

precision_figures edge_sum_at_precision(const context& ctx, const edge_view& edges, const_values node_values,
                                        values result, std::uint32_t components, edge_function function,
                                        const pipeline_precision& precision, int runs) {
  require_runs(edge_call, runs);
  if (components < 1 || components > 4) refuse("{}: {} components, not 1 to 4", edge_call, components);
  require_float_pipeline(edge_call, ctx, node_values.type);
  const edge_sum_problem problem = plain_edge_sum(edges, node_values.count / components, components, function);
  const const_values no_weights(nullptr, 0, value_type::f32);
  require_edge_shape(edge_call, edges, problem.nodes);
  require_edge_values(edge_call, problem, node_values, no_weights, result);
  require_edge_memory(edge_call, ctx, edges);
  require_edge_views(edge_call, ctx, edges, node_values, no_weights, result);
  opengl_state& state = state_of(ctx);
  require_layers(edge_call, state, "nodes", problem.nodes);
  const std::uint64_t number = state.begin_call();
  const auto* const numbers = static_cast<const float*>(node_values.data);
  auto* const out = static_cast<float*>(result.data);
  std::uint64_t first_bad = no_edge;
  expected_sums expected;
  double seconds = 0;
  {
    pipeline_call call(state, edge_call);
    const signed_sums sums(state, four_channels(precision.frame_buffer, components, true), problem.nodes,
                           precision.frame_buffer);
    const layered_texture texels(state, "nodes", four_channels(precision.texture, components, false), problem.nodes);
    std::vector<edge_piece> pieces;
    for (std::uint64_t begin = 0; begin < problem.edges; begin += pieces.back().count) {
      pieces.push_back(next_piece(state, problem, edges, begin, first_bad));
    }
    expected = expected_edge_sums(problem, edges, numbers, precision,
                                  pieces.empty() ? problem.edges : pieces.front().count, first_bad);
    upload_texels(texels, precision.texture, expected.scale, numbers, node_values.count, components);
    const bool is_inverse = function == edge_function::inverse_square;
    const program& points = state.program_of(contribution_files);
    points.use();
    texels.bind(0, points, "nodes");
    points.set("components", components);
    points.set("part", 0U);
    points.set("is_inverse_square", is_inverse ? 1U : 0U);
    points.set("node_count", static_cast<std::uint32_t>(problem.nodes));
    // A difference of scaled values is too small by the gain; the inverse of its square is too large.
    const double gain = expected.scale.gain;
    const double factor = (is_inverse ? 1 / (gain * gain) : gain) * static_cast<double>(sums.range()) / expected.limit;
    seconds = seconds_of_sums(runs, sums, pieces, out, problem.nodes, components, expected.limit,
                              [&](const edge_piece& piece) {
                                glDisableVertexAttribArray(2);
                                glVertexAttrib1f(2, static_cast<float>(factor));
                                for (const bool is_second_pass : {false, true}) {
                                  points.set("is_second_pass", is_second_pass ? 1U : 0U);
                                  sums.add(points, is_second_pass, [&] { draw_points(state, piece.count); });
                                }
                              });
    call.finish();
  }
  report_bad_end(state, problem, edges, first_bad, edge_call::edge_sum, number);
  return judged(expected, out, seconds);
}

}  // namespace sheaf::opengl
