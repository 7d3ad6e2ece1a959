#include <algorithm>

#include "cuda/split/arguments.cuh"
#include "cuda/split/pair_pass.cuh"
#include "cuda/split/passes.hpp"
#include "primitives/category.hpp"

namespace sheaf::cuda {
namespace {

std::uint64_t aligned(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

/// Whether passes but the last keep away from the output: what is left out must not have been written there before.
bool spares_out(const pair_passes& p) { return p.drops_bad && passes_of(p) > 2; }

/// Where the parts of the scratch begin, in bytes.
struct pair_room {
  std::uint64_t keys[2];
  std::uint64_t values[2];
  std::uint64_t tables;
  std::uint64_t bytes;

  explicit pair_room(const pair_passes& p) {
    const std::uint64_t key_bytes = aligned(p.count * sizeof(std::uint32_t));
    const std::uint32_t written = passes_of(p) - (p.keeps_keys ? 0 : 1);  // passes that write keys
    keys[0] = 0;
    keys[1] = written > 0 ? key_bytes : 0;
    const std::uint64_t value_bytes = aligned(p.count * p.value_bytes);
    values[0] = keys[1] + (written > 1 ? key_bytes : 0);
    values[1] = values[0] + (passes_of(p) > 1 ? value_bytes : 0);
    tables = values[1] + (spares_out(p) ? value_bytes : 0);
    bytes = tables + std::max(stable_scratch_bytes(p.count, p.value_bytes), p.stable ? 0 : unordered_scratch_bytes);
  }
};

template <class Value, bool First, bool Stable>
void launch_pairs(const context& ctx, const char* what, const pair_pass_arguments& a) {
  launch_shared(ctx, what, split_pair_tiles<Value, First, Stable>,
                ceil_div(a.count, std::uint64_t{pair_threads} * pair_items<Value>), pair_threads,
                pair_shared_bytes<Value, Stable>(), a);
}

template <class Value>
void launch_pairs_of(const context& ctx, const char* what, const pair_pass_arguments& a, bool stable) {
  if (a.keys_in != nullptr) {
    launch_pairs<Value, false, true>(ctx, what, a);
  } else if (stable) {
    launch_pairs<Value, true, true>(ctx, what, a);
  } else {
    launch_pairs<Value, true, false>(ctx, what, a);
  }
}

/// What the counting of a pass reads: the digit of words, or of the caller's keys.
key_arguments counted_keys(const context& ctx, const pair_passes& p, const pair_pass_arguments& a,
                           std::uint32_t digit) {
  if (a.keys_in == nullptr) {
    key_arguments key = a.key;
    key.bin_mask = a.mask;
    if (p.keys.checks) {
      key.guard = state_of(ctx).guard(p.keys.role, p.keys.type, p.keys.categories);
    } else {
      key.bits = primitives::part_of(p.keys.bits, 0, digit);
      if (key.word_bytes != 0) key.field = word_field_of(key.bits, key.word_bytes);
    }
    return key;
  }
  return keys_of({.data = reinterpret_cast<const std::byte*>(a.keys_in),
                  .stride = sizeof(std::uint32_t),
                  .word_bytes = sizeof(std::uint32_t),
                  .bits = {a.shift, digit}});
}

}  // namespace

std::uint32_t passes_of(const pair_passes& p) { return static_cast<std::uint32_t>(ceil_div(p.key_bits, digit_bits)); }

std::uint64_t pair_scratch_bytes(const pair_passes& p) { return pair_room(p).bytes; }

const std::uint32_t* run_pair_passes(const context& ctx, const char* what, const pair_passes& p, std::byte* scratch) {
  const pair_room room(p);
  const std::uint32_t passes = passes_of(p);
  const std::uint32_t tile = split_tile_records(p.value_bytes, narrow_bins);
  void* const tables = scratch + room.tables;
  pair_pass_arguments a{};
  a.values_in = p.values;
  a.count = p.count;
  a.key = keys_of(p.keys);
  a.key.bad_bin = static_cast<std::uint32_t>(p.keys.categories);
  for (std::uint32_t i = 0; i < passes; ++i) {
    const std::uint32_t low = p.key_bits * i / passes;
    const std::uint32_t digit = p.key_bits * (i + 1) / passes - low;
    const bool last = i + 1 == passes;
    const bool stable = p.stable || i > 0;
    a.shift = low;
    a.mask = (1U << digit) - 1;
    a.keys_out = last && !p.keeps_keys ? nullptr : reinterpret_cast<std::uint32_t*>(scratch + room.keys[i % 2]);
    const bool to_out = last || ((passes - i) % 2 == 1 && !spares_out(p));
    a.values_out = to_out ? p.out : scratch + room.values[spares_out(p) ? i % 2 : 0];
    a.drops = last && p.drops_bad ? 1 : 0;
    a.limit = static_cast<std::uint32_t>(p.keys.categories);
    const key_arguments counted = counted_keys(ctx, p, a, digit);
    a.runs = stable
                 ? begin_stable_runs(ctx, what, counted, p.count, tile, nullptr, narrow_bins, tables)
                 : begin_unordered_runs<narrow_bins>(ctx, what, counted, p.count, tile, nullptr, narrow_bins, tables);
    if (a.runs.bin_begin == nullptr) a.key.guard = counted.guard;  // nothing was counted: the only tile reports
    switch (p.value_bytes) {
      case 4: launch_pairs_of<std::uint32_t>(ctx, what, a, stable); break;
      case 8: launch_pairs_of<uint2>(ctx, what, a, stable); break;
      default: launch_pairs_of<uint4>(ctx, what, a, stable);
    }
    a.keys_in = a.keys_out;
    a.values_in = a.values_out;
  }
  return p.keeps_keys ? a.keys_out : nullptr;
}

}  // namespace sheaf::cuda
