#include "primitives/split/by_sort.hpp"

#include "core/scratch_offsets.hpp"
#include "cpu/threads/parts.hpp"
#include "plan/choose.hpp"
#include "primitives/movement/scatter.hpp"

// The variant cpu.by_sort, for more than 32 bits: the cheapest sort by them. A scatter index is the inverse of the
// order that the sort of record numbers leaves: positions, scattered by it.
namespace sheaf::cpu {
namespace {

using namespace primitives;

struct position_scatter {
  scatter_problem problem;
  plan::choice<scatter_variant> chosen;
};

std::uint64_t position_bytes(const split_problem& p) { return p.count * p.record_bytes; }

/// Parts of the positions that are written in parallel.
std::uint64_t parts_of(const split_problem& p, std::uint64_t threads) {
  return parts_worth(position_bytes(p), threads);
}

plan::planned plan_position_scatter(const split_problem& p, const plan::scope& in) {
  auto scatter = std::make_shared<position_scatter>();
  scatter->problem = {{.backend = p.backend,
                       .count = p.count,
                       .indexed_count = p.count,
                       .record_bytes = p.record_bytes,
                       .sequential_stride_bytes = p.record_bytes,
                       .indexed_stride_bytes = p.record_bytes,
                       .word_bytes = p.word_bytes,
                       .index = p.index,
                       .pattern = access_pattern::unknown(),
                       .bounds = bounds::trust}};
  const std::uint64_t positions = core::scratch_aligned(position_bytes(p));
  scatter->chosen = plan::cheapest(scatter_variants(), scatter->problem, p.backend, plan::inner_scope(in, positions),
                                   plan::forced_name("scatter", {}, in.context));
  if (scatter->chosen.variant == nullptr) return plan::rejected("no scatter inverts its order");
  plan::planned plan;
  plan.decided.set(parts_of(p, in.machine.parallelism));
  plan.add("positions written", in.machine.streamed(position_bytes(p), position_bytes(p)));
  plan.add("scatter", scatter->chosen.plan.seconds);
  plan.scratch_bytes = positions + scatter->chosen.plan.scratch_bytes;
  plan.inner_calls = std::move(scatter);
  return plan;
}

template <class Number>
void write_positions(std::byte* to, std::uint64_t count, std::uint64_t parts) {
  auto* const positions = reinterpret_cast<Number*>(to);
  for_each_range(count, parts, [=](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) positions[i] = static_cast<Number>(i);
  });
}

void run_position_scatter(const context& ctx, const split_problem& p, const plan::planned& plan, const std::byte* order,
                          void* scatter_index, std::byte* scratch) {
  const auto parts = plan.decided.get<std::uint64_t>();
  if (p.record_bytes == sizeof(std::uint32_t)) {
    write_positions<std::uint32_t>(scratch, p.count, parts);
  } else {
    write_positions<std::uint64_t>(scratch, p.count, parts);
  }
  const auto& scatter = plan.inner<position_scatter>();
  scatter.chosen.variant->run(ctx, scatter.problem, scatter.chosen.plan,
                              {const_records(scratch, p.count, p.record_bytes), index_span(order, p.count, p.index),
                               records(static_cast<std::byte*>(scatter_index), p.count, p.record_bytes)},
                              scratch + core::scratch_aligned(position_bytes(p)));
}

constexpr order_inversion inversion_of_order{plan_position_scatter, run_position_scatter};

plan::planned plan_by_sort(const split_problem& problem, const plan::scope& scope) {
  return plan_sorted_split(problem, scope, inversion_of_order);
}

void run_by_sort(const context& ctx, const split_problem& problem, const plan::planned& plan,
                 const split_buffers& buffers, std::byte* scratch) {
  run_sorted_split(ctx, problem, plan, buffers, inversion_of_order, scratch);
}

}  // namespace

extern constinit const split_variant split_by_sort{"cpu.by_sort", backend_kind::cpu, plan_by_sort, run_by_sort};

}  // namespace sheaf::cpu
