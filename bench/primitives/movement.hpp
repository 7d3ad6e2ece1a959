#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sheaf/prepared.hpp>

#include "bench/harness/rows.hpp"
#include "bench/peers/movement.hpp"
#include "plan/he2007.hpp"

namespace sheaf::bench {

/// Rows of gather and of scatter. Primitive, which tells them apart, has options, run(), explain(), prepare(), peer().
template <class Primitive>
contender ours(const context& ctx, const workspace& arrays, const std::string& who, const variant_estimate& estimate,
               const typename Primitive::options& options, bool by_name) {
  const auto queue = [ctx, &arrays, options, variant = by_name ? estimate.variant : std::string{}](std::uint64_t copy) {
    auto named = options;
    named.variant = variant;
    Primitive::run(ctx, arrays.source(copy), arrays.index(copy), arrays.target(copy), named);
  };
  return {.who = who,
          .variant = estimate.variant,
          .predicted_seconds = estimate.seconds,
          .scratch_bytes = estimate.scratch_bytes,
          .queue = queue,
          .wait = [ctx] { ctx.wait(); }};
}

/// The expected number of runs that prepare() is given: so many that the inspector's cost does not count.
constexpr std::uint64_t expected_runs = 1000;
/// Upper bound on the memory of a prepared list: bytes kept and scratch bytes, for an entry of the list.
constexpr std::uint64_t prepared_bytes = 48;

template <class Primitive>
contender prepared(const context& ctx, const problem& p, const workspace& arrays, access_pattern pattern) {
  using handle = decltype(Primitive::prepare(ctx, index_span{}, 0, 0, 0, prepare_options{}));
  const auto handles = std::make_shared<std::vector<handle>>();
  const auto prepare = [ctx, p, &arrays, pattern, handles](std::uint64_t copies) {
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      handles->push_back(
          Primitive::prepare(ctx, arrays.index(copy), p.count, p.record_bytes, expected_runs, {.pattern = pattern}));
    }
  };
  return {.who = "sheaf.prepared",
          .variant = "prepared",
          .scratch_bytes = p.count * (prepared_bytes + p.record_bytes),
          .queue = [&arrays,
                    handles](std::uint64_t copy) { (*handles)[copy].run(arrays.source(copy), arrays.target(copy)); },
          .wait = [ctx] { ctx.wait(); },
          .prepare = prepare};
}

/// Seconds that the 2007 paper's model predicts for the row in one pass.
inline double he2007_prediction(const problem& p, access_pattern pattern, const machine& m) {
  const plan::he2007::sizes sizes{p.count, p.count, p.record_bytes, p.count * sheaf::bytes(p.index)};
  return p.primitive == primitive::gather ? plan::he2007::predict_gather(sizes, pattern, m)
                                          : plan::he2007::predict_scatter(sizes, pattern, m);
}

template <class Primitive>
std::vector<contender> movement_contenders(const context& ctx, const problem& p, const row_options& options,
                                           const workspace& arrays) {
  typename Primitive::options call_options;
  if (options.hint) call_options.pattern = inputs::hint(p.pattern);
  const auto explain = [&] {
    return Primitive::explain(ctx, {nullptr, p.count, p.record_bytes}, {nullptr, p.count, p.index},
                              {nullptr, p.count, p.record_bytes}, call_options);
  };
  std::vector<contender> all;
  const auto add_choice = [&](const explanation& why, const char* who) {
    if (why.choice() == nullptr) return;
    all.push_back(ours<Primitive>(ctx, arrays, who, *why.choice(), call_options, false));
    all.back().he2007_seconds = he2007_prediction(p, call_options.pattern, ctx.profile());
  };

  const explanation why = explain();
  add_choice(why, "sheaf");
  if (options.variants) {
    for (const variant_estimate* estimate : measurable(why)) {
      all.push_back(ours<Primitive>(ctx, arrays, estimate->variant, *estimate, call_options, true));
    }
  }
  if (options.trust) {
    call_options.bounds = bounds::trust;
    add_choice(explain(), "sheaf.trust");
  }
  if (options.prepared) all.push_back(prepared<Primitive>(ctx, p, arrays, call_options.pattern));
  if (options.no_peer) return all;
  if (const peers::move_records peer = Primitive::peer(ctx.backend(), p.record_bytes, p.index)) {
    const auto queue = [ctx, &arrays, peer](std::uint64_t copy) {
      peer(ctx, arrays.source(copy), arrays.index(copy), arrays.target(copy));
    };
    all.push_back(
        {.who = std::string(peers::name(ctx.backend())), .queue = queue, .wait = [ctx] { peers::wait(ctx); }});
  }
  return all;
}

}  // namespace sheaf::bench
