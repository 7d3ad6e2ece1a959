#include "papers/ujaldon2005/opengl/reduction.hpp"

#include <bit>
#include <limits>
#include <variant>

#include "opengl/device/errors.hpp"
#include "opengl/device/kept_objects.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "primitives/views.hpp"

namespace sheaf::opengl {
namespace {

constexpr std::string_view call_name = "kept_reduction";
constexpr program_files point_files{"values.vert", "", "value.frag"};
constexpr program_files pass_files{"pixels.vert", "", "reduce.frag", paper_shaders};

float identity_of(reduction op) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  return op == reduction::min ? infinity : op == reduction::max ? -infinity : 0;
}

void require_slots(std::span<const float> values, std::span<const std::uint64_t> offsets, reduction op) {
  if (op == reduction::subtract) primitives::refuse("{}: the operation is subtract, not add, min or max", call_name);
  if (offsets.empty()) primitives::refuse("{}: there are no offsets, not even one", call_name);
  if (offsets.front() != 0) primitives::refuse("{}: the first offset is {}, not 0", call_name, offsets.front());
  for (std::size_t s = 1; s < offsets.size(); ++s) {
    if (offsets[s] >= offsets[s - 1]) continue;
    primitives::refuse("{}: offset {} is {}, below the {} before it", call_name, s, offsets[s], offsets[s - 1]);
  }
  if (offsets.back() == values.size()) return;
  primitives::refuse("{}: the last offset is {}, but there are {} values", call_name, offsets.back(), values.size());
}

/// Values as points, whose pixels are their slots.
class point_reduction {
 public:
  point_reduction(const opengl_state& state, std::span<const float> values, std::span<const std::uint64_t> offsets,
                  reduction op)
      : op_(op), slots_(targets_of(state, float_texels, offsets.size() - 1)) {
    std::vector<std::uint32_t> numbers;
    numbers.reserve(values.size());
    for (std::size_t s = 1; s < offsets.size(); ++s) numbers.resize(offsets[s], static_cast<std::uint32_t>(s - 1));
    pieces_ = pieces_of(state, numbers);
    for (const number_piece& piece : pieces_) {
      glBindVertexArray(piece.attributes.name());
      glBindBuffer(GL_ARRAY_BUFFER, piece.numbers.name());
      glEnableVertexAttribArray(0);
      glVertexAttribIPointer(0, 1, GL_UNSIGNED_INT, 0, nullptr);
      fill_buffer(values_.emplace_back(), {values.data(), values.size(), sizeof(float)}, piece.first, piece.count);
      glEnableVertexAttribArray(1);
      glVertexAttribPointer(1, 1, GL_FLOAT, GL_FALSE, 0, nullptr);
      glBindVertexArray(0);
    }
  }

  std::uint64_t passes() const noexcept { return 1; }
  void draw(opengl_state& state) const {
    const GLfloat identity[4] = {identity_of(op_), 0, 0, 0};
    for (const tile_target& target : slots_) {
      target.pixels.bind();
      glClearBufferfv(GL_COLOR, 0, identity);
    }
    const program& points = state.program_of(point_files);
    points.use();
    begin_sums();
    glBlendEquation(op_ == reduction::min ? GL_MIN : op_ == reduction::max ? GL_MAX : GL_FUNC_ADD);
    for (const number_piece& piece : pieces_) {
      glBindVertexArray(piece.attributes.name());
      for (const tile_target& target : slots_) {
        draw_to(points, target);
        for_each_draw(state, piece.count, [](std::uint64_t first, std::uint64_t count) {
          glDrawArrays(GL_POINTS, static_cast<GLint>(first), static_cast<GLsizei>(count));
        });
      }
    }
    glBindVertexArray(0);
    end_sums();
  }
  void read_back(records slots) const {
    for (const tile_target& target : slots_) target.pixels.read_back(slots);
  }

 private:
  reduction op_;
  std::vector<tile_target> slots_;
  std::vector<number_piece> pieces_;
  std::vector<buffer_object> values_;  ///< of the pieces
};

/// Slots one after the other in a texture, each with as much room: a power of two. A pass leaves a quarter of it, or
/// the half where two values are left.
class pass_reduction {
 public:
  pass_reduction(const opengl_state& state, std::span<const float> values, std::span<const std::uint64_t> offsets,
                 reduction op)
      : op_(op), slots_(offsets.size() - 1) {
    std::uint64_t longest = 1;
    for (std::size_t s = 0; s < slots_; ++s) longest = std::max(longest, offsets[s + 1] - offsets[s]);
    std::uint64_t room = std::bit_ceil(longest);
    if (room > std::numeric_limits<std::uint32_t>::max() / slots_) {
      primitives::refuse("{}: {} slots with room for {} values, more than a texture holds", call_name, slots_, room);
    }
    std::vector<float> padded(slots_ * room, identity_of(op));
    for (std::size_t s = 0; s < slots_; ++s) {
      const auto slot = values.subspan(offsets[s], offsets[s + 1] - offsets[s]);
      std::ranges::copy(slot, padded.begin() + static_cast<std::ptrdiff_t>(s * room));
    }
    const tile all = only_tile(call_name, "the texture of slots", state, padded.size());
    levels_.push_back({all, draw_target(float_texels, all, source_array(padded.data()))});
    while (room > 1) {
      room /= room == 2 ? 2 : 4;
      const tile t = only_tile(call_name, "a pass", state, slots_ * room);
      levels_.push_back({t, draw_target(float_texels, t)});
    }
  }

  std::uint64_t passes() const noexcept { return levels_.size() - 1; }
  void draw(opengl_state& state) const {
    const program& pass = state.program_of(pass_files);
    pass.use();
    pass.set_unit("values", 0);
    pass.set("combine", op_ == reduction::add ? 0U : op_ == reduction::min ? 1U : 2U);
    for (std::size_t level = 1; level < levels_.size(); ++level) {
      const tile_target& from = levels_[level - 1];
      const tile_target& to = levels_[level];
      to.pixels.bind();
      bind_texture(0, from.pixels.color());
      pass.set("values_width_bits", from.where.width_bits);
      pass.set("width_bits", to.where.width_bits);
      pass.set("count", static_cast<std::uint32_t>(to.where.count));
      pass.set("fan_in", static_cast<std::uint32_t>(from.where.count / to.where.count));
      draw_all_pixels();
    }
  }
  void read_back(records slots) const { levels_.back().pixels.read_back(slots); }

 private:
  reduction op_;
  std::uint64_t slots_;
  std::vector<tile_target> levels_;  ///< the values, and what each pass makes
};

using any_reduction = std::variant<point_reduction, pass_reduction>;

any_reduction made(const opengl_state& state, std::span<const float> values, std::span<const std::uint64_t> offsets,
                   reduction op, reduction_form form) {
  if (form == reduction_form::one_pass) return point_reduction(state, values, offsets, op);
  return pass_reduction(state, values, offsets, op);
}

}  // namespace

struct kept_reduction::kept {
  kept(const context& on, std::uint64_t count, any_reduction made) : ctx(on), slots(count), form(on, std::move(made)) {}

  context ctx;
  std::uint64_t slots;
  kept_objects<any_reduction> form;
};

kept_reduction::kept_reduction(const context& ctx, std::span<const float> values,
                               std::span<const std::uint64_t> offsets, reduction op, reduction_form form) {
  require_float_pipeline(call_name, ctx, value_type::f32);
  require_slots(values, offsets, op);
  const std::uint64_t slots = offsets.size() - 1;
  if (slots > std::numeric_limits<std::uint32_t>::max()) {
    primitives::refuse("{}: {} slots, more than 32 bits number", call_name, slots);
  }
  if (slots == 0) return;
  opengl_state& state = state_of(ctx);
  pipeline_call call(state, call_name);
  kept_ = std::make_unique<kept>(ctx, slots, made(state, values, offsets, op, form));
  require_no_error(call_name);
  call.finish();
}

kept_reduction::~kept_reduction() = default;

std::uint64_t kept_reduction::passes() const {
  return kept_ ? std::visit([](const auto& form) { return form.passes(); }, *kept_->form) : 0;
}

void kept_reduction::draw() const {
  if (!kept_) return;
  opengl_state& state = state_of(kept_->ctx);
  pipeline_call call(state, call_name);
  std::visit([&](const auto& form) { form.draw(state); }, *kept_->form);
  glFinish();
  require_no_error(call_name);
  call.finish();
}

void kept_reduction::read_back(std::span<float> slots) const {
  const std::uint64_t count = kept_ ? kept_->slots : 0;
  if (slots.size() != count) primitives::refuse("{}: room for {} slots, not {}", call_name, slots.size(), count);
  if (!kept_) return;
  pipeline_call call(state_of(kept_->ctx), call_name);
  const records out(slots.data(), count, sizeof(float));
  std::visit([&](const auto& form) { form.read_back(out); }, *kept_->form);
  call.finish();
}

}  // namespace sheaf::opengl
