#include "rows.hpp"

namespace sheaf::bench {

std::vector<contender> contenders_of(const context& ctx, const problem& p, const row_options& options,
                                     const workspace& arrays) {
  return p.primitive == primitive::gather ? gather_contenders(ctx, p, options, arrays)
                                          : scatter_contenders(ctx, p, options, arrays);
}

std::vector<const variant_estimate*> measurable(const explanation& why) {
  std::vector<const variant_estimate*> variants;
  for (const variant_estimate& estimate : why.variants) {
    if (estimate.applicable && !estimate.variant.starts_with("reference.")) variants.push_back(&estimate);
  }
  return variants;
}

}  // namespace sheaf::bench
