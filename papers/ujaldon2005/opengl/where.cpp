#include "opengl/device/errors.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/draw_points.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "papers/ujaldon2005/opengl/forms.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

constexpr std::string_view call_name = "gather_where";
constexpr core::index_wording index_wording{"gather_where", "index", "the table's", "records"};
constexpr program_files where_files{"where.vert", "", "where.frag", paper_shaders};

// A range of records is up to three rectangles of pixels: the end of a row, full rows, and the beginning of a row.
template <class Draw>
void for_each_window(const tile& tile, std::uint64_t first, std::uint64_t last, Draw draw) {
  while (first < last) {
    const std::uint64_t x = first & (tile.width() - 1);
    const std::uint64_t rows = x == 0 ? std::max<std::uint64_t>(1, (last - first) >> tile.width_bits) : 1;
    const std::uint64_t width = std::min<std::uint64_t>(tile.width() - x, last - first);
    draw(static_cast<GLint>(x), static_cast<GLint>(first >> tile.width_bits), static_cast<GLsizei>(width),
         static_cast<GLsizei>(rows));
    first += width * rows;
  }
}

void set_attribute(GLuint location, GLenum type) {
  glEnableVertexAttribArray(location);
  glVertexAttribIPointer(location, 1, type, 0, nullptr);
}

}  // namespace

void gather_where(const context& ctx, const_records table, index_span index, const write_condition& condition,
                  records out) {
  require_one_texture_each(call_name, ctx, table, index, out);
  if (!condition.each.empty() && condition.each.size() != out.count) {
    primitives::refuse("{}: {} conditions for {} records", call_name, condition.each.size(), out.count);
  }
  if (out.count == 0) return;
  opengl_state& state = state_of(ctx);
  const tile shape = only_tile(call_name, "out", state, out.count);
  const tile table_shape = table.count == 0 ? tile{0, 0, 0, 1} : only_tile(call_name, "table", state, table.count);
  const std::vector<std::uint32_t> numbers = record_numbers_of(state, index, table.count, index_wording);
  pipeline_call call(state, call_name);
  const texel_format texels = texels_for(table.record_bytes);
  const texture records_of_table = uploaded(texels, table_shape, table);
  const draw_target pixels(texels, shape, out);
  const program& gather = state.program_of(where_files);
  gather.use();
  gather.set_unit("table", 0);
  gather.set("table_count", static_cast<std::uint32_t>(table.count));
  gather.set("table_width_bits", table_shape.width_bits);
  bind_texture(0, records_of_table);

  const vertex_array attributes;
  const buffer_object number_buffer;
  const buffer_object condition_buffer;
  glBindVertexArray(attributes.name());
  fill_buffer(number_buffer, {numbers.data(), numbers.size(), sizeof(std::uint32_t)}, 0, numbers.size());
  set_attribute(0, GL_UNSIGNED_INT);
  glVertexAttribI4ui(2, 1, 0, 0, 0);  // without an array the condition holds for all
  if (!condition.each.empty()) {
    fill_buffer(condition_buffer, {condition.each.data(), condition.each.size(), 1}, 0, condition.each.size());
    set_attribute(2, GL_UNSIGNED_BYTE);
  }
  const auto writes = [&](int word) { return static_cast<GLboolean>((condition.words >> word) & 1); };
  glColorMask(writes(0), writes(1), writes(2), writes(3));
  glEnable(GL_SCISSOR_TEST);
  pixels.bind();
  set_viewport_of(gather, shape);
  const std::uint64_t first = std::min(condition.first, out.count);
  for_each_window(shape, first, first + std::min(condition.count, out.count - first),
                  [&](GLint x, GLint y, GLsizei width, GLsizei height) {
                    glScissor(x, y, width, height);
                    glDrawArrays(GL_POINTS, 0, static_cast<GLsizei>(out.count));
                  });
  glDisable(GL_SCISSOR_TEST);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glBindVertexArray(0);
  require_no_error(call_name);
  pixels.read_back(out);
  call.finish();
}

}  // namespace sheaf::opengl
