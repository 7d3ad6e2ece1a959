#include "opengl/device/kept_objects.hpp"
#include "opengl/device/record_numbers.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "opengl/sparse/cost.hpp"
#include "opengl/sparse/result_pixels.hpp"
#include "opengl/sparse/row_matrix.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::opengl {

using namespace primitives;

namespace {

constexpr std::string_view name = "opengl.fragments";

std::uint64_t texture_bytes(const spmv_problem& p) noexcept { return 8 * (p.rows + p.entries); }

// A fragment is a row, and loops over its entries in textures. Nothing blends but what rows have beyond the length of a
// loop, at the price of fragments of long rows, which their neighbours wait for. Ujaldon and Saltz have no loops in
// shaders; Bolz et al. (2003) multiply so.
plan::planned plan_product_of_fragments(const spmv_problem& problem, const plan::scope& scope) {
  if (const char* const why = unsummable(problem)) return plan::rejected(why);
  if (problem.transposed) return plan::rejected("a fragment is a row, but the product is transposed");
  if (problem.entries > most_record_numbers) return plan::rejected("shaders count entries in 32 bits");
  const size_limits limits = limits_of(scope);
  if (!fits_layers(limits, problem.x_count())) return plan::rejected(too_many_values_of_x);
  if (!fits_layers(limits, std::max(problem.rows, problem.entries)))
    return plan::rejected("the matrix takes more layers than a texture has here");
  const machine& m = scope.machine;
  plan::planned plan;
  add_vectors(plan, problem, m);
  plan.add("entries", m.streamed(texture_bytes(problem), texture_bytes(problem)));
  plan.add("texture lookups", m.random_reads(problem.entries, sizeof(float), problem.x_count() * sizeof(float)));
  return plan;
}

plan::planned plan_fragments(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_product_of_fragments(p, scope);
  if (!plan.applicable()) return plan;
  plan.scratch_bytes = row_matrix::scratch_bytes(p);
  plan.add("upload", scope.machine.uploaded(texture_bytes(p)));
  return plan;
}

void multiply(opengl_state& state, const spmv_problem& p, const row_matrix& matrix, const product_vectors& v) {
  const std::vector<tile_target> sums = targets_of(state, float_texels, p.y_count());
  matrix.draw(state, p, v.x, sums);
  write_result(state, sums, v);
}

void run_fragments(const context& ctx, const spmv_problem& problem, const plan::planned&, const spmv_buffers& buffers,
                   std::byte* scratch) {
  bool has_faults = false;
  const std::uint64_t number = run_call(ctx, spmv_call, [&](opengl_state& state) {
    const row_matrix matrix(state, problem, buffers.a, scratch);
    has_faults = matrix.has_faults();
    multiply(state, problem, matrix, {buffers.x, buffers.y, buffers.alpha, buffers.beta});
  });
  if (has_faults) state_of(ctx).keep_first(find_fault(problem, buffers.a, problem.call, number));
}

class kept_rows final : public array_product {
 public:
  kept_rows(const context& ctx, const spmv_problem& p, row_matrix matrix)
      : problem_(p), matrix_(ctx, std::move(matrix)) {}

  void run_arrays(const context& ctx, const product_vectors& v) override {
    run_call(ctx, prepared_spmv_call, [&](opengl_state& state) { multiply(state, problem_, *matrix_, v); });
  }
  std::uint64_t kept_bytes() const override { return matrix_->bytes(); }

 private:
  spmv_problem problem_;
  kept_objects<row_matrix> matrix_;
};

plan::planned plan_kept_fragments(const prepare_spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = prepared_plan<prepare_spmv_decision>(p, scope, texture_bytes(p.product),
                                                            plan_product_of_fragments(p.product, scope), name);
  if (plan.applicable()) plan.scratch_bytes = row_matrix::scratch_bytes(p.product);
  return plan;
}

void keep_fragments(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const spmv_problem& product = problem.product;
  std::shared_ptr<kept_rows> made;
  const std::uint64_t number = run_call(ctx, prepare_spmv_call, [&](opengl_state& state) {
    row_program(state);  // so that the first run need not wait for the driver's linker
    result_program(state);
    row_matrix matrix(state, product, buffers.a, scratch);
    if (!matrix.has_faults()) made = std::make_shared<kept_rows>(ctx, product, std::move(matrix));
  });
  if (made == nullptr) return state_of(ctx).keep_first(find_fault(product, buffers.a, csr_call::prepare_spmv, number));
  *buffers.made = std::move(made);
}

}  // namespace

extern constinit const spmv_variant spmv_fragments{"opengl.fragments", backend_kind::opengl, plan_fragments,
                                                   run_fragments};
extern constinit const prepare_spmv_variant prepare_spmv_fragments{"opengl.fragments", backend_kind::opengl,
                                                                   plan_kept_fragments, keep_fragments};

}  // namespace sheaf::opengl
