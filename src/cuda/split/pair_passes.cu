#include "core/scratch_offsets.hpp"
#include "cuda/split/launch.cuh"
#include "cuda/split/pair_scatter_kernel.cuh"
#include "cuda/split/passes.hpp"

namespace sheaf::cuda {
namespace {

/// Whether only the last pass may write the output. It leaves out values of bad keys, and the space past those that it
/// writes must be as the caller left it.
bool only_last_writes_out(const pair_passes& p) { return p.drops_bad_keys && pass_count(p) > 2; }

/// Where the parts of the scratch begin, in bytes.
struct pair_scratch_layout {
  std::uint64_t keys[2];    ///< passes write to these in turn
  std::uint64_t values[2];  ///< likewise, besides the output
  std::uint64_t pass;       ///< scratch of a pass
  std::uint64_t bytes;      ///< size of the whole scratch

  explicit pair_scratch_layout(const pair_passes& passes) {
    const std::uint64_t key_bytes = core::scratch_aligned(passes.count * sizeof(std::uint32_t));
    const std::uint64_t value_bytes = core::scratch_aligned(passes.count * passes.value_bytes);
    const std::uint32_t passes_writing_keys = pass_count(passes) - (passes.writes_keys ? 0 : 1);
    keys[0] = 0;
    keys[1] = passes_writing_keys > 0 ? key_bytes : 0;
    values[0] = keys[1] + (passes_writing_keys > 1 ? key_bytes : 0);
    values[1] = values[0] + (pass_count(passes) > 1 ? value_bytes : 0);
    pass = values[1] + (only_last_writes_out(passes) ? value_bytes : 0);
    bytes = pass + std::max(stable_scratch_bytes(passes.count, passes.value_bytes),
                            passes.stable ? 0 : unordered_scratch_bytes);
  }
};

template <class Value, pass_position Position, record_order Order>
void launch_scatter(const context& ctx, const pair_scatter_arguments& args) {
  const auto kernel = scatter_pair_tiles<Value, Position, Order>;
  const std::uint64_t tiles = ceil_div(args.count, std::uint64_t{pair_threads} * pairs_per_thread<Value>);
  constexpr std::size_t shared_bytes = pair_shared_bytes<Value, Order>();
  const bool may_be_first_of_call = args.runs.bin_begin == nullptr;
  if (may_be_first_of_call) return launch_shared(ctx, kernel, tiles, pair_threads, shared_bytes, args);
  launch_overlapped(ctx, kernel, tiles, pair_threads, shared_bytes, args);
}

template <class Value>
void launch_scatter_of(const context& ctx, const pair_scatter_arguments& args, bool stable) {
  if (args.keys_in != nullptr) {
    launch_scatter<Value, pass_position::later, record_order::stable>(ctx, args);
  } else if (stable) {
    launch_scatter<Value, pass_position::first, record_order::stable>(ctx, args);
  } else {
    launch_scatter<Value, pass_position::first, record_order::unordered>(ctx, args);
  }
}

/// The keys whose digit the histogram of a pass counts: the caller's, or those that the pass before wrote.
key_arguments counted_keys(const context& ctx, const pair_passes& passes, const pair_scatter_arguments& args,
                           std::uint32_t digit) {
  if (args.keys_in == nullptr) {
    key_arguments key = args.key;
    key.bin_mask = args.digit_mask;
    if (passes.keys.may_be_bad) {
      key.guard = state_of(ctx).guard(*passes.keys.wording, passes.keys.type, passes.keys.categories);
    } else {
      key.bits = primitives::part_of(passes.keys.bits, 0, digit);
      if (key.word_bytes != 0) key.field = word_field_of(key.bits, key.word_bytes);
    }
    return key;
  }
  return keys_of({.data = reinterpret_cast<const std::byte*>(args.keys_in),
                  .stride = sizeof(std::uint32_t),
                  .word_bytes = sizeof(std::uint32_t),
                  .bits = {args.digit_shift, digit}});
}

}  // namespace

std::uint32_t pass_count(const pair_passes& p) { return static_cast<std::uint32_t>(ceil_div(p.key_bits, digit_bits)); }

std::uint64_t pair_scratch_bytes(const pair_passes& p) { return pair_scratch_layout(p).bytes; }

const std::uint32_t* run_pair_passes(const context& ctx, const pair_passes& passes, std::byte* scratch) {
  const pair_scratch_layout layout(passes);
  const std::uint32_t all_passes = pass_count(passes);
  const std::uint32_t tile_records = split_tile_records(passes.value_bytes, narrow_bins);
  void* const pass_scratch = scratch + layout.pass;
  pair_scatter_arguments args{};
  args.values_in = passes.values;
  args.count = passes.count;
  args.key = keys_of(passes.keys);
  args.key.bad_bin = static_cast<std::uint32_t>(passes.keys.categories);
  for (std::uint32_t i = 0; i < all_passes; ++i) {
    const std::uint32_t low = passes.key_bits * i / all_passes;
    const std::uint32_t digit = passes.key_bits * (i + 1) / all_passes - low;
    const bool is_last = i + 1 == all_passes;
    const bool is_stable = passes.stable || i > 0;
    args.digit_shift = low;
    args.digit_mask = (1U << digit) - 1;
    args.keys_out =
        is_last && !passes.writes_keys ? nullptr : reinterpret_cast<std::uint32_t*>(scratch + layout.keys[i % 2]);
    const bool writes_out = is_last || ((all_passes - i) % 2 == 1 && !only_last_writes_out(passes));
    args.values_out = writes_out ? passes.out : scratch + layout.values[only_last_writes_out(passes) ? i % 2 : 0];
    args.drops_bad_keys = is_last && passes.drops_bad_keys ? 1 : 0;
    args.first_bad_key = static_cast<std::uint32_t>(passes.keys.categories);
    const key_arguments counted = counted_keys(ctx, passes, args, digit);
    args.runs = is_stable
                    ? count_and_scan_tiles(ctx, counted, passes.count, tile_records, nullptr, narrow_bins, pass_scratch)
                    : count_and_scan_list<narrow_bins>(ctx, counted, passes.count, tile_records, nullptr, narrow_bins,
                                                       pass_scratch);
    if (args.runs.bin_begin == nullptr)
      args.key.guard = counted.guard;  // without a histogram, the scatter kernel reports
    switch (passes.value_bytes) {
      case 4: launch_scatter_of<std::uint32_t>(ctx, args, is_stable); break;
      case 8: launch_scatter_of<uint2>(ctx, args, is_stable); break;
      default: launch_scatter_of<uint4>(ctx, args, is_stable);
    }
    args.keys_in = args.keys_out;
    args.values_in = args.values_out;
  }
  return passes.writes_keys ? args.keys_out : nullptr;
}

}  // namespace sheaf::cuda
