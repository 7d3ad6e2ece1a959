#include "opengl/device/kept_objects.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/point_matrix.hpp"
#include "opengl/sparse/result_pixels.hpp"

// Products by points, called or prepared: each entry is a point at the pixel of its row, and blending adds the products
// in the order of the rows. Forms differ in what looks x up (Ujaldon and Saltz 2005):
// - opengl.texture (section 4.1, "Texture lookup"): value and column are attributes, and the fragment looks x up in a
//   texture.
// - opengl.lookup (section 4.1, "Color table"): x is the color table, and the column a color index. Hardware has no
//   color table today, so a table of one row stands for it, which the end of the fragment stage looks up.
// - opengl.vertex (section 4.1, "Vertex indices"): x is an array of vertices and the columns are the array of elements,
//   so the vertex stage resolves the indirection. A geometry stage brings row and value to the vertex from a texture.
//   The paper found it the slowest scheme: 2.40 ms, against 0.65 ms by textures.
// - opengl.packed (section 5.1, "Packaging strategies"): a point has four entries of a row in two attributes of four
//   channels. The fragment adds the four products, so a quarter of the points blends. Rows whose length is not a
//   multiple of four waste room, which counts for half a point a row.
namespace sheaf::opengl {

using namespace primitives;

namespace {

// Values that every device takes in a table of one row.
constexpr std::uint64_t most_colors = 65536;

/// Of the variants by points of a form.
std::string_view name_of(point_form form) noexcept {
  switch (form) {
    case point_form::texture_lookup: return "opengl.texture";
    case point_form::color_table: return "opengl.lookup";
    case point_form::vertex_index: return "opengl.vertex";
    default: return "opengl.packed";
  }
}

/// Points of all entries, as far as a plan can know.
std::uint64_t point_count(const spmv_problem& p, point_form form) noexcept {
  // A row's last point may have room left.
  return form == point_form::packed ? (p.entries + 3) / 4 + p.rows / 2 : p.entries;
}

std::uint64_t point_bytes(const spmv_problem& p, point_form form) noexcept {
  constexpr std::uint64_t entry_bytes = 12;  // row, column, value
  constexpr std::uint64_t packed_bytes = 36;
  return point_count(p, form) * (form == point_form::packed ? packed_bytes : entry_bytes);
}

/// Why points of a form do not do this product, or null.
const char* unfit(const spmv_problem& problem, const plan::scope& scope, point_form form) noexcept {
  if (const char* const why = no_points_for(problem)) return why;
  if (form == point_form::vertex_index) return nullptr;
  if (form == point_form::color_table) {
    if (problem.x_count() > most_colors) return "the color table holds 65536 values of x";
    return problem.x_count() > limits_of(scope).buffer_texels ? "x has more values than a table of one row here"
                                                              : nullptr;
  }
  if (form == point_form::packed && problem.transposed) return "packs entries of a row, but the product is transposed";
  return fits_layers(limits_of(scope), problem.x_count()) ? nullptr : too_many_values_of_x;
}

/// What a run takes once its points are on the device.
plan::planned plan_product(const spmv_problem& problem, const plan::scope& scope, point_form form) {
  const machine& machine = scope.machine;
  if (const char* const why = unfit(problem, scope, form)) return plan::rejected(why);
  const bool by_vertices = form == point_form::vertex_index;
  plan::planned plan;
  add_vectors(plan, problem, machine);
  plan.add(by_vertices ? "vertex lookups" : "texture lookups",
           machine.random_reads(problem.entries, sizeof(float), problem.x_count() * sizeof(float)));
  if (by_vertices) plan.add("point lookups", machine.streamed(problem.entries * 8, problem.entries * 8));
  // Points that blend at rows, or columns of a transposed product.
  plan.add("blended points",
           machine.atomic_adds(point_count(problem, form), sizeof(float), problem.y_count() * sizeof(float)));
  return plan;
}

template <point_form form>
plan::planned plan_points(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_product(p, scope, form);
  if (plan.applicable()) plan.add("upload", scope.machine.uploaded(point_bytes(p, form)));
  return plan;
}

// Draws piece after piece as the matrix is read, so that the device holds one of them.
template <point_form form>
void run_points(const context& ctx, const spmv_problem& problem, const plan::planned&, const spmv_buffers& buffers,
                std::byte*) {
  entry_cursor cursor(problem, buffers.a);
  const std::uint64_t number = run_call(ctx, spmv_call, [&](opengl_state& state) {
    const std::vector<tile_target> sums = zero_targets(state, float_texels, problem.y_count());
    const point_product product(state, problem, form, buffers.x);
    begin_sums();
    while (!cursor.is_done()) product.draw(state, next_piece(state, problem, form, cursor), sums);
    end_sums();
    write_result(state, sums, {buffers.x, buffers.y, buffers.alpha, buffers.beta});
  });
  if (cursor.has_met_faults()) state_of(ctx).keep_first(find_fault(problem, buffers.a, problem.call, number));
}

/// All pieces, kept on the device.
class kept_points final : public array_product {
 public:
  kept_points(const context& ctx, const spmv_problem& p, point_form form, std::vector<point_piece> pieces)
      : problem_(p), form_(form), pieces_(ctx, std::move(pieces)) {}

  void run_arrays(const context& ctx, const product_vectors& vectors) override {
    run_call(ctx, prepared_spmv_call, [&](opengl_state& state) {
      const std::vector<tile_target> sums = zero_targets(state, float_texels, problem_.y_count());
      const point_product product(state, problem_, form_, vectors.x);
      begin_sums();
      for (const point_piece& piece : *pieces_) product.draw(state, piece, sums);
      end_sums();
      write_result(state, sums, vectors);
    });
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

template <point_form form>
plan::planned plan_kept_points(const prepare_spmv_problem& p, const plan::scope& scope) {
  return prepared_plan<prepare_spmv_decision>(p, scope, point_bytes(p.product, form),
                                              plan_product(p.product, scope, form), name_of(form));
}

template <point_form form>
void keep_points(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                 const prepare_spmv_buffers& buffers, std::byte*) {
  const spmv_problem& product = problem.product;
  entry_cursor cursor(product, buffers.a);
  std::shared_ptr<kept_points> made;
  const std::uint64_t number = run_call(ctx, prepare_spmv_call, [&](opengl_state& state) {
    program_of(state, form);  // so that the first run need not wait for the driver's linker
    result_program(state);
    std::vector<point_piece> pieces;
    while (!cursor.is_done() && !cursor.has_met_faults()) pieces.push_back(next_piece(state, product, form, cursor));
    if (!cursor.has_met_faults()) made = std::make_shared<kept_points>(ctx, product, form, std::move(pieces));
  });
  if (made == nullptr) return state_of(ctx).keep_first(find_fault(product, buffers.a, csr_call::prepare_spmv, number));
  *buffers.made = std::move(made);
}

}  // namespace

extern constinit const spmv_variant spmv_texture{"opengl.texture", backend_kind::opengl,
                                                 plan_points<point_form::texture_lookup>,
                                                 run_points<point_form::texture_lookup>};
extern constinit const prepare_spmv_variant prepare_spmv_texture{"opengl.texture", backend_kind::opengl,
                                                                 plan_kept_points<point_form::texture_lookup>,
                                                                 keep_points<point_form::texture_lookup>};
extern constinit const spmv_variant spmv_lookup{
    "opengl.lookup", backend_kind::opengl, plan_points<point_form::color_table>, run_points<point_form::color_table>};
extern constinit const prepare_spmv_variant prepare_spmv_lookup{"opengl.lookup", backend_kind::opengl,
                                                                plan_kept_points<point_form::color_table>,
                                                                keep_points<point_form::color_table>};
extern constinit const spmv_variant spmv_vertex{
    "opengl.vertex", backend_kind::opengl, plan_points<point_form::vertex_index>, run_points<point_form::vertex_index>};
extern constinit const prepare_spmv_variant prepare_spmv_vertex{"opengl.vertex", backend_kind::opengl,
                                                                plan_kept_points<point_form::vertex_index>,
                                                                keep_points<point_form::vertex_index>};
extern constinit const spmv_variant spmv_packed{"opengl.packed", backend_kind::opengl, plan_points<point_form::packed>,
                                                run_points<point_form::packed>};
extern constinit const prepare_spmv_variant prepare_spmv_packed{
    "opengl.packed", backend_kind::opengl, plan_kept_points<point_form::packed>, keep_points<point_form::packed>};

}  // namespace sheaf::opengl
