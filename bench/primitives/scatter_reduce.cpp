#include <sheaf/scatter_reduce.hpp>

#include "bench/harness/rows.hpp"
#include "bench/peers/split.hpp"

namespace sheaf::bench {
namespace {

contender ours(const context& ctx, const workspace& arrays, std::string who, const variant_estimate& estimate,
               const scatter_reduce_options& options, bool by_name) {
  const auto queue = [ctx, &arrays, options, variant = by_name ? estimate.variant : std::string{}](std::uint64_t copy) {
    scatter_reduce_options named = options;
    named.variant = variant;
    scatter_reduce(ctx, arrays.source_values(copy), arrays.index(copy), arrays.target_values(copy), reduction::add,
                   named);
  };
  return {.who = std::move(who),
          .variant = estimate.variant,
          .predicted_seconds = estimate.seconds,
          .scratch_bytes = estimate.scratch_bytes,
          .queue = queue,
          .wait = [ctx] { ctx.wait(); }};
}

}  // namespace

std::vector<contender> reduce_contenders(const context& ctx, const problem& p, const row_options& options,
                                         const workspace& arrays) {
  scatter_reduce_options call_options{.order = p.order};
  if (options.hint) call_options.pattern = inputs::hint(p.pattern);
  const auto explain = [&] {
    return explain_scatter_reduce(ctx, {nullptr, p.count, p.value}, {nullptr, p.count, p.index},
                                  {nullptr, p.slots, p.value}, reduction::add, call_options);
  };
  std::vector<contender> all;
  const explanation why = explain();
  if (why.choice() != nullptr) all.push_back(ours(ctx, arrays, "sheaf", *why.choice(), call_options, false));
  if (options.variants) {
    for (const variant_estimate* estimate : measurable(why)) {
      all.push_back(ours(ctx, arrays, estimate->variant, *estimate, call_options, true));
    }
  }
  if (options.trust) {
    call_options.bounds = bounds::trust;
    const explanation trusted = explain();
    if (trusted.choice() != nullptr)
      all.push_back(ours(ctx, arrays, "sheaf.trust", *trusted.choice(), call_options, false));
  }
  if (options.no_peer) return all;
  for (contender& peer : peers::reduce_peers(ctx, p, arrays)) all.push_back(std::move(peer));
  return all;
}

}  // namespace sheaf::bench
