#include "primitives/scatter.hpp"

#include "core/cpu_state.hpp"
#include "cpu/parallel.hpp"
#include "cpu/record_copy.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

plan::planned plan_direct(const scatter_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("streamed", m.streamed(p.near_bytes() + p.index_bytes(), p.near_bytes() + p.index_bytes() + p.far_bytes()));
  plan.add("random write", m.random_writes(p.count, p.record_bytes, p.far_bytes()));
  return plan;
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const std::uint64_t limit = p.index_limit();
  with_index(b.index, [&](const auto* index) {
    with_record_copy(p.record_bytes, [&](auto copy) {
      const core::index_report first = parallel_chunks(state.threads, p.count, [&](std::uint64_t begin, std::uint64_t end) {
        first_bad bad;
        for (std::uint64_t i = begin; i < end; ++i) {
          if (index[i] < limit) {
            copy(b.out.data + index[i] * p.far_stride_bytes, b.in.data + i * p.near_stride_bytes);
          } else {
            bad.see(i);
          }
        }
        return bad;
      }, [&](std::uint64_t i) { return report_of(b.index, i, call, p.far_count, core::index_role::scatter_index); });
      state.keep_first(first);
    });
  });
}

// Each thread owns a range of the output and reads the whole index list: order inside the range is kept, so the last
// writer wins, for index bytes read once per thread.
plan::planned plan_owner(const scatter_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("streamed", m.streamed(p.near_bytes() + p.index_bytes() * m.parallelism,
                                  p.near_bytes() + p.index_bytes() + p.far_bytes()));
  plan.add("random write", m.random_writes(p.count, p.record_bytes, p.far_bytes()));
  return plan;
}

void run_owner(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const std::uint64_t limit = p.index_limit();
  with_index(b.index, [&](const auto* index) {
    with_record_copy(p.record_bytes, [&](auto copy) {
      const core::index_report first = parallel_chunks(state.threads, p.far_count, [&](std::uint64_t begin, std::uint64_t end) {
        first_bad bad;
        for (std::uint64_t i = 0; i < p.count; ++i) {
          const std::uint64_t to = index[i];
          if (to >= begin && to < end) {
            copy(b.out.data + to * p.far_stride_bytes, b.in.data + i * p.near_stride_bytes);
          } else if (to >= limit) {
            bad.see(i);
          }
        }
        return bad;
      }, [&](std::uint64_t i) { return report_of(b.index, i, call, p.far_count, core::index_role::scatter_index); });
      state.keep_first(first);
    });
  });
}

}  // namespace

constinit const primitives::scatter_variant scatter_direct{"cpu.direct", plan_direct, run_direct};
constinit const primitives::scatter_variant scatter_owner{"cpu.owner", plan_owner, run_owner};

}  // namespace sheaf::cpu
