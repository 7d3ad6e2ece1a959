#include "primitives/movement/scatter.hpp"

#include <sheaf/scatter.hpp>

#include "plan/choose.hpp"
#include "primitives/backends.hpp"

namespace sheaf {
namespace primitives {

std::span<const scatter_variant> scatter_variants() {
  static const std::vector<scatter_variant> all = variants_of<scatter_variant>();
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
  plan::execute("scatter", primitives::scatter_variants(), problem, ctx, options.variant, {in, index, out});
}

explanation explain_scatter(const context& ctx, const_records in, index_span index, records out,
                            const scatter_options& options) {
  primitives::require_shapes("scatter", in, "in", index, out, "out");
  const auto problem = primitives::describe(ctx, in, index, out, options);
  return plan::explain("scatter", primitives::scatter_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
