#include <algorithm>

#include <sheaf/split.hpp>

#include "bench/harness/rows.hpp"
#include "bench/peers/split.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint32_t most_bits_of_call = 32;

split_key key_of(const problem& p, const_records keys, bit_field bits) {
  return p.key_bytes == 0 ? split_key::of_record(bits) : split_key::of(keys, bits);
}

std::uint32_t calls_of(const problem& p) { return (p.bits + most_bits_of_call - 1) / most_bits_of_call; }

/// The bits that call number `call` splits by, the lowest first. Calls are stable, so that each keeps the order of the
/// calls before it: a least-significant-digit sort.
bit_field bits_of_call(const problem& p, std::uint32_t call) {
  const std::uint32_t first = call * most_bits_of_call;
  return {first, std::min(most_bits_of_call, p.bits - first)};
}

explanation explained(const context& ctx, const problem& p, bit_field bits) {
  const split_key key = key_of(p, {nullptr, p.count, p.key_bytes}, bits);
  switch (p.primitive) {
    case primitive::split_gather_index: return explain_split_gather_index(ctx, key, p.index);
    case primitive::split_scatter_index: return explain_split_scatter_index(ctx, key, p.index);
    default: return explain_split(ctx, {nullptr, p.count, p.record_bytes}, key, p.primitive == primitive::split);
  }
}

// Runs the calls of a problem on one copy of the arrays. Several calls alternate between the target and scratch memory.
void run_calls(const context& ctx, const problem& p, const workspace& arrays, std::uint64_t copy,
               std::span<std::uint64_t> offsets, const split_options& options) {
  const std::uint32_t calls = calls_of(p);
  const records target = arrays.target(copy);
  const records intermediate{calls == 1 ? nullptr : arrays.scratch(p.count * p.record_bytes), p.count, p.record_bytes};
  const_records from = arrays.source(copy);
  for (std::uint32_t call = 0; call < calls; ++call) {
    const split_key key = key_of(p, arrays.keys(copy), bits_of_call(p, call));
    const records to = (calls - call) % 2 == 1 ? target : intermediate;
    switch (p.primitive) {
      case primitive::split: split(ctx, from, key, to, offsets, options); break;
      case primitive::split_unstable: split_unstable(ctx, from, key, to, offsets, options); break;
      case primitive::split_gather_index:
        split_gather_index(ctx, key, arrays.target_index(copy), offsets, options);
        break;
      default: split_scatter_index(ctx, key, arrays.target_index(copy), offsets, options);
    }
    from = to;
  }
}

contender ours(const context& ctx, const problem& p, const workspace& arrays, std::string who,
               const variant_estimate& estimate, bool by_name, bool timed_offsets) {
  const auto run = [ctx, p, &arrays, variant = by_name ? estimate.variant : std::string{}](std::uint64_t copy,
                                                                                           bool offsets) {
    run_calls(ctx, p, arrays, copy, offsets ? arrays.offsets() : std::span<std::uint64_t>{}, {variant});
  };
  contender c{.who = std::move(who),
              .variant = estimate.variant,
              .predicted_seconds = estimate.seconds,
              .scratch_bytes = estimate.scratch_bytes,
              .queue = [run, timed_offsets](std::uint64_t copy) { run(copy, timed_offsets); },
              .wait = [ctx] { ctx.wait(); }};
  for (std::uint32_t call = 1; call < calls_of(p); ++call) {
    const explanation why = explained(ctx, p, bits_of_call(p, call));
    for (const variant_estimate& of_call : why.variants) {
      if (of_call.variant == estimate.variant) c.predicted_seconds += of_call.seconds;
    }
  }
  if (calls_of(p) == 1) {
    c.queue_with_offsets = [run] { run(0, true); };
  } else {
    c.scratch_bytes += p.count * p.record_bytes;
  }
  return c;
}

/// Whether our calls can do it. Keys of more than 32 bits take several stable calls, and the record must hold its key.
bool can_run(const problem& p) {
  return p.bits <= most_bits_of_call || (p.primitive == primitive::split && p.key_bytes == 0);
}

}  // namespace

std::vector<contender> split_contenders(const context& ctx, const problem& p, const row_options& options,
                                        const workspace& arrays) {
  std::vector<contender> all;
  if (can_run(p)) {
    const explanation why = explained(ctx, p, bits_of_call(p, 0));
    if (why.choice() != nullptr) all.push_back(ours(ctx, p, arrays, "sheaf", *why.choice(), false, options.offsets));
    if (options.variants) {
      for (const variant_estimate* estimate : measurable(why)) {
        all.push_back(ours(ctx, p, arrays, estimate->variant, *estimate, true, options.offsets));
      }
    }
  }
  if (options.no_peer) return all;
  for (contender& peer : peers::split_peers(ctx, p, arrays)) all.push_back(std::move(peer));
  return all;
}

std::optional<contender> split_by_name(const context& ctx, const problem& p, const workspace& arrays,
                                       std::string_view variant) {
  if (!can_run(p)) return std::nullopt;
  for (const variant_estimate& estimate : explained(ctx, p, bits_of_call(p, 0)).variants) {
    if (estimate.variant != variant || !estimate.applicable) continue;
    return ours(ctx, p, arrays, estimate.variant, estimate, true, false);
  }
  return std::nullopt;
}

}  // namespace sheaf::bench
