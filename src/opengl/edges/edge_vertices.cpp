#include "opengl/edges/edge_vertices.hpp"

#include "opengl/device/errors.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/device/textures.hpp"

namespace sheaf::opengl {
namespace {

using primitives::edge_sum_problem;

constexpr program_files point_files{"edge_points.vert", "", "edge_value.frag"};
constexpr program_files wide_files{"wide_edge_points.vert", "", "edge_value.frag"};
constexpr std::uint64_t edges_of_a_buffer = std::uint64_t{1} << 22;

void set_end(GLuint location, std::size_t offset) {
  glEnableVertexAttribArray(location);
  glVertexAttribIPointer(location, 1, GL_UNSIGNED_INT, sizeof(node_pair), reinterpret_cast<const void*>(offset));
}

}  // namespace

edge_piece next_piece(const opengl_state& state, const edge_sum_problem& problem, const edge_view& edges,
                      std::uint64_t begin, std::uint64_t& first_bad) {
  edge_piece piece;
  piece.begin = begin;
  piece.count = std::min({problem.edges - begin, edges_of_a_buffer, state.limits().vertices_per_buffer});
  glBindVertexArray(piece.attributes.name());
  write_buffer(GL_ARRAY_BUFFER, piece.ends, piece.count * sizeof(node_pair), [&](std::byte* to) {
    auto* const pairs = reinterpret_cast<node_pair*>(to);
    const std::uint64_t bad = for_each_edge(
        problem, edges, begin, piece.count, [&](std::uint64_t e, const node_pair& ends) { pairs[e - begin] = ends; },
        [&](std::uint64_t e) {
          pairs[e - begin] = {no_record, no_record};
        });
    first_bad = std::min(first_bad, bad);
  });
  set_end(0, offsetof(node_pair, first));
  set_end(1, offsetof(node_pair, second));
  glBindVertexArray(0);
  require_no_error("edge_sum: points");
  return piece;
}

const program& edge_point_program(opengl_state& state, const edge_sum_problem& p) {
  return state.program_of(p.components > 4 ? wide_files : point_files);
}

const program& use_edge_points(opengl_state& state, const edge_sum_problem& p, const node_values& values) {
  const program& points = edge_point_program(state, p);
  points.use();
  values.bind(points);
  points.set("node_count", static_cast<std::uint32_t>(p.nodes));
  return points;
}

void draw_edges(const opengl_state& state, const program& points, const edge_piece& piece, const source_array& weights,
                const node_sums& sums) {
  constexpr GLuint weight = 2;
  glBindVertexArray(piece.attributes.name());
  std::optional<buffer_object> weights_of_piece;
  if (!weights.exists()) {
    glDisableVertexAttribArray(weight);
    glVertexAttrib1f(weight, 1);
  } else {
    std::uint64_t first = 0;  // of the piece's weights, in bytes
    if (weights.buffer == 0) {
      const const_records all(weights.data, piece.begin + piece.count, sizeof(float));
      fill_buffer(weights_of_piece.emplace(), all, piece.begin, piece.count);
    } else {
      glBindBuffer(GL_ARRAY_BUFFER, weights.buffer);
      first = weights.offset + piece.begin * sizeof(float);
    }
    glEnableVertexAttribArray(weight);
    glVertexAttribPointer(weight, 1, GL_FLOAT, GL_FALSE, 0, reinterpret_cast<const void*>(first));
  }
  for (const bool is_second_pass : {false, true}) {
    points.set("is_second_pass", is_second_pass ? 1U : 0U);
    if (is_second_pass) {
      begin_differences();
    } else {
      begin_sums();
    }
    sums.for_each_target(points, [&] {
      for_each_draw(state, piece.count, [](std::uint64_t first, std::uint64_t count) {
        glDrawArrays(GL_POINTS, static_cast<GLint>(first), static_cast<GLsizei>(count));
      });
    });
  }
  end_sums();
  if (weights.exists()) {  // a piece that is kept does not keep them
    glBindBuffer(GL_ARRAY_BUFFER, 0);
    glVertexAttribPointer(weight, 1, GL_FLOAT, GL_FALSE, 0, nullptr);
  }
  glBindVertexArray(0);
  require_no_error("edge_sum: draws of points");
}

}  // namespace sheaf::opengl
