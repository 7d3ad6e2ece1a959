#pragma once

#include <utility>

#include "peers.hpp"
#include "rows.hpp"

namespace sheaf::bench {

/// What tells gather's rows from scatter's: Primitive has options, run(), explain() and peer().
template <class Primitive>
contender ours(const context& ctx, const workspace& arrays, std::string who, const variant_estimate& estimate,
               const typename Primitive::options& options, bool by_name) {
  const auto queue = [ctx, &arrays, options, variant = by_name ? estimate.variant : std::string{}](std::uint64_t copy) {
    auto named = options;
    named.variant = variant;
    Primitive::run(ctx, arrays.source(copy), arrays.index(copy), arrays.target(copy), named);
  };
  return {std::move(who), estimate.variant, estimate.seconds, estimate.scratch_bytes, queue, [ctx] { ctx.wait(); }};
}

template <class Primitive>
std::vector<contender> movement_contenders(const context& ctx, const problem& p, const row_options& options,
                                           const workspace& arrays) {
  typename Primitive::options how;
  if (options.hint) how.pattern = inputs::hint(p.pattern);
  const auto explain = [&] {
    return Primitive::explain(ctx, {nullptr, p.count, p.record_bytes}, {nullptr, p.count, p.index},
                              {nullptr, p.count, p.record_bytes}, how);
  };
  std::vector<contender> all;
  const auto add_choice = [&](const explanation& why, const char* who) {
    if (why.choice() != nullptr) all.push_back(ours<Primitive>(ctx, arrays, who, *why.choice(), how, false));
  };

  const explanation why = explain();
  add_choice(why, "sheaf");
  if (options.variants) {
    for (const variant_estimate* estimate : measurable(why)) {
      all.push_back(ours<Primitive>(ctx, arrays, estimate->variant, *estimate, how, true));
    }
  }
  if (options.trust) {
    how.bounds = bounds::trust;
    add_choice(explain(), "sheaf.trust");
  }
  if (const peers::move_records peer = Primitive::peer(ctx.backend(), p.record_bytes, p.index)) {
    const auto queue = [ctx, &arrays, peer](std::uint64_t copy) {
      peer(ctx, arrays.source(copy), arrays.index(copy), arrays.target(copy));
    };
    all.push_back({std::string(peers::name(ctx.backend())), "", 0, 0, queue, [ctx] { peers::wait(ctx); }});
  }
  return all;
}

}  // namespace sheaf::bench
