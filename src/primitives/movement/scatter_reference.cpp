#include "primitives/movement/scatter.hpp"

#include <cstring>

#include "core/cpu_state.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::reference {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// One record after another in index order, so the last writer of a record wins.
plan::planned plan_serial(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  plan::planned plan;
  plan.by_name_only = true;
  plan.add("latency", static_cast<double>(p.count) * m.access_seconds);
  return plan;
}

void run_serial(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b,
                std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(b.index, p.indexed_count);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    if (index.in_range(i)) {
      std::memcpy(b.out.data + index.bits(i) * p.indexed_stride_bytes, b.in.data + i * p.sequential_stride_bytes,
                  p.record_bytes);
    } else {
      state.keep_first(index.report(call, i, primitives::scatter_words));
    }
  }
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_serial{"reference.serial", backend_kind::cpu, plan_serial,
                                                                  run_serial};

}  // namespace sheaf::reference
