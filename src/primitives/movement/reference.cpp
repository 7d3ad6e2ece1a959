#include <cstring>

#include "core/cpu_state.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

// One record after another, each with the full latency of memory; a scatter's last writer of a record wins.
template <class Problem>
plan::planned plan_serial(const Problem& p, const plan::scope& scope) {
  return plan::serial(static_cast<double>(p.count), scope);
}

void run_gather(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b,
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
      state.keep_first(index.report(call, i, gather_wording));
    }
  }
}

void run_scatter(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b,
                 std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(b.index, p.indexed_count);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    if (index.in_range(i)) {
      std::memcpy(b.out.data + index.bits(i) * p.indexed_stride_bytes, b.in.data + i * p.sequential_stride_bytes,
                  p.record_bytes);
    } else {
      state.keep_first(index.report(call, i, scatter_wording));
    }
  }
}

}  // namespace

extern constinit const gather_variant gather_serial{"reference.serial", backend_kind::cpu, plan_serial, run_gather};
extern constinit const scatter_variant scatter_serial{"reference.serial", backend_kind::cpu, plan_serial, run_scatter};

}  // namespace sheaf::reference
