#include <sheaf/gather.hpp>

#include "plan/choose.hpp"
#include "primitives/gather.hpp"

namespace sheaf {
namespace primitives {

std::span<const gather_variant> gather_variants() {
  static const gather_variant all[] = {
    reference::gather_serial,
    cpu::gather_direct,
    cpu::gather_bucketed,
    cpu::gather_multipass,
#if SHEAF_HAS_CUDA
    cuda::gather_direct,
    cuda::gather_collective,
    cuda::gather_thread_per_record,
    cuda::gather_multipass,
    cuda::gather_adaptive,
    cuda::gather_bucketed,
#endif
  };
  return all;
}

namespace {

gather_problem describe(const context& ctx, const_records table, index_span index, records out,
                        const gather_options& options) {
  return {describe_movement(ctx, out, index, table, options.pattern, options.bounds)};
}

}  // namespace
}  // namespace primitives

void gather(const context& ctx, const_records table, index_span index, records out, const gather_options& options) {
  primitives::require_fit("gather", ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
  if (index.count == 0) return;
  const auto problem = primitives::describe(ctx, table, index, out, options);
  const auto [variant, plan] = plan::choose("gather", primitives::gather_variants(), problem, ctx, options.variant);
  variant->run(ctx, problem, plan, {table, index, out});
}

explanation explain_gather(const context& ctx, const_records table, index_span index, records out,
                           const gather_options& options) {
  primitives::require_shapes("gather", out, "out", index, table, "table");
  const auto problem = primitives::describe(ctx, table, index, out, options);
  return plan::explain("gather", primitives::gather_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
