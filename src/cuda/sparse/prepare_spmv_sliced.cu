#include <memory>

#include <sheaf/memory.hpp>

#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/by_rows.hpp"
#include "cuda/sparse/sliced_build.cuh"
#include "cuda/sparse/sliced_run.cuh"
#include "cuda/sparse/sums/row_facts.cuh"
#include "primitives/sparse/prepare_spmv.hpp"

// The preparation cuda.sliced: entries grouped so that a block reads x from shared memory, slice by slice, with the
// sums of its rows beside it. A product streams 10 bytes an entry of f64, and reads x from L2 once for each
// multiprocessor, where a product by rows reads a sector of 32 bytes for each entry. For long rows whose columns lie
// anywhere.
namespace sheaf::cuda {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::prepared_memory;
using primitives::spmv_problem;

constexpr const char* sliced_name = "cuda.sliced";

/// A matrix that was sliced, with a copy of its values.
class sliced_matrix final : public primitives::prepared_product {
 public:
  sliced_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const sliced_shape& shape)
      : problem_(p), a_(a), shape_(shape) {
    core::scratch_offsets place;
    layout_ = sliced_layout(p, shape, place);
    memory_ = prepared_memory(ctx, "entries by slice", place.bytes());
  }

  void run(const context& ctx, const const_values x, values y, double alpha, double beta) override {
    const run_scope scope(ctx, sliced_name);
    spmv_problem p = problem_;
    p.reads_y = beta != 0;
    const primitives::spmv_buffers b{a_, x.data, y.data, alpha, beta};
    if (p.value == value_type::f64) {
      multiply_sliced(ctx, p, arrays<double>(), shape_, b);
    } else {
      multiply_sliced(ctx, p, arrays<float>(), shape_, b);
    }
  }
  std::uint64_t kept_bytes() const override { return memory_.size(); }
  std::string_view product() const override { return sliced_name; }

  template <class Value>
  sliced_arrays<Value> arrays() const {
    return arrays_of_slices<Value>(layout_, memory_.as<std::byte>());
  }

 private:
  spmv_problem problem_;
  csr_view a_;
  sliced_shape shape_;
  sliced_layout layout_;
  buffer memory_;
};

struct layout_of_build {
  std::uint64_t facts;
  std::uint64_t has_bad_columns;

  explicit layout_of_build(core::scratch_offsets& place)
      : facts(place.take(sizeof(row_facts))), has_bad_columns(place.take(sizeof(unsigned))) {}
};

plan::planned plan_sliced(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& p = problem.product;
  if (p.entries == 0 || p.columns == 0 || p.rows == 0) return plan::rejected("the matrix has no entries");
  if (const char* reason = unfit_for_slices(p)) return plan::rejected(reason);
  const machine& m = scope.machine;
  const sliced_shape shape = shape_of_slices(p, p.entries, static_cast<std::uint64_t>(m.parallelism));
  core::scratch_offsets place;
  const layout_of_build at(place);
  const double run_seconds = sliced_product_seconds(p, shape, m);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(primitives::prepare_spmv_decision{run_seconds, sliced_name});
  plan.add("latency", 4 * m.launch_seconds);
  plan.add("slicing", slicing_seconds(p, m));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_sliced(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                const prepare_spmv_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& p = problem.product;
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::prepare_spmv);
  core::scratch_offsets place;
  const layout_of_build at(place);
  const row_facts facts = inspect_rows(ctx, p, b.a, guard, reinterpret_cast<row_facts*>(scratch + at.facts));
  const bool is_fit =
      facts.has_faults == 0 && facts.entries > 0 && facts.longest <= longest_sliced_row && holds_x_slices(ctx);
  if (is_fit) {
    const auto multiprocessors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
    const sliced_shape shape = shape_of_slices(p, facts.entries, multiprocessors);
    const auto made = std::make_shared<sliced_matrix>(ctx, p, b.a, shape);
    auto* const has_bad_columns = reinterpret_cast<unsigned*>(scratch + at.has_bad_columns);
    require(cudaMemsetAsync(has_bad_columns, 0, sizeof(unsigned), ctx.stream()), ctx);
    with_product_types(p, [&]<class Types>(Types) {
      using value = typename Types::value;
      slice_matrix<value, typename Types::column>(ctx, p, b.a, guard, shape, made->template arrays<value>(),
                                                  has_bad_columns);
    });
    unsigned found = 0;
    ctx.state().copy(&found, has_bad_columns, sizeof found);  // waits
    if (found == 0) *b.made = made;
  }
  if (*b.made == nullptr) {
    *b.made = std::make_shared<product_by_rows>(p, b.a, facts.has_faults != 0 ? unknown_length : facts.longest);
  }
}

}  // namespace

bool holds_x_slices(const context& ctx) {
  int most = 0;
  require(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx.device()), ctx);
  return static_cast<std::uint64_t>(most) >= sliced_block_bytes;
}

double sliced_product_seconds(const spmv_problem& p, const sliced_shape& shape, const machine& m) {
  const std::uint64_t places = p.entries + shape.ranges() * (range_places - 1) / 2;
  const std::uint64_t streamed =
      places * (p.value_bytes() + sizeof(std::uint16_t)) + shape.ranges() * sizeof(sliced_range) + p.y_bytes();
  const std::uint64_t x_bytes = p.columns * p.value_bytes();
  // Threads of a block wait for one another at each slice, and take as many rows at once as they have groups of lanes.
  constexpr double spread = 1.3;
  constexpr double slice_seconds = 1.5e-6;
  const double blocks_of_multiprocessor = static_cast<double>(shape.blocks) / m.parallelism;
  return m.launch_seconds + spread * m.streamed(streamed, streamed) + m.streamed(shape.blocks * x_bytes, x_bytes) +
         std::max(1.0, blocks_of_multiprocessor) * shape.slices * slice_seconds;
}

double slicing_seconds(const spmv_problem& p, const machine& m) {
  const std::uint64_t streamed =
      p.matrix_bytes() + p.entries * (bytes(p.column) + p.value_bytes() + sizeof(std::uint16_t));
  constexpr double spread = 2;  // rows are read by warps, and written slice by slice
  return spread * m.streamed(streamed, streamed);
}

extern constinit const primitives::prepare_spmv_variant prepare_spmv_sliced{"cuda.sliced", backend_kind::cuda,
                                                                            plan_sliced, run_sliced};

}  // namespace sheaf::cuda
