#include "primitives/movement/gathers_by_order.hpp"

namespace sheaf::primitives {

gathers_by_order::gathers_by_order(const sort_problem& p, index_type order, const plan::scope& in) {
  if (p.writes_rows) add(p, p.rows, order, in);
  for (std::uint32_t c = 0; c < p.column_count; ++c) add(p, p.columns[c], order, in);
}

void gathers_by_order::add(const sort_problem& sort, const sorted_array& array, index_type order,
                           const plan::scope& in) {
  const gather_problem problem{{.backend = sort.backend,
                                .count = sort.count,
                                .indexed_count = sort.count,
                                .record_bytes = array.record_bytes,
                                .sequential_stride_bytes = array.out_stride_bytes,
                                .indexed_stride_bytes = array.in_stride_bytes,
                                .word_bytes = array.access_bytes,
                                .index = order,
                                .pattern = access_pattern::unknown(),
                                .bounds = bounds::trust}};
  plan::choice<gather_variant> chosen =
      plan::cheapest(gather_variants(), problem, sort.backend, in, plan::forced_name("gather", {}, in.context));
  if (chosen.variant == nullptr) {
    rejection_ = "no gather can put its rows in order";
    return;
  }
  // It is queued behind the sort, and the device is busy meanwhile.
  seconds_ += chosen.plan.seconds - in.machine.launch_seconds;
  scratch_bytes_ = std::max(scratch_bytes_, chosen.plan.scratch_bytes);
  gathers_.push_back({problem, std::move(chosen)});
}

void gathers_by_order::end_plan(plan::planned& plan, const sort_problem& p, index_type order, const plan::scope& in,
                                std::uint64_t begin, double start_seconds) {
  auto gathers = std::make_shared<gathers_by_order>(p, order, plan::inner_scope(in, begin));
  plan.rejection = gathers->rejection_;
  gathers->seconds_ += static_cast<double>(gathers->gathers_.size()) * start_seconds;
  plan.add("gathered", gathers->seconds_);
  plan.scratch_bytes = std::max(plan.scratch_bytes, begin + gathers->scratch_bytes_);
  plan.inner_calls = std::move(gathers);
}

void gathers_by_order::run(const context& ctx, const sort_problem& sort, const sort_buffers& buffers, index_span order,
                           std::byte* scratch) const {
  std::size_t next = 0;
  const auto gather = [&](const_records in, records out) {
    const auto& [problem, chosen] = gathers_[next++];
    chosen.variant->run(ctx, problem, chosen.plan, {in, order, out}, scratch);
  };
  if (sort.writes_rows) gather(buffers.in, buffers.out);
  for (std::uint32_t c = 0; c < sort.column_count; ++c) gather(buffers.columns[c].in, buffers.columns[c].out);
}

}  // namespace sheaf::primitives
