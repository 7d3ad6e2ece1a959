#include "primitives/gather.hpp"

#include <cstring>

#include "core/cpu_state.hpp"
#include "cpu/parallel.hpp"
#include "cpu/record_copy.hpp"

namespace sheaf::cpu {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

plan::planned plan_direct(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("streamed", m.streamed(p.near_bytes() + p.index_bytes(), p.near_bytes() + p.index_bytes() + p.far_bytes()));
  plan.add("random read", m.random_reads(p.count, p.record_bytes, p.far_bytes()));
  return plan;
}

void run_direct(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const std::uint64_t limit = p.index_limit();
  with_index(b.index, [&](const auto* index) {
    with_record_copy(p.record_bytes, [&](auto copy) {
      const core::index_report first = parallel_chunks(state.threads, p.count, [&](std::uint64_t begin, std::uint64_t end) {
        first_bad bad;
        for (std::uint64_t i = begin; i < end; ++i) {
          std::byte* to = b.out.data + i * p.near_stride_bytes;
          if (index[i] < limit) {
            copy(to, b.table.data + index[i] * p.far_stride_bytes);
          } else {
            std::memset(to, 0, p.record_bytes);
            bad.see(i);
          }
        }
        return bad;
      }, [&](std::uint64_t i) { return report_of(b.index, i, call, p.far_count, core::index_role::gather_index); });
      state.keep_first(first);
    });
  });
}

}  // namespace

constinit const primitives::gather_variant gather_direct{"cpu.direct", plan_direct, run_direct};

}  // namespace sheaf::cpu
