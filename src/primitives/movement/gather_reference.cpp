#include "primitives/movement/gather.hpp"

#include <cstring>

#include "core/cpu_state.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::reference {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// One record after another, each with the full latency of memory.
plan::planned plan_serial(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  plan::planned plan;
  plan.by_name_only = true;
  plan.add("latency", static_cast<double>(p.count) * m.access_seconds);
  return plan;
}

void run_serial(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b,
                std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(b.index, p.indexed_count);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    std::byte* to = b.out.data + i * p.sequential_stride_bytes;
    if (index.in_range(i)) {
      std::memcpy(to, b.table.data + index.bits(i) * p.indexed_stride_bytes, p.record_bytes);
    } else {
      std::memset(to, 0, p.record_bytes);
      state.keep_first(index.report(call, i, primitives::gather_words));
    }
  }
}

}  // namespace

extern constinit const primitives::gather_variant gather_serial{"reference.serial", backend_kind::cpu, plan_serial,
                                                                run_serial};

}  // namespace sheaf::reference
