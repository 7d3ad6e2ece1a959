#include "opengl/device/errors.hpp"
#include "opengl/device/transfer.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "papers/ujaldon2005/opengl/forms.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

constexpr std::string_view call_name = "gather_from_dimensions";
constexpr core::index_wording index_wording{"gather_from_dimensions", "index", "the table's", "records"};
constexpr program_files lookup_files{"pixels.vert", "", "dimensions.frag", paper_shaders};

/// The sides of a texture; all but the last are 2^bits.
struct texture_box {
  std::uint32_t bits;
  std::uint64_t last;  ///< texels of the last side
};

// Sides of equal length, as nearly as powers of two can be.
texture_box box_of(std::uint64_t count, int dimensions) {
  const auto bits = static_cast<std::uint32_t>(std::bit_width(count == 0 ? 0 : count - 1));
  const std::uint32_t side =
      dimensions == 1 ? 0
                      : (bits + static_cast<std::uint32_t>(dimensions) - 1) / static_cast<std::uint32_t>(dimensions);
  const std::uint32_t before_last = side * static_cast<std::uint32_t>(dimensions - 1);
  return {side, std::max<std::uint64_t>(1, (count + (std::uint64_t{1} << before_last) - 1) >> before_last)};
}

GLenum target_of(int dimensions) {
  return dimensions == 1 ? GL_TEXTURE_1D : dimensions == 2 ? GL_TEXTURE_2D : GL_TEXTURE_3D;
}

void require_box(const opengl_state& state, const texture_box& box, int dimensions, std::uint64_t count) {
  const std::uint64_t longest = dimensions == 3 ? state.limits().volume_edge : state.limits().texture_edge;
  const std::uint64_t side = std::max(box.last, std::uint64_t{1} << box.bits);
  if (side <= longest) return;
  primitives::refuse(
      "{}: a table of {} records takes a texture of {} texels a side in {} dimensions, but the device has {}",
      call_name, count, side, dimensions, longest);
}

// Records side by side, one to a texel, up to the last side's whole length.
std::vector<std::byte> texels_of(const_records table, const texture_box& box, int dimensions, std::uint64_t bytes) {
  const std::uint64_t texels = box.last << (box.bits * static_cast<std::uint32_t>(dimensions - 1));
  std::vector<std::byte> packed(texels * bytes);
  for (std::uint64_t i = 0; i < table.count; ++i) {
    std::copy_n(table.data + i * table.stride_bytes, table.record_bytes,
                packed.begin() + static_cast<std::ptrdiff_t>(i * bytes));
  }
  return packed;
}

texture upload(const_records table, const texture_box& box, int dimensions) {
  const texel_format texels = texels_for(table.record_bytes);
  const std::vector<std::byte> packed = texels_of(table, box, dimensions, texels.bytes);
  const auto side = static_cast<GLsizei>(1U << box.bits);
  const auto last = static_cast<GLsizei>(box.last);
  const GLenum target = target_of(dimensions);
  texture made;
  glBindTexture(target, made.name());
  for (const GLenum filter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER}) {
    glTexParameteri(target, filter, GL_NEAREST);
  }
  glTexParameteri(target, GL_TEXTURE_MAX_LEVEL, 0);
  if (dimensions == 1) {
    glTexImage1D(target, 0, texels.internal, last, 0, texels.format, texels.type, packed.data());
  } else if (dimensions == 2) {
    glTexImage2D(target, 0, texels.internal, side, last, 0, texels.format, texels.type, packed.data());
  } else {
    glTexImage3D(target, 0, texels.internal, side, side, last, 0, texels.format, texels.type, packed.data());
  }
  require_no_error(fmt::format("glTexImage{}D of {} records", dimensions, table.count));
  return made;
}

}  // namespace

void gather_from_dimensions(const context& ctx, const_records table, index_span index, int dimensions, records out) {
  require_one_texture_each(call_name, ctx, table, index, out);
  if (dimensions < 1 || dimensions > 3) primitives::refuse("{}: {} dimensions, not 1 to 3", call_name, dimensions);
  if (out.count == 0) return;
  opengl_state& state = state_of(ctx);
  const tile shape = only_tile(call_name, "out", state, out.count);
  const std::vector<std::uint32_t> numbers = record_numbers_of(state, index, table.count, index_wording);
  pipeline_call call(state, call_name);
  const texture_box box = box_of(table.count, dimensions);
  require_box(state, box, dimensions, table.count);
  const texture list = uploaded(texel_format{}, shape, {numbers.data(), numbers.size(), sizeof(std::uint32_t)});
  const texture records_of_table = upload(table, box, dimensions);
  const program& lookup = state.program_of(lookup_files);
  lookup.use();
  constexpr const char* samplers[] = {"list", "table1", "table2", "table3"};
  for (std::int32_t unit = 0; unit < 4; ++unit) lookup.set_unit(samplers[unit], unit);
  lookup.set("dimensions", static_cast<std::uint32_t>(dimensions));
  lookup.set("table_count", static_cast<std::uint32_t>(table.count));
  lookup.set("bits", box.bits);
  bind_texture(0, list);
  glActiveTexture(GL_TEXTURE0 + static_cast<GLenum>(dimensions));
  glBindTexture(target_of(dimensions), records_of_table.name());
  const draw_target pixels(texels_for(table.record_bytes), shape);
  pixels.clear();
  draw_all_pixels();
  require_no_error(call_name);
  pixels.read_back(out);
  call.finish();
}

}  // namespace sheaf::opengl
