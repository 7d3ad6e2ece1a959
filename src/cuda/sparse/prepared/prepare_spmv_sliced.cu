#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/sparse/prepared/sliced.cuh"

// The preparation cuda.sliced: entries grouped so that a block reads x from shared memory, slice by slice, with the
// sums of its rows beside it. A product streams 10 bytes an entry of f64, and reads x from L2 once for each
// multiprocessor, where a product by rows reads a sector of 32 bytes for each entry. For long rows whose columns lie
// anywhere.
namespace sheaf::cuda {
namespace {

constexpr const char* sliced_name = "cuda.sliced";

/// A matrix that was sliced, with a copy of its values.
class sliced_matrix final : public inspected_matrix {
 public:
  sliced_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const sliced_shape& shape)
      : inspected_matrix(sliced_name, p, a),
        shape_(shape),
        memory_(prepared_memory(ctx, "entries by slice", bytes_of_slices(p, shape))) {}

  std::uint64_t kept_bytes() const override { return memory_.size(); }

  template <class Value>
  sliced_arrays<Value> arrays() const {
    core::scratch_arrays place(memory_.as<std::byte>());
    return sliced_arrays<Value>(shape_, place);
  }

 private:
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    with_product_types(p, [&]<class Types>(Types) {
      using value = typename Types::value;
      launch_shared(ctx, sum_slices<typename Types::sum, value>, shape_.blocks, sliced_threads, sliced_block_bytes,
                    arguments_of<value, unsigned>(p, b, csr_guard{}), arrays<value>(), shape_);
    });
  }

  sliced_shape shape_;
  buffer memory_;
};

struct slicing_scratch {
  row_facts* facts;
  unsigned* has_bad_columns;

  explicit slicing_scratch(core::scratch_arrays& place)
      : facts(place.take<row_facts>(1)), has_bad_columns(place.take<unsigned>(1)) {}
};

plan::planned plan_sliced(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (product.entries == 0 || product.columns == 0 || product.rows == 0)
    return plan::rejected("the matrix has no entries");
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  if (const char* reason = unfit_for_slices(product)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  const sliced_shape shape = shape_of_slices(product, product.entries, static_cast<std::uint64_t>(machine.parallelism));
  core::scratch_arrays place(nullptr);
  const slicing_scratch at(place);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.add("latency", 4 * machine.launch_seconds);
  plan.add("slicing", slicing_seconds(product, machine));
  return add_runs(plan, problem, {sliced_product_seconds(product, shape, machine), sliced_name});
}

void run_sliced(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const spmv_problem& product = problem.product;
  core::scratch_arrays place(scratch);
  const slicing_scratch at(place);
  const auto make = [&](const csr_guard& guard, const row_facts& facts) -> std::shared_ptr<sliced_matrix> {
    if (facts.entries == 0 || facts.longest > longest_sliced_row || !blocks_hold(ctx, sliced_block_bytes)) {
      return nullptr;
    }
    const auto multiprocessors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
    const sliced_shape shape = shape_of_slices(product, facts.entries, multiprocessors);
    auto made = std::make_shared<sliced_matrix>(ctx, product, buffers.a, shape);
    require(cudaMemsetAsync(at.has_bad_columns, 0, sizeof *at.has_bad_columns, ctx.stream()), ctx);
    with_product_types(product, [&]<class Types>(Types) {
      using value = typename Types::value;
      slice_matrix<value, typename Types::column>(ctx, product, buffers.a, guard, shape, made->template arrays<value>(),
                                                  at.has_bad_columns);
    });
    unsigned found = 0;
    ctx.state().copy(&found, at.has_bad_columns, sizeof found);  // waits
    return found == 0 ? made : nullptr;
  };
  make_or_keep_rows(ctx, problem, buffers, at.facts, make);
}

}  // namespace

double sliced_product_seconds(const spmv_problem& p, const sliced_shape& shape, const machine& machine) {
  const std::uint64_t places = p.entries + shape.ranges() * (range_places - 1) / 2;
  const std::uint64_t streamed =
      places * (p.value_bytes() + sizeof(std::uint16_t)) + shape.ranges() * sizeof(sliced_range) + p.y_bytes();
  const std::uint64_t x_bytes = p.columns * p.value_bytes();
  // Threads of a block wait for one another at each slice, and take as many rows at once as they have groups of lanes.
  constexpr double spread = 1.3;
  constexpr double slice_seconds = 1.5e-6;
  const double blocks_of_multiprocessor = static_cast<double>(shape.blocks) / machine.parallelism;
  return machine.launch_seconds + spread * machine.streamed(streamed, streamed) +
         machine.streamed(shape.blocks * x_bytes, x_bytes) +
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
