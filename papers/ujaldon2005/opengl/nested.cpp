#include <limits>

#include "opengl/device/errors.hpp"
#include "opengl/device/kept_objects.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/draw_vertices.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "papers/ujaldon2005/opengl/forms.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

constexpr std::string_view call_name = "gather_nested";
constexpr program_files from_pixels{"nested_pixels.vert", "", "nested.frag", paper_shaders};
constexpr program_files from_vertices{"gather_vertex.vert", "gather_vertex.geom", "nested.frag", paper_shaders};
constexpr std::uint64_t color_bytes = 16;

// "gather_nested: entry 7 of list 0 is 99, past list 1's 3 entries"
std::string bad_entry(const core::index_wording& wording, const core::index_report& report) {
  const auto value = static_cast<std::int64_t>(report.value);
  return fmt::format("{}: entry {} of {} is {}, {} {} {} {}", wording.call, report.position, wording.list,
                     report.is_signed != 0 ? fmt::to_string(value) : fmt::to_string(report.value),
                     report.is_signed != 0 && value < 0 ? "outside" : "past", wording.whose, report.limit,
                     wording.named);
}

// A list names entries of the next one, the last list records of the table.
constexpr core::index_wording wording_of_lists[most_indirections - 1] = {
    {"gather_nested", "list 0", "list 1's", "entries", bad_entry},
    {"gather_nested", "list 1", "list 2's", "entries", bad_entry},
    {"gather_nested", "list 2", "list 3's", "entries", bad_entry}};
constexpr core::index_wording wording_of_last_list[most_indirections] = {
    {"gather_nested", "list 0", "the table's", "records", bad_entry},
    {"gather_nested", "list 1", "the table's", "records", bad_entry},
    {"gather_nested", "list 2", "the table's", "records", bad_entry},
    {"gather_nested", "list 3", "the table's", "records", bad_entry}};

void require_schemes(const_records table, std::span<const index_span> lists, std::span<const lookup_scheme> schemes) {
  const auto refuse = [](const std::string& why) { primitives::refuse("{}: {}", call_name, why); };
  if (lists.empty() || lists.size() > most_indirections) {
    refuse(fmt::format("{} lists, not 1 to {}", lists.size(), most_indirections));
  }
  if (lists.size() != schemes.size()) refuse(fmt::format("{} lists and {} schemes", lists.size(), schemes.size()));
  for (std::size_t k = 0; k < schemes.size(); ++k) {
    if (schemes[k] == lookup_scheme::vertices && k != 0) refuse("vertices resolve the first indirection only");
    if (schemes[k] != lookup_scheme::colors) continue;
    if (k + 1 != schemes.size()) refuse("the color table resolves the last indirection only");
    if (table.count > most_colors) {
      refuse(fmt::format("the color table holds {} records, but the table has {}", most_colors, table.count));
    }
  }
}

/// What require_one_texture_each() says of the first list holds for list k, which may be of any length.
void require_list(const context& ctx, index_span list, std::size_t k, const_records out) {
  const std::string what = fmt::format("list {}", k);
  primitives::require_index_type(call_name, list.type, what);
  if (list.count > std::numeric_limits<std::uint64_t>::max() / 16) {
    primitives::refuse("{}: {} has {} entries, more than memory can hold", call_name, what, list.count);
  }
  const std::uint64_t list_bytes = list.count * bytes(list.type);
  primitives::require_aligned(call_name, list.data, bytes(list.type), what);
  primitives::require_memory(call_name, ctx, list.data, list_bytes, what);
  primitives::require_no_overlap(call_name, out.data, primitives::extent(out), "out", list.data, list_bytes, what);
}

/// The table as constants of the fragment stage.
class color_table {
 public:
  explicit color_table(const_records table) {
    std::vector<std::byte> colors(most_colors * color_bytes);
    for (std::uint64_t i = 0; i < table.count; ++i) {
      std::copy_n(table.data + i * table.stride_bytes, table.record_bytes,
                  colors.begin() + static_cast<std::ptrdiff_t>(i * color_bytes));
    }
    glBindBuffer(GL_UNIFORM_BUFFER, constants_.name());
    glBufferData(GL_UNIFORM_BUFFER, static_cast<GLsizeiptr>(colors.size()), colors.data(), GL_STREAM_DRAW);
    require_no_error("glBufferData of the color table");
  }
  void bind() const {
    glBindBufferBase(GL_UNIFORM_BUFFER, 0, constants_.name());
    require_no_error("glBindBufferBase of the color table");
  }

 private:
  buffer_object constants_;
};

/// Lists and table on the device, and the pixels to which they are followed.
class nested_pixels {
 public:
  /// @param numbers  what each list names: the next list's records, or the table's
  nested_pixels(opengl_state& state, const_records table, const std::vector<std::vector<std::uint32_t>>& numbers,
                std::span<const lookup_scheme> schemes, const tile& shape)
      : by_vertices_(schemes.front() == lookup_scheme::vertices),
        by_colors_(schemes.back() == lookup_scheme::colors),
        lists_(numbers.size()),
        table_count_(table.count),
        shape_(shape),
        follow_(state.program_of(by_vertices_ ? from_vertices : from_pixels)),
        colors_(by_colors_ ? table : const_records(nullptr, 0, table.record_bytes)),
        pixels_(texels_for(table.record_bytes), shape) {
    for (std::size_t k = 0; k < lists_; ++k) {
      if (by_vertices_ && k < 2) continue;  // the element array, and the vertices
      upload(state, k, texel_format{}, list_records(numbers[k]), fmt::format("list {}", k));
    }
    if (!by_colors_ && (!by_vertices_ || lists_ > 1)) {
      upload(state, table_unit, texels_for(table.record_bytes), table, "table");
    }
    if (by_vertices_) {
      const const_records vertices = lists_ == 1 ? table : list_records(numbers[1]);
      vertices_.emplace(state, shape, numbers[0].data(), vertices);
    }
  }

  /// Draws all pixels.
  void draw(const opengl_state& state) const {
    follow_.use();
    follow_.set("lists", static_cast<std::uint32_t>(lists_));
    follow_.set("first_is_done", by_vertices_ ? 1U : 0U);
    follow_.set("table_is_colors", by_colors_ ? 1U : 0U);
    follow_.set("table_count", static_cast<std::uint32_t>(table_count_));
    for (const looked_up& array : arrays_) {
      bind_texture(static_cast<std::uint32_t>(array.unit), array.texels);
      follow_.set(counts[array.unit], static_cast<std::uint32_t>(array.count));
      follow_.set(widths[array.unit], array.width_bits);
    }
    for (std::size_t unit = 0; unit < std::size(samplers); ++unit) {
      follow_.set_unit(samplers[unit], static_cast<std::int32_t>(unit));
    }
    colors_.bind();
    pixels_.bind();
    pixels_.clear();
    if (vertices_) {
      vertices_->draw(state, follow_, shape_);
    } else {
      draw_all_pixels();
    }
    require_no_error(call_name);
  }
  void read_back(records out) const { pixels_.read_back(out); }

 private:
  static constexpr const char* samplers[] = {"list0", "list1", "list2", "list3", "table"};
  static constexpr const char* counts[] = {"", "count1", "count2", "count3", "table_count"};
  static constexpr const char* widths[] = {"", "width_bits1", "width_bits2", "width_bits3", "table_width_bits"};
  static constexpr std::size_t table_unit = 4;

  /// A list or the table in a texture.
  struct looked_up {
    std::size_t unit;
    std::uint64_t count;
    std::uint32_t width_bits;
    texture texels;
  };

  static const_records list_records(const std::vector<std::uint32_t>& numbers) {
    return {numbers.data(), numbers.size(), sizeof(std::uint32_t)};
  }

  void upload(const opengl_state& state, std::size_t unit, const texel_format& texels, const_records array,
              std::string_view what) {
    const tile t = array.count == 0 ? tile{0, 0, 0, 1} : only_tile(call_name, what, state, array.count);
    arrays_.push_back({unit, array.count, t.width_bits, uploaded(texels, t, array)});
  }

  bool by_vertices_;
  bool by_colors_;
  std::size_t lists_;
  std::uint64_t table_count_;
  tile shape_;
  const program& follow_;
  color_table colors_;
  draw_target pixels_;
  std::vector<looked_up> arrays_;
  std::optional<kept_vertices> vertices_;
};

/// Checks the call and its lists, and says what each list names: the next list's records, or the table's.
std::vector<std::vector<std::uint32_t>> checked_numbers(const context& ctx, const_records table,
                                                        std::span<const index_span> lists,
                                                        std::span<const lookup_scheme> schemes, records out) {
  require_schemes(table, lists, schemes);
  require_one_texture_each(call_name, ctx, table, lists.front(), out);
  for (std::size_t k = 1; k < lists.size(); ++k) require_list(ctx, lists[k], k, out);
  if (out.count == 0) return {};
  opengl_state& state = state_of(ctx);
  only_tile(call_name, "out", state, out.count);
  std::vector<std::vector<std::uint32_t>> numbers;
  for (std::size_t k = 0; k < lists.size(); ++k) {
    const bool is_last = k + 1 == lists.size();
    numbers.push_back(record_numbers_of(state, lists[k], is_last ? table.count : lists[k + 1].count,
                                        is_last ? wording_of_last_list[k] : wording_of_lists[k]));
  }
  return numbers;
}

}  // namespace

void gather_nested(const context& ctx, const_records table, std::span<const index_span> lists,
                   std::span<const lookup_scheme> schemes, records out) {
  const auto numbers = checked_numbers(ctx, table, lists, schemes, out);
  if (out.count == 0) return;
  opengl_state& state = state_of(ctx);
  pipeline_call call(state, call_name);
  const nested_pixels pixels(state, table, numbers, schemes, only_tile(call_name, "out", state, out.count));
  pixels.draw(state);
  pixels.read_back(out);
  call.finish();
}

struct kept_gather_nested::kept {
  kept(const context& on, records to, nested_pixels made) : ctx(on), out(to), pixels(on, std::move(made)) {}

  context ctx;
  records out;
  kept_objects<nested_pixels> pixels;
};

kept_gather_nested::kept_gather_nested(const context& ctx, const_records table, std::span<const index_span> lists,
                                       std::span<const lookup_scheme> schemes, records out) {
  const auto numbers = checked_numbers(ctx, table, lists, schemes, out);
  if (out.count == 0) return;
  opengl_state& state = state_of(ctx);
  pipeline_call call(state, call_name);
  nested_pixels pixels(state, table, numbers, schemes, only_tile(call_name, "out", state, out.count));
  kept_ = std::make_unique<kept>(ctx, out, std::move(pixels));
  call.finish();
}

kept_gather_nested::~kept_gather_nested() = default;

void kept_gather_nested::draw() const {
  if (!kept_) return;
  opengl_state& state = state_of(kept_->ctx);
  pipeline_call call(state, call_name);
  kept_->pixels->draw(state);
  glFinish();
  call.finish();
}

void kept_gather_nested::read_back() const {
  if (!kept_) return;
  pipeline_call call(state_of(kept_->ctx), call_name);
  kept_->pixels->read_back(kept_->out);
  call.finish();
}

}  // namespace sheaf::opengl
