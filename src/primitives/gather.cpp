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

gather_problem describe_gather(const context& ctx, const_records table, index_span index, records out,
                               access_pattern pattern, bounds checking) {
  return {describe_movement(ctx, out, index, table, pattern, checking)};
}

void run_gather(const context& ctx, const gather_problem& problem, const gather_buffers& buffers,
                std::string_view forced) {
  if (problem.count == 0) return;
  const auto [variant, plan] = plan::choose("gather", gather_variants(), problem, ctx, forced);
  variant->run(ctx, problem, plan, buffers);
}

}  // namespace primitives

void gather(const context& ctx, const_records table, index_span index, records out, const gather_options& options) {
  using namespace primitives;
  require_fit("gather", ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
  run_gather(ctx, describe_gather(ctx, table, index, out, options.pattern, options.bounds), {table, index, out},
             options.variant);
}

explanation explain_gather(const context& ctx, const_records table, index_span index, records out,
                           const gather_options& options) {
  using namespace primitives;
  require_shapes("gather", out, "out", index, table, "table");
  const gather_problem problem = describe_gather(ctx, table, index, out, options.pattern, options.bounds);
  return plan::explain("gather", gather_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
