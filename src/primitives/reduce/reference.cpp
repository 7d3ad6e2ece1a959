#include "primitives/reduce/contract.hpp"

#include "core/cpu_state.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"

namespace sheaf::reference {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

// One value after another, in index order.
plan::planned plan_serial(const scatter_reduce_problem& p, const plan::scope& scope) {
  return plan::serial(static_cast<double>(p.count), scope);
}

void run_serial(const context& ctx, const scatter_reduce_problem& problem, const plan::planned&,
                const scatter_reduce_buffers& buffers, std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(buffers.index, problem.indexed_count);
  primitives::with_value_and_op(problem.type, problem.op, [&](auto value, auto op) {
    using T = decltype(value);
    const T* const in = static_cast<const T*>(buffers.in.data);
    T* const out = static_cast<T*>(buffers.out.data);
    for (std::uint64_t i = 0; i < problem.count; ++i) {
      if (index.in_range(i)) {
        T& slot = out[index.bits(i)];
        slot = primitives::reduced<op()>(slot, in[i]);
      } else {
        state.keep_first(index.report(call, i, primitives::scatter_reduce_wording));
      }
    }
  });
}

}  // namespace

extern constinit const primitives::scatter_reduce_variant scatter_reduce_serial{"reference.serial", backend_kind::cpu,
                                                                                plan_serial, run_serial};

}  // namespace sheaf::reference
