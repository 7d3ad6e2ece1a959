#include <sheaf/sort.hpp>

#include "bench/harness/rows.hpp"
#include "bench/peers/sort.hpp"

namespace sheaf::bench {
namespace {

sort_key key_of(const problem& p) {
  const auto key_bytes = static_cast<std::uint32_t>(p.key_bytes);
  return key_field{0, key_bytes, p.number, false, p.first_bit, p.bits};
}

explanation explained(const context& ctx, const problem& p) {
  const const_records rows{nullptr, p.count, p.record_bytes};
  const const_records keys{nullptr, p.count, p.key_bytes};
  switch (p.primitive) {
    case primitive::sort_pairs: {
      const sort_column values{rows, {nullptr, p.count, p.record_bytes}};
      return explain_sort_pairs(ctx, keys, key_of(p), true, std::span(&values, 1));
    }
    case primitive::sort_gather_index: return explain_sort_gather_index(ctx, keys, key_of(p), p.index);
    default: return explain_sort(ctx, rows, key_of(p));
  }
}

void run(const context& ctx, const problem& p, const workspace& arrays, std::uint64_t copy,
         const sort_options& options) {
  switch (p.primitive) {
    case primitive::sort_pairs: {
      const sort_column values{arrays.source(copy), arrays.target(copy)};
      sort_pairs(ctx, arrays.keys(copy), key_of(p), arrays.sorted_keys(copy), std::span(&values, 1), options);
      return;
    }
    case primitive::sort_gather_index:
      sort_gather_index(ctx, arrays.keys(copy), key_of(p), arrays.target_index(copy), options);
      return;
    default: sort_records(ctx, arrays.source(copy), key_of(p), arrays.target(copy), options);
  }
}

contender ours(const context& ctx, const problem& p, const workspace& arrays, std::string who,
               const variant_estimate& estimate, bool by_name) {
  const auto queue = [ctx, p, &arrays, variant = by_name ? estimate.variant : std::string{}](std::uint64_t copy) {
    run(ctx, p, arrays, copy, {variant});
  };
  return {.who = std::move(who),
          .variant = estimate.variant,
          .predicted_seconds = estimate.seconds,
          .scratch_bytes = estimate.scratch_bytes,
          .queue = queue,
          .wait = [ctx] { ctx.wait(); }};
}

}  // namespace

std::vector<contender> sort_contenders(const context& ctx, const problem& p, const row_options& options,
                                       const workspace& arrays) {
  std::vector<contender> all;
  const explanation why = explained(ctx, p);
  if (why.choice() != nullptr) all.push_back(ours(ctx, p, arrays, "sheaf", *why.choice(), false));
  if (options.variants) {
    for (const variant_estimate* estimate : measurable(why)) {
      all.push_back(ours(ctx, p, arrays, estimate->variant, *estimate, true));
    }
  }
  if (options.no_peer) return all;
  for (contender& peer : peers::sort_peers(ctx, p, arrays)) all.push_back(std::move(peer));
  return all;
}

std::optional<contender> sort_by_name(const context& ctx, const problem& p, const workspace& arrays,
                                      std::string_view variant) {
  for (const variant_estimate& estimate : explained(ctx, p).variants) {
    if (estimate.variant != variant || !estimate.applicable) continue;
    return ours(ctx, p, arrays, estimate.variant, estimate, true);
  }
  return std::nullopt;
}

}  // namespace sheaf::bench
