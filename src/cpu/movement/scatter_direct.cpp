#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/scatter_range.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// One pass in index order. Lines of the output are asked for ahead; records that are whole lines are written past the
// cache where there are more than it holds.
plan::planned plan_direct(const scatter_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  plan::planned plan = priced(writes_of(p, m), m, true);
  add_sharing(p, m, plan);
  plan.parameters[scatter_asks_ahead] = writes_ahead(p);
  plan.parameters[scatter_streams] = p.sequential_bytes() > m.cache_bytes;
  return plan;
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b) {
  scatter_in_order(ctx, p, b, plan.parameters[scatter_asks_ahead], plan.parameters[scatter_streams]);
}

// Each thread owns a range of the output and reads the whole index list: order inside the range is kept, so the last
// writer wins, for index bytes read once per thread.
plan::planned plan_owner(const scatter_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  memory_cost t = writes_of(p, m);
  t.near += m.streamed(p.index_bytes() * (m.parallelism - 1), p.index_bytes());
  plan::planned plan = priced(t, m, true);
  add_lines_read(p, m, true, plan);
  return plan;
}

void run_owner(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  const std::uint64_t limit = p.index_limit();
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_chunk(ctx, p, p.indexed_count, b.index, core::index_role::scatter_index,
                     [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                       first_bad bad;
                       for (std::uint64_t i = 0; i < p.count; ++i) {
                         const std::uint64_t to = index[i];
                         if (to >= begin && to < end) {
                           layout.copy(b.out.data + layout.far(to), b.in.data + layout.near(i));
                         } else if (to >= limit) {
                           bad.see(i);
                         }
                       }
                       return bad;
                     });
    });
  });
}

}  // namespace

constinit const primitives::scatter_variant scatter_direct{"cpu.direct", plan_direct, run_direct};
constinit const primitives::scatter_variant scatter_owner{"cpu.owner", plan_owner, run_owner};

}  // namespace sheaf::cpu
