#include "primitives/scatter.hpp"

#include <sheaf/scatter.hpp>

#include "plan/choose.hpp"

namespace sheaf {
namespace primitives {

std::span<const scatter_variant> scatter_variants() {
  static const scatter_variant all[] = {
    reference::scatter_serial,
    cpu::scatter_direct,
    cpu::scatter_by_page,
    cpu::scatter_bucketed,
    cpu::scatter_multipass,
    cpu::scatter_owner,
#if SHEAF_HAS_CUDA
    cuda::scatter_direct,
    cuda::scatter_collective,
    cuda::scatter_thread_per_record,
    cuda::scatter_multipass,
    cuda::scatter_adaptive,
    cuda::scatter_bucketed,
    cuda::scatter_last_writer,
#endif
  };
  return all;
}

namespace {

scatter_problem describe(const context& ctx, const_records in, index_span index, records out,
                         const scatter_options& options) {
  return {describe_movement(ctx, in, index, out, options.pattern, options.bounds), options.duplicates};
}

}  // namespace
}  // namespace primitives

void scatter(const context& ctx, const_records in, index_span index, records out, const scatter_options& options) {
  primitives::require_fit("scatter", ctx, in, "in", index, out, "out", /*writes_sequential=*/false);
  if (index.count == 0) return;
  const auto problem = primitives::describe(ctx, in, index, out, options);
  const auto [variant, plan] = plan::choose("scatter", primitives::scatter_variants(), problem, ctx, options.variant);
  variant->run(ctx, problem, plan, {in, index, out});
}

explanation explain_scatter(const context& ctx, const_records in, index_span index, records out,
                            const scatter_options& options) {
  primitives::require_shapes("scatter", in, "in", index, out, "out");
  const auto problem = primitives::describe(ctx, in, index, out, options);
  return plan::explain("scatter", primitives::scatter_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
