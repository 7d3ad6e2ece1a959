#include "opengl/sparse/points.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "opengl/device/kept_objects.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "opengl/sparse/result_pixels.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_buffers;
using primitives::spmv_problem;

class kept_points final : public array_product {
 public:
  kept_points(const context& ctx, const spmv_problem& p, point_form form, std::vector<point_piece> pieces)
      : problem_(p), form_(form), pieces_(ctx, std::move(pieces)) {}

  void run_arrays(const context& ctx, const product_vectors& v) override {
    opengl_state& state = state_of(ctx);
    state.begin_call();
    pipeline_call call(state, primitives::prepared_spmv_call);
    const std::vector<tile_target> sums = zero_targets(state, float_texels, problem_.y_count());
    const point_product product(state, problem_, form_, v.x);
    begin_sums();
    for (const point_piece& piece : *pieces_) product.draw(state, piece, sums);
    end_sums();
    write_result(state, sums, v);
    call.finish();
  }
  std::uint64_t kept_bytes() const override {
    std::uint64_t sum = 0;
    for (const point_piece& piece : *pieces_) sum += piece.bytes;
    return sum;
  }

 private:
  spmv_problem problem_;
  point_form form_;
  kept_objects<std::vector<point_piece>> pieces_;
};

}  // namespace

std::uint64_t point_count(const spmv_problem& p, point_form form) noexcept {
  // A row's last point may have room left.
  return form == point_form::packed ? (p.entries + 3) / 4 + p.rows / 2 : p.entries;
}

std::uint64_t point_bytes(const spmv_problem& p, point_form form) noexcept {
  constexpr std::uint64_t entry_bytes = 12;  // row, column, value
  constexpr std::uint64_t packed_bytes = 36;
  return point_count(p, form) * (form == point_form::packed ? packed_bytes : entry_bytes);
}

void run_points(const context& ctx, const spmv_problem& p, const spmv_buffers& b, point_form form) {
  opengl_state& state = state_of(ctx);
  const std::uint64_t number = state.begin_call();
  entry_cursor cursor(p, b.a);
  {
    pipeline_call call(state, "spmv");
    const std::vector<tile_target> sums = zero_targets(state, float_texels, p.y_count());
    const point_product product(state, p, form, b.x);
    begin_sums();
    while (!cursor.is_done()) product.draw(state, next_piece(state, p, form, cursor), sums);
    end_sums();
    write_result(state, sums, {b.x, b.y, b.alpha, b.beta});
    call.finish();
  }
  if (cursor.has_met_faults()) state.keep_first(primitives::find_fault(p, b.a, primitives::csr_call::spmv, number));
}

void prepare_points(const context& ctx, const primitives::prepare_spmv_problem& problem,
                    const primitives::prepare_spmv_buffers& b, point_form form) {
  opengl_state& state = state_of(ctx);
  const spmv_problem& p = problem.product;
  const std::uint64_t number = state.begin_call();
  entry_cursor cursor(p, b.a);
  std::shared_ptr<kept_points> made;
  {
    pipeline_call call(state, "prepare_spmv");
    program_of(state, form);  // so that the first run need not wait for the driver's linker
    result_program(state);
    std::vector<point_piece> pieces;
    while (!cursor.is_done() && !cursor.has_met_faults()) pieces.push_back(next_piece(state, p, form, cursor));
    if (!cursor.has_met_faults()) made = std::make_shared<kept_points>(ctx, p, form, std::move(pieces));
    call.finish();
  }
  if (made == nullptr)
    return state.keep_first(primitives::find_fault(p, b.a, primitives::csr_call::prepare_spmv, number));
  *b.made = std::move(made);
}

}  // namespace sheaf::opengl
