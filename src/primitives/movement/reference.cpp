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

void run_gather(const context& ctx, const gather_problem& problem, const plan::planned&, const gather_buffers& buffers,
                std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(buffers.index, problem.indexed_count);
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    std::byte* to = buffers.out.data + i * problem.sequential_stride_bytes;
    if (index.in_range(i)) {
      std::memcpy(to, buffers.table.data + index.bits(i) * problem.indexed_stride_bytes, problem.record_bytes);
    } else {
      std::memset(to, 0, problem.record_bytes);
      state.keep_first(index.report(call, i, gather_wording));
    }
  }
}

void run_scatter(const context& ctx, const scatter_problem& problem, const plan::planned&,
                 const scatter_buffers& buffers, std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(buffers.index, problem.indexed_count);
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    if (index.in_range(i)) {
      std::memcpy(buffers.out.data + index.bits(i) * problem.indexed_stride_bytes,
                  buffers.in.data + i * problem.sequential_stride_bytes, problem.record_bytes);
    } else {
      state.keep_first(index.report(call, i, scatter_wording));
    }
  }
}

}  // namespace

extern constinit const gather_variant gather_serial{"reference.serial", backend_kind::cpu, plan_serial, run_gather};
extern constinit const scatter_variant scatter_serial{"reference.serial", backend_kind::cpu, plan_serial, run_scatter};

}  // namespace sheaf::reference
