#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/prepared/bsr.cuh"
#include "cuda/sparse/prepared/bsr.hpp"

// The preparation cuda.bsr: a copy of a matrix whose entries lie in dense blocks, with one column for each block.
// Blocks of 3 x 3 take 8.4 bytes an entry of f64, where compressed rows take 12. For finite elements of several
// unknowns a node; other preparations look for blocks, too.
namespace sheaf::cuda {
namespace {

constexpr const char* bsr_name = "cuda.bsr";

/// Calls body with the size of blocks as a constant.
template <class Body>
void with_block(unsigned block, Body body) {
  switch (block) {
    case 2: return body(std::integral_constant<unsigned, 2>{});
    case 3: return body(std::integral_constant<unsigned, 3>{});
    case 4: return body(std::integral_constant<unsigned, 4>{});
    case 5: return body(std::integral_constant<unsigned, 5>{});
    case 6: return body(std::integral_constant<unsigned, 6>{});
    case 7: return body(std::integral_constant<unsigned, 7>{});
    default: return body(std::integral_constant<unsigned, 8>{});
  }
}
template <class Body>
void with_lanes(unsigned lanes, Body body) {
  switch (lanes) {
    case 8: return body(std::integral_constant<unsigned, 8>{});
    case 16: return body(std::integral_constant<unsigned, 16>{});
    default: return body(std::integral_constant<unsigned, 32>{});
  }
}

class bsr_matrix final : public inspected_matrix {
 public:
  bsr_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, unsigned block, std::uint64_t entries)
      : inspected_matrix(bsr_name, p, a),
        block_(block),
        lanes_(lanes_of_block_row(block, entries, p.rows)),
        entries_(entries),
        memory_(prepared_memory(ctx, "entries in blocks", bytes_of_arrays())) {}

  std::uint64_t kept_bytes() const override { return memory_.size(); }
  bool has_no_rival() const override { return true; }

  template <class Value>
  bsr_arrays<Value> arrays() const {
    core::scratch_arrays place(memory_.as<std::byte>());
    return take_arrays<Value>(place);
  }
  unsigned group() const { return lanes_ / block_; }

 private:
  template <class Value>
  bsr_arrays<Value> take_arrays(core::scratch_arrays& place) const {
    const std::uint64_t blocks = entries_ / (std::uint64_t{block_} * block_);
    const std::uint64_t block_rows = problem_.rows / block_;
    bsr_arrays<Value> arrays{};
    arrays.begins = place.take<std::uint32_t>(block_rows + 1);
    arrays.columns = place.take<std::uint32_t>(blocks);
    arrays.values = place.take<Value>(entries_);
    arrays.block_rows = block_rows;
    return arrays;
  }
  std::uint64_t bytes_of_arrays() const {
    core::scratch_arrays place(nullptr);
    problem_.value == value_type::f64 ? static_cast<void>(take_arrays<double>(place))
                                      : static_cast<void>(take_arrays<float>(place));
    return place.bytes();
  }

  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    with_product_types(p, [&]<class Types>(Types) {
      using value = typename Types::value;
      const auto from = arrays<value>();
      const auto arguments = arguments_of<value, unsigned>(p, b, csr_guard{});
      with_block(block_, [&](auto block) {
        with_lanes(lanes_, [&](auto lanes) {
          launch(ctx, multiply_blocks<block(), lanes(), typename Types::sum, value>,
                 ceil_div(from.block_rows * lanes(), block_threads), arguments, from);
        });
      });
    });
  }

  unsigned block_;
  unsigned lanes_;
  std::uint64_t entries_;
  buffer memory_;
};

const char* unfit_for_blocks(const spmv_problem& p) {
  if (p.transposed) return "blocks are found row by row, but the product is transposed";
  if (p.has_row_ends) return "rows may share entries, of which a block has its own copy";
  if (p.entries == 0 || p.columns == 0 || p.rows == 0) return "the matrix has no entries";
  if (p.columns >> 32 != 0) return "columns exceed 32 bits";
  if (p.is_part()) return primitives::other_order_of_parts;
  return nullptr;
}

struct finding_scratch {
  row_facts* facts;
  block_finding words;

  explicit finding_scratch(core::scratch_arrays& place)
      : facts(place.take<row_facts>(1)), words{place.take<unsigned>(1), place.take<unsigned>(1)} {}
};

// Nothing says before the columns are read whether they lie in blocks: runs are priced as if in blocks of 3 x 3.
plan::planned plan_bsr(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (const char* reason = unfit_for_blocks(product)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  core::scratch_arrays place(nullptr);
  const finding_scratch at(place);
  constexpr std::uint64_t usual_block_entries = 9;
  const std::uint64_t kept = product.entries * product.value_bytes() +
                             product.entries / usual_block_entries * sizeof(std::uint32_t) + product.y_bytes();
  plan::planned plan;
  plan.by_name_only = true;  // other preparations find blocks by themselves
  plan.scratch_bytes = place.bytes();
  plan.add("latency", 4 * machine.launch_seconds);
  plan.add("copied", machine.streamed(2 * product.matrix_bytes() + kept, product.matrix_bytes() + kept));
  const plan::planned gathered = plan::corrected_plan(spmv_rows, product, scope);
  const double matrix_seconds = machine.streamed(product.matrix_bytes(), product.matrix_bytes());
  const double run_seconds =
      std::max(gathered.seconds - matrix_seconds, machine.launch_seconds) + machine.streamed(kept, kept);
  return add_runs(plan, problem, {run_seconds, bsr_name});
}

void run_bsr(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
             const prepare_spmv_buffers& buffers, std::byte* scratch) {
  core::scratch_arrays place(scratch);
  const finding_scratch at(place);
  make_or_keep_rows(ctx, problem, buffers, at.facts, [&](const csr_guard& guard, const row_facts& facts) {
    return make_bsr(ctx, problem.product, buffers.a, guard, facts, at.words);
  });
}

}  // namespace

std::shared_ptr<primitives::prepared_product> make_bsr(const context& ctx, const spmv_problem& problem,
                                                       const csr_view& a, const csr_guard& guard,
                                                       const row_facts& facts, const block_finding& words) {
  if (unfit_for_blocks(problem) != nullptr || facts.entries == 0) return nullptr;
  unsigned possible = 0;
  for (unsigned b = least_block; b <= most_block; ++b) {
    const std::uint64_t block_entries = std::uint64_t{b} * b;
    const bool fits = problem.rows % b == 0 && facts.entries % block_entries == 0 &&
                      facts.entries / block_entries <= ~std::uint32_t{0} && facts.longest % b == 0;
    if (fits) possible |= 1U << b;
  }
  if (possible == 0) return nullptr;
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem));
  ctx.state().copy(words.sizes, &possible, sizeof possible);
  require(cudaMemsetAsync(words.has_bad_columns, 0, sizeof(unsigned), ctx.stream()), ctx);
  constexpr std::uint64_t most_blocks = 1 << 16;
  with_column_type(problem, [&]<class Column>(Column) {
    launch(ctx, find_blocks<Column>, std::min(most_blocks, ceil_div(problem.rows, warps_of_a_block)), guard,
           offsets_of(problem, a), static_cast<const Column*>(a.column_indices.data), limit, words.sizes,
           words.has_bad_columns);
  });
  unsigned has_bad_columns = 0;
  ctx.state().copy(&possible, words.sizes, sizeof possible);  // waits
  ctx.state().copy(&has_bad_columns, words.has_bad_columns, sizeof has_bad_columns);
  if (possible == 0 || has_bad_columns != 0) return nullptr;
  // The largest: each size that divides it fits, too.
  const auto block = static_cast<unsigned>(std::bit_width(possible) - 1);
  std::shared_ptr<bsr_matrix> made;
  try {
    made = std::make_shared<bsr_matrix>(ctx, problem, a, block, facts.entries);
  } catch (const error& short_of) {
    // Another form may fit, which copies no values.
    if (short_of.code() != error_code::out_of_memory) throw;
    return nullptr;
  }
  with_column_type(problem, [&]<class Column>(Column) {
    with_block(block, [&](auto size) {
      const auto copy = [&]<class Value>(Value) {
        launch(ctx, copy_blocks<size(), Value, Column>, ceil_div(problem.rows / size(), warps_of_a_block),
               offsets_of(problem, a), static_cast<const Column*>(a.column_indices.data),
               static_cast<const Value*>(a.values.data), facts.first, made->group(), made->template arrays<Value>());
      };
      problem.value == value_type::f64 ? copy(double{}) : copy(float{});
    });
  });
  return made;
}

extern constinit const primitives::prepare_spmv_variant prepare_spmv_bsr{"cuda.bsr", backend_kind::cuda, plan_bsr,
                                                                         run_bsr};

}  // namespace sheaf::cuda
