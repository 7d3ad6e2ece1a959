#include <sheaf/gather.hpp>

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf {
namespace primitives {

std::span<const gather_variant> gather_variants() {
  static const std::vector<gather_variant> all = variants_of<gather_variant>();
  return all;
}

gather_problem describe_gather(const context& ctx, const_records table, index_span index, records out,
                               access_pattern pattern, bounds checking) {
  return {describe_movement(ctx, out, index, table, pattern, checking)};
}

}  // namespace primitives

void gather(const context& ctx, const_records table, index_span index, records out, const gather_options& options) {
  using namespace primitives;
  require_fit("gather", ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
  if (index.count == 0) return;
  const gather_problem problem = describe_gather(ctx, table, index, out, options.pattern, options.bounds);
  plan::execute("gather", gather_variants(), problem, ctx, options.variant, {table, index, out});
}

explanation explain_gather(const context& ctx, const_records table, index_span index, records out,
                           const gather_options& options) {
  using namespace primitives;
  require_shapes("gather", out, "out", index, table, "table");
  const gather_problem problem = describe_gather(ctx, table, index, out, options.pattern, options.bounds);
  return plan::explain("gather", gather_variants(), problem, ctx, options.variant);
}

}  // namespace sheaf
