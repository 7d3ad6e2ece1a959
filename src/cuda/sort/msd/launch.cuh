#pragma once

#include "cuda/device/state.hpp"
#include "cuda/sort/msd/group/finish_groups.cuh"
#include "cuda/sort/msd/pass/kernels.cuh"
#include "cuda/sort/msd/scratch_layout.cuh"

// How a sort's kernels are queued. The files that include this instantiate them for one width of words.
namespace sheaf::cuda {

/// Passes whose phases are kernels of their own. These are faster than run_remaining_passes, but take a launch each
/// even if there is nothing to do.
constexpr std::uint32_t passes_of_own_kernels(std::uint64_t count) {
  if (count <= std::uint64_t{radix_bins} * mean_full_group_words) return 1;
  return count < (std::uint64_t{1} << 26) ? 2 : 4;
}

template <class Policy>
void queue_counting(const context& ctx, const char* operation, const msd_pass_arguments& a, std::uint32_t pass_number) {
  const auto processors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  launch_overlapped(ctx, operation, count_digits<Policy>,
                    std::min(ceil_div(a.count, Policy::tile_words), 3 * processors), pass_threads,
                    untiled_shared_bytes<Policy>, a, pass_number);
}

/// Buckets of the first passes are few, and each has at most one tile that is not full.
inline std::uint64_t most_buckets(const context& ctx, std::uint32_t pass_number) {
  const auto processors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  return pass_number == 0 ? 1 : pass_number == 1 ? radix_bins : 2 * processors;
}

/// What follows from the digit counts.
template <class Policy>
void queue_offsets(const context& ctx, const char* operation, const msd_pass_arguments& a, std::uint32_t pass_number) {
  const std::uint64_t buckets = most_buckets(ctx, pass_number);
  launch_overlapped(ctx, operation, scan_digit_counts<Policy>, buckets, pass_threads, sizeof(msd_pass_shared), a,
                    pass_number);
  if constexpr (Policy::keeps_order) {
    // One kernel for all passes.
    using scan_policy = msd_pass_policy<Policy::limbs, Policy::payload, false, pass_bins::digits>;
    const auto processors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
    const std::uint64_t count_rows = ceil_div(ceil_div(a.count, Policy::tile_words), chunk_tiles) + buckets;
    launch_overlapped(ctx, operation, msd_scan_chunks<scan_policy>, std::min(count_rows, 4 * processors), pass_threads,
                      sizeof(msd_pass_shared), a, pass_number);
  }
}

template <class Policy>
void queue_scatter(const context& ctx, const char* operation, const msd_pass_arguments& a, std::uint32_t pass_number) {
  const auto processors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  const std::uint64_t tiles = ceil_div(a.count, Policy::tile_words);
  // Blocks of several tiles launch faster where there is nothing to do: with 2^28 keys, skewed ones take 0.12 ms less.
  // Keys with values are slower so, 7.7 ms instead of 7.3.
  const std::uint64_t tiles_of_block =
      Policy::limbs == 1 && Policy::payload == payload_mode::none && a.count >= 1U << 22 ? 4 : 1;
  const bool fills_processors = Policy::has_sampled_bins && !carries_values(Policy::payload);
  const std::uint64_t blocks = fills_processors  ? std::min(tiles, 2 * processors)
                               : pass_number < 2 ? ceil_div(tiles + most_buckets(ctx, pass_number) - 1, tiles_of_block)
                                                 : std::min(tiles, 8 * processors);
  launch_overlapped(ctx, operation, msd_scatter_tiles<Policy>, blocks, pass_threads, msd_pass_shared_bytes<Policy>(), a,
                    pass_number);
}

template <class Policy>
void queue_pass(const context& ctx, const char* operation, const msd_pass_arguments& a, std::uint32_t pass_number) {
  queue_counting<Policy>(ctx, operation, a, pass_number);
  queue_offsets<Policy>(ctx, operation, a, pass_number);
  queue_scatter<Policy>(ctx, operation, a, pass_number);
}

/// The first pass. Its kernels for sampled bins take any bins, but are slower where these are the highest 8 bits. In
/// long lists both kinds are queued, and those of one end at once.
template <int Limbs, payload_mode Payload, bool FromRows>
void queue_first_pass(const context& ctx, const char* operation, const msd_pass_arguments& a) {
  using by_digits = msd_pass_policy<Limbs, Payload, FromRows, pass_bins::digits>;
  if constexpr (Limbs <= 2) {
    using by_sample = msd_pass_policy<Limbs, Payload, FromRows, pass_bins::sampled>;
    if (a.tables.first_bins != nullptr) {
      if (a.has_two_first_passes) queue_counting<by_digits>(ctx, operation, a, 0);
      queue_counting<by_sample>(ctx, operation, a, 0);
      queue_offsets<by_sample>(ctx, operation, a, 0);
      if (a.has_two_first_passes) queue_scatter<by_digits>(ctx, operation, a, 0);
      return queue_scatter<by_sample>(ctx, operation, a, 0);
    }
  }
  queue_pass<by_digits>(ctx, operation, a, 0);
}

/// Shared memory for the samples that the kernel before the first pass takes.
template <int Limbs>
std::size_t prepare_shared_bytes(const word_sort& s) {
  const std::size_t digits = may_be_left_to_onesweep(s) ? sizeof(digit_sample) : 0;
  return std::max({sizeof(msd_pass_shared), sizeof(skew_sample), sizeof(bin_sample) + digits});
}

template <int Limbs, payload_mode Payload>
void queue_passes(const context& ctx, const char* operation, const word_sort& s, const msd_scratch& scratch) {
  const msd_tables& tables = scratch.tables;
  const msd_pass_arguments a{{s.in, s.buffers[0], s.buffers[1]},
                             {s.values, s.value_buffers[0], s.value_buffers[1]},
                             tables,
                             static_cast<std::uint32_t>(s.count),
                             most_merged_words(s.count),
                             s.key_low,
                             s.key_high,
                             samples_bins(s) && has_two_first_passes(s),
                             s.target.words,
                             s.rows,
                             s.target.transform};
  launch_shared(ctx, operation, prepare_first_pass<Limbs, Payload>, 1, pass_threads, prepare_shared_bytes<Limbs>(s), a,
                may_be_left_to_onesweep(s), s.from_rows);
  // Onesweep comes first, because the host queues the kernels of this sort while it runs: behind them it would wait for
  // a dozen launches.
  if (may_be_left_to_onesweep(s)) {
    run_onesweep(ctx, operation, s, scratch.of_onesweep, &tables.counters->is_left_to_onesweep);
  }
  const std::uint32_t queued = passes_of_own_kernels(s.count);
  if (s.from_rows) {
    queue_first_pass<Limbs, Payload, true>(ctx, operation, a);
  } else {
    queue_first_pass<Limbs, Payload, false>(ctx, operation, a);
  }
  for (std::uint32_t pass_number = 1; pass_number < queued; ++pass_number) {
    // In the large buckets of the first passes few keys are frequent enough for a bin of their own: 2^28 random keys
    // of 4 bytes took 4.9 ms with such bins in all passes, 4.5 ms with them from the third pass on.
    if (pass_number < 2) {
      queue_pass<msd_pass_policy<Limbs, Payload, false, pass_bins::digits>>(ctx, operation, a, pass_number);
    } else {
      queue_pass<remaining_passes_policy<Limbs, Payload>>(ctx, operation, a, pass_number);
    }
  }
  launch_cooperative(ctx, operation, run_remaining_passes<Limbs, Payload>, ceil_div(s.count, pass_tile_words<Limbs>),
                     pass_threads, msd_pass_shared_bytes<remaining_passes_policy<Limbs, Payload>>(), a, queued);
}

template <int Limbs, payload_mode Payload, finish_method Method>
void queue_finish_groups(const context& ctx, const char* operation, const finish_arguments& a, std::uint64_t count) {
  constexpr std::size_t shared_bytes = finish_shared_bytes<Limbs, Payload, Method>();
  const auto kernel = finish_groups<Limbs, Payload, Method>;
  const std::uint64_t resident =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(kernel), finish_threads, shared_bytes);
  const std::uint64_t groups = a.only_group_count > 0 ? 1 : ceil_div(count, group_words / 4);
  const bool is_first_of_call = a.only_group_count > 0;
  if (is_first_of_call) return launch_shared(ctx, operation, kernel, 1, finish_threads, shared_bytes, a);
  launch_overlapped(ctx, operation, kernel, std::min(resident, groups), finish_threads, shared_bytes, a);
}

template <int Limbs, payload_mode Payload>
void queue_finish(const context& ctx, const char* operation, const word_sort& s, const msd_tables& tables) {
  const finish_arguments a{{s.in, s.buffers[0], s.buffers[1]},
                           {s.values, s.value_buffers[0], s.value_buffers[1]},
                           tables,
                           s.key_low,
                           s.key_high,
                           s.target,
                           s.values_to,
                           s.count <= group_words ? static_cast<std::uint32_t>(s.count) : 0,
                           s.count <= group_words && s.from_rows,
                           s.rows};
  if (s.uses_bitonic_network)
    return queue_finish_groups<Limbs, Payload, finish_method::bitonic>(ctx, operation, a, s.count);
  if (!is_short(s.count)) queue_finish_groups<Limbs, Payload, finish_method::bins>(ctx, operation, a, s.count);
  queue_finish_groups<Limbs, Payload, finish_method::hot_bins>(ctx, operation, a, s.count);
}

template <int Limbs, payload_mode Payload>
void run_msd_sort_of(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch) {
  const msd_scratch own(s, pass_tile_words<Limbs>, scratch);
  if (s.count > group_words) {
    require(cudaMemsetAsync(own.tables.counters, 0, sizeof(msd_counters), ctx.stream()), operation);
    queue_passes<Limbs, Payload>(ctx, operation, s, own);
  }
  queue_finish<Limbs, Payload>(ctx, operation, s, own.tables);
}

/// Sorts words without values in arrays of their own.
template <int Limbs>
void run_word_sort(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch) {
  run_msd_sort_of<Limbs, payload_mode::none>(ctx, operation, s, scratch);
}

/// Sorts words that are keys alone, whose values are in an array of their own.
template <int Limbs>
void run_pair_sort(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch) {
  if (s.value_bytes == 8) return run_msd_sort_of<Limbs, payload_mode::values_8>(ctx, operation, s, scratch);
  run_msd_sort_of<Limbs, payload_mode::values_4>(ctx, operation, s, scratch);
}

extern template void run_word_sort<1>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_word_sort<2>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_word_sort<3>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_word_sort<4>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_pair_sort<1>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_pair_sort<2>(const context&, const char*, const word_sort&, std::byte*);

}  // namespace sheaf::cuda
