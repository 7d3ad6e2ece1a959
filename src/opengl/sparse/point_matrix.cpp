#include "opengl/sparse/point_matrix.hpp"

#include "opengl/device/errors.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/device/textures.hpp"
#include "opengl/movement/sum_pixels.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

/// A vertex of an entry. By vertex indexing rows and values lie in a texture, columns in the element array.
struct entry_vertex {
  std::uint32_t pixel;
  std::uint32_t column;
  float value;
};

struct row_and_value {
  std::uint32_t pixel;
  float value;
};

/// A vertex of up to four entries of one row. A column of no_record is none.
struct packed_vertex {
  std::uint32_t pixel;
  std::uint32_t columns[4];
  float values[4];
};

constexpr unsigned packed_entries = 4;
constexpr std::uint64_t points_of_a_buffer = std::uint64_t{1} << 22;

void set_integers(GLuint location, GLint count, std::size_t stride, std::size_t offset) {
  glEnableVertexAttribArray(location);
  glVertexAttribIPointer(location, count, GL_UNSIGNED_INT, static_cast<GLsizei>(stride),
                         reinterpret_cast<const void*>(offset));
}

void set_floats(GLuint location, GLint count, std::size_t stride, std::size_t offset) {
  glEnableVertexAttribArray(location);
  glVertexAttribPointer(location, count, GL_FLOAT, GL_FALSE, static_cast<GLsizei>(stride),
                        reinterpret_cast<const void*>(offset));
}

void fill_entries(point_piece& piece, const spmv_problem& problem, std::uint64_t room, entry_cursor& cursor) {
  piece.bytes = room * sizeof(entry_vertex);
  write_buffer(GL_ARRAY_BUFFER, piece.vertices, piece.bytes, [&](std::byte* to) {
    auto* vertex = reinterpret_cast<entry_vertex*>(to);
    piece.points = cursor.visit<1>(room, [&](const entry_group<1>& g) {
      *vertex++ = problem.transposed ? entry_vertex{g.columns[0], g.row, g.values[0]}
                                     : entry_vertex{g.row, g.columns[0], g.values[0]};
    });
  });
  set_integers(0, 1, sizeof(entry_vertex), offsetof(entry_vertex, pixel));
  set_integers(1, 1, sizeof(entry_vertex), offsetof(entry_vertex, column));
  set_floats(2, 1, sizeof(entry_vertex), offsetof(entry_vertex, value));
}

void fill_packed(point_piece& piece, std::uint64_t room, entry_cursor& cursor) {
  piece.bytes = room * sizeof(packed_vertex);
  write_buffer(GL_ARRAY_BUFFER, piece.vertices, piece.bytes, [&](std::byte* to) {
    auto* vertex = reinterpret_cast<packed_vertex*>(to);
    piece.points = cursor.visit<packed_entries>(room, [&](const entry_group<packed_entries>& g) {
      packed_vertex v{g.row, {no_record, no_record, no_record, no_record}, {}};
      std::copy_n(g.columns, g.count, v.columns);
      std::copy_n(g.values, g.count, v.values);
      *vertex++ = v;
    });
  });
  set_integers(0, 1, sizeof(packed_vertex), offsetof(packed_vertex, pixel));
  set_integers(1, packed_entries, sizeof(packed_vertex), offsetof(packed_vertex, columns));
  set_floats(2, packed_entries, sizeof(packed_vertex), offsetof(packed_vertex, values));
}

void fill_elements(point_piece& piece, const spmv_problem& problem, std::uint64_t room, entry_cursor& cursor) {
  const buffer_texture& entries = piece.entries.emplace();
  piece.bytes = room * (sizeof(row_and_value) + sizeof(std::uint32_t));
  write_buffer(GL_TEXTURE_BUFFER, entries.buffer(), room * sizeof(row_and_value), [&](std::byte* to) {
    auto* entry = reinterpret_cast<row_and_value*>(to);
    write_buffer(GL_ELEMENT_ARRAY_BUFFER, piece.vertices, room * sizeof(std::uint32_t), [&](std::byte* columns) {
      auto* element = reinterpret_cast<std::uint32_t*>(columns);
      piece.points = cursor.visit<1>(room, [&](const entry_group<1>& g) {
        *element++ = problem.transposed ? g.row : g.columns[0];
        *entry++ = {problem.transposed ? g.columns[0] : g.row, g.values[0]};
      });
    });
  });
}

}  // namespace

const program& program_of(opengl_state& state, point_form form) {
  static constexpr program_files files[] = {{"spmv_points.vert", "", "spmv_texture.frag"},
                                            {"spmv_points.vert", "", "spmv_lookup.frag"},
                                            {"spmv_vertex.vert", "spmv_vertex.geom", "value.frag"},
                                            {"spmv_packed.vert", "", "spmv_packed.frag"}};
  return state.program_of(files[static_cast<int>(form)]);
}

point_piece next_piece(const opengl_state& state, const spmv_problem& problem, point_form form, entry_cursor& cursor) {
  std::uint64_t room = std::min(points_of_a_buffer, state.limits().vertices_per_buffer);
  // Of packed entries a row's last point may have room left.
  const std::uint64_t most =
      form == point_form::packed ? problem.entries / packed_entries + problem.rows : problem.entries;
  // Where offsets go back and forth, entries belong to several rows, and there may be more points.
  const std::uint64_t left = cursor.emitted() < most ? most - cursor.emitted() : most;
  room = std::clamp<std::uint64_t>(left, 1, room);
  point_piece piece;
  glBindVertexArray(piece.attributes.name());
  switch (form) {
    case point_form::vertex_index:
      fill_elements(piece, problem, std::min(room, state.limits().buffer_texels), cursor);
      break;
    case point_form::packed: fill_packed(piece, room, cursor); break;
    default: fill_entries(piece, problem, room, cursor);
  }
  glBindVertexArray(0);
  require_no_error("spmv: points");
  return piece;
}

struct point_product::looked_up {
  std::optional<layered_texture> texels;
  std::optional<buffer_texture> colors;
  std::optional<buffer_object> vertices;
};

point_product::point_product(opengl_state& state, const spmv_problem& problem, point_form form, const source_array& x)
    : form_(form), program_(program_of(state, form)), x_(std::make_unique<looked_up>()) {
  program_.use();
  const std::uint64_t bytes = problem.x_count() * sizeof(float);
  switch (form) {
    case point_form::vertex_index:
      copy_to_new_buffer(GL_ARRAY_BUFFER, x_->vertices.emplace(), x, bytes);
      program_.set_unit("entries", 0);
      break;
    case point_form::color_table:
      copy_to_new_buffer(GL_TEXTURE_BUFFER, x_->colors.emplace().buffer(), x, bytes);
      program_.set_unit("colors", 0);
      x_->colors->bind(0, GL_R32F);
      break;
    default:
      x_->texels.emplace(state, "spmv: x", float_texels, problem.x_count());
      x_->texels->upload(x);
      x_->texels->bind(0, program_, "x");
  }
  require_no_error("spmv: x");
}

point_product::~point_product() = default;

void point_product::draw(const opengl_state& state, const point_piece& piece,
                         const std::vector<tile_target>& sums) const {
  if (piece.points == 0) return;
  glBindVertexArray(piece.attributes.name());
  if (form_ == point_form::vertex_index) {
    glBindBuffer(GL_ARRAY_BUFFER, x_->vertices->name());
    set_floats(0, 1, sizeof(float), 0);
    piece.entries->bind(0, GL_RG32UI);
  }
  for (const tile_target& target : sums) {
    draw_to(program_, target);
    for_each_draw(state, piece.points, [&](std::uint64_t first, std::uint64_t count) {
      if (form_ == point_form::vertex_index) {
        program_.set("first", static_cast<std::uint32_t>(first));
        glDrawElements(GL_POINTS, static_cast<GLsizei>(count), GL_UNSIGNED_INT,
                       reinterpret_cast<const void*>(first * sizeof(std::uint32_t)));
      } else {
        glDrawArrays(GL_POINTS, static_cast<GLint>(first), static_cast<GLsizei>(count));
      }
    });
  }
  // A piece that is kept does not keep x.
  if (form_ == point_form::vertex_index) {
    glBindBuffer(GL_ARRAY_BUFFER, 0);
    set_floats(0, 1, sizeof(float), 0);
  }
  glBindVertexArray(0);
  require_no_error("spmv: draws of points");
}

}  // namespace sheaf::opengl
