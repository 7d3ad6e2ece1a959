#include <algorithm>
#include <memory>
#include <utility>

#include <sheaf/memory.hpp>

#include "cuda/sparse/blocked_build.cuh"
#include "cuda/sparse/blocked_run.cuh"
#include "cuda/sparse/by_rows.hpp"
#include "cuda/split/cost.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// The preparation cuda.blocked: propagation blocking (Buluc and Gilbert 2008; Beamer et al. 2017) whose first phase has
// x in shared memory. Entries are grouped by slices of columns and blocks of rows, in which columns take 16 bits. A run
// streams them, with no random access to memory, and pays for it by writing and reading each product once more. For
// matrices whose columns are scattered over an x that L2 does not hold.
namespace sheaf::cuda {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::prepared_memory;
using primitives::spmv_buffers;
using primitives::spmv_problem;

constexpr const char* blocked_name = "cuda.blocked";

/// A matrix that was grouped. Row offsets stay the caller's.
class blocked_matrix final : public primitives::prepared_product {
 public:
  blocked_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const row_facts& facts)
      : problem_(p),
        a_(a),
        shape_(shape_of(p)),
        lanes_(lanes_of_row(p)),
        first_entry_(facts.first),
        entries_(facts.entries),
        columns_(prepared_memory(ctx, "columns within slices", entries_ * sizeof(std::uint16_t))),
        values_(prepared_memory(ctx, "values by slices", entries_ * p.value_bytes())),
        products_of_(prepared_memory(ctx, "places of products", entries_ * sizeof(std::uint16_t))),
        runs_(prepared_memory(ctx, "runs of products", 2 * shape_.groups() * sizeof(std::uint32_t))),
        edges_(prepared_memory(ctx, "edges of slices and blocks",
                               (shape_.slices + shape_.blocks + 2) * sizeof(std::uint32_t))) {}

  void run(const context& ctx, const const_values x, values y, double alpha, double beta) override {
    const run_scope scope(ctx, blocked_name);
    const core::scratch products =
        plan::take_scratch(ctx, primitives::prepared_spmv_call, blocked_name, entries_ * problem_.sum_bytes());
    spmv_problem p = problem_;
    p.reads_y = beta != 0;
    const spmv_buffers b{a_, x.data, y.data, alpha, beta};
    if (p.value == value_type::f64) return multiply<double, double>(ctx, p, b, products.data());
    if (p.sums == spmv_sums::f64) return multiply<float, double>(ctx, p, b, products.data());
    multiply<float, float>(ctx, p, b, products.data());
  }
  std::uint64_t kept_bytes() const override {
    return columns_.size() + values_.size() + products_of_.size() + runs_.size() + edges_.size();
  }
  std::string_view product() const override { return blocked_name; }

  template <class Value>
  blocked_arrays<Value> arrays() const {
    auto* const runs = runs_.as<std::uint32_t>();
    auto* const edges = edges_.as<std::uint32_t>();
    return {.columns = columns_.as<std::uint16_t>(),
            .values = values_.as<Value>(),
            .slice_begins = edges,
            .run_begins = runs,
            .run_places = runs + shape_.groups(),
            .products_of = products_of_.as<std::uint16_t>(),
            .block_rows = edges + shape_.slices + 1,
            .first_entry = first_entry_,
            .entries = entries_};
  }

 private:
  template <class Value, class Sum>
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b, std::byte* scratch) const {
    // Shares are small beside what a multiprocessor does, and large beside the part of x that each of them loads.
    constexpr std::uint64_t shares_each = 4;
    constexpr std::uint64_t least_share = std::uint64_t{1} << 14;
    constexpr std::uint64_t most_share = std::uint64_t{1} << 18;
    const auto multiprocessors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
    const std::uint64_t share =
        std::clamp(ceil_div(entries_, multiprocessors * shares_each) / 4 * 4, least_share, most_share);
    const auto a = arguments_of<Value, unsigned>(p, b, csr_guard{});
    const blocked_arrays<Value> m = arrays<Value>();
    auto* const products = reinterpret_cast<Sum*>(scratch);
    launch_shared(ctx, multiply_slices<Sum, Value>, ceil_div(entries_, share), multiply_threads, slice_bytes, m, shape_,
                  a.x, p.columns, share, products);
    with_lanes([&]<unsigned Lanes>() {
      launch_shared(ctx, add_products<Lanes, Sum, Value, unsigned>, shape_.blocks, add_threads,
                    shape_.most_products() * sizeof(Sum), a, m, shape_, static_cast<const Sum*>(products));
    });
  }

  template <class Body>
  void with_lanes(Body body) const {
    switch (lanes_) {
      case 1: return body.template operator()<1>();
      case 2: return body.template operator()<2>();
      case 4: return body.template operator()<4>();
      case 8: return body.template operator()<8>();
      case 16: return body.template operator()<16>();
      default: return body.template operator()<32>();
    }
  }

  spmv_problem problem_;
  csr_view a_;
  blocked_shape shape_;
  std::uint32_t lanes_;
  std::uint64_t first_entry_;
  std::uint64_t entries_;
  buffer columns_;
  buffer values_;
  buffer products_of_;
  buffer runs_;
  buffer edges_;
};

/// Whether a block of the device holds a slice of x. Devices of some compute capabilities have 99 KiB a block.
bool holds_slices(const context& ctx) {
  int most = 0;
  require(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx.device()), ctx);
  return static_cast<std::uint64_t>(most) >= slice_bytes;
}

double run_seconds_of(const spmv_problem& p, const blocked_shape& shape, const machine& m) {
  const auto mean_run = static_cast<double>(p.entries * p.sum_bytes()) / static_cast<double>(shape.groups());
  // A run begins and ends inside sectors, and a warp copies it at once.
  constexpr double lost_bytes = 64;
  const double spread = 1 + lost_bytes / mean_run;
  const std::uint64_t multiplied = p.entries * (sizeof(std::uint16_t) + p.value_bytes() + p.sum_bytes());
  const std::uint64_t products = p.entries * p.sum_bytes();
  const std::uint64_t added = p.entries * sizeof(std::uint16_t) + p.rows * bytes(p.offset) + p.y_bytes() +
                              2 * shape.groups() * sizeof(std::uint32_t);
  return m.launch_seconds + m.step_seconds + m.streamed(multiplied, multiplied) +
         spread * m.streamed(products, products) + m.streamed(added, added);
}

plan::planned plan_blocked(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& p = problem.product;
  if (p.transposed) return plan::rejected("groups entries by rows, and the product is transposed");
  if (p.has_row_ends) return plan::rejected("cuts rows that lie one behind the other, and these may lie in any order");
  if (p.entries == 0 || p.columns == 0) return plan::rejected("the matrix has no entries");
  if (p.entries >> 32 != 0 || p.rows >> 32 != 0) return plan::rejected("rows or entries pass 32 bits");
  const machine& m = scope.machine;
  const blocked_shape shape = shape_of(p);
  constexpr std::uint64_t least_run = 8;
  if (p.entries / least_run < shape.groups() && shape.groups() > 4096) {
    return plan::rejected("runs of products would be shorter than eight");
  }
  core::scratch_offsets place;
  const blocked_layout layout(p, shape, place);
  const pair_passes passes = group_passes(shape, p.entries);
  primitives::split_problem split;
  split.backend = p.backend;
  split.count = p.entries;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = sizeof(std::uint32_t);
  split.word_bytes = sizeof(std::uint32_t);
  split.key_from = split_key::kind::category;
  split.key_stride_bytes = sizeof(std::uint32_t);
  const double sort_seconds = pair_passes_cost(split, m, passes.key_bits, pass_count(passes), true).seconds;
  const double run_seconds = run_seconds_of(p, shape, m);
  const std::uint64_t streamed = p.matrix_bytes() + p.entries * (16 + 2 + p.value_bytes()) + 16 * shape.groups();
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(primitives::prepare_spmv_decision{run_seconds, blocked_name});
  plan.add("latency", 2 * m.launch_seconds + 4 * m.step_seconds);
  plan.add("sort", sort_seconds);
  plan.add("streamed", m.streamed(streamed, streamed));
  plan.add("random read", 2 * m.random_reads(p.entries, p.value_bytes(), p.matrix_bytes()));
  plan.add("random write", m.random_writes(p.entries, sizeof(std::uint16_t), 2 * p.entries));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_blocked(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                 const prepare_spmv_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& p = problem.product;
  const blocked_shape shape = shape_of(p);
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::prepare_spmv);
  core::scratch_offsets place;
  const blocked_layout layout(p, shape, place);
  const row_facts facts = inspect_rows(ctx, p, b.a, guard, reinterpret_cast<row_facts*>(scratch + layout.facts));
  if (facts.has_faults || facts.longest > shape.longest_row || facts.entries == 0 || !holds_slices(ctx)) {
    *b.made = std::make_shared<product_by_rows>(p, b.a, facts.has_faults != 0 ? unknown_length : facts.longest);
    return;
  }
  const auto made = std::make_shared<blocked_matrix>(ctx, p, b.a, facts);
  with_product_types(p, [&]<class Types>(Types) {
    using value = typename Types::value;
    using column = typename Types::column;
    group_entries<value, column>(ctx, p, b.a, guard, shape, facts, layout, made->template arrays<value>(), scratch);
  });
  *b.made = made;
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_blocked{"cuda.blocked", backend_kind::cuda,
                                                                             plan_blocked, run_blocked};

}  // namespace sheaf::cuda
