#pragma once

#include "cuda/device/state.hpp"
#include "cuda/sort/msd/group/finish_groups.cuh"
#include "cuda/sort/msd/pass/kernels.cuh"
#include "cuda/sort/msd/scratch_layout.cuh"

// How a sort's kernels are queued. The files that include this instantiate them for one width of words.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload>
class msd_kernels {
 public:
  msd_kernels(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch)
      : ctx_(ctx),
        operation_(operation),
        scratch_(s, pass_tile_words<Limbs>, scratch),
        a_{s, scratch_.tables},
        processors_(static_cast<std::uint64_t>(state_of(ctx).multiprocessors())),
        tiles_(ceil_div(std::uint64_t{s.count}, pass_tile_words<Limbs>)) {}

  void queue() const {
    if (!is_one_group(a_)) {
      require(cudaMemsetAsync(a_.tables.counters, 0, sizeof(msd_counters), ctx_.stream()), operation_);
      queue_passes();
    }
    if (a_.uses_bitonic_network) return queue_finish_groups<finish_method::bitonic>();
    if (!is_short(a_.count)) queue_finish_groups<finish_method::bins>();
    queue_finish_groups<finish_method::merge>();
  }

 private:
  template <bool FromRows, bool HasSampledBins>
  using first_policy = msd_pass_policy<Limbs, Payload, FromRows, HasSampledBins>;
  using next_policy = next_pass_policy<Limbs, Payload>;

  template <class Kernel, class... Arguments>
  void launch(Kernel kernel, std::uint64_t blocks, std::size_t shared_bytes, Arguments... arguments) const {
    launch_overlapped(ctx_, operation_, kernel, blocks, pass_threads, shared_bytes, a_, arguments...);
  }

  void queue_passes() const {
    // Shared memory for the samples that the kernel before the first pass takes.
    const bool may_be_left = may_be_left_to_onesweep(a_);
    const std::size_t sample_bytes = sizeof(bin_sample) + (may_be_left ? sizeof(digit_sample) : 0);
    launch_shared(ctx_, operation_, prepare_first_pass<Limbs, Payload>, 1, pass_threads,
                  std::max(sizeof(msd_pass_shared), sample_bytes), a_, may_be_left);
    // Onesweep comes first, because the host queues the kernels of this sort while it runs: behind them it would wait
    // for a dozen launches.
    if (may_be_left) {
      run_onesweep(ctx_, operation_, a_, scratch_.of_onesweep, &a_.tables.counters->is_left_to_onesweep);
    }
    a_.rows.data != nullptr ? queue_first_pass<true>() : queue_first_pass<false>();
    // These are faster than run_remaining_passes, but take a launch for each phase even if there is nothing to do.
    const std::uint32_t passes_of_own_kernels = a_.count <= radix_bins * mean_full_group_words ? 1
                                                : a_.count < 1U << 26                          ? 2
                                                                                               : 4;
    for (std::uint32_t pass_number = 1; pass_number < passes_of_own_kernels; ++pass_number) {
      queue_counting<next_policy>(pass_number);
      queue_offsets<next_policy>(pass_number);
      queue_scatter<next_policy>(pass_number);
    }
    launch_cooperative(ctx_, operation_, run_remaining_passes<Limbs, Payload>, tiles_, pass_threads,
                       msd_pass_shared_bytes<next_policy>(), a_, passes_of_own_kernels);
  }

  /// Where keys were sampled, the kernels for both kinds of bins are queued, and those of one end at once.
  template <bool FromRows>
  void queue_first_pass() const {
    using by_digits = first_policy<FromRows, false>;
    queue_counting<by_digits>(0);
    if constexpr (Limbs <= 2) {
      using by_sample = first_policy<FromRows, true>;
      if (a_.tables.first_bins != nullptr) {
        queue_counting<by_sample>(0);
        queue_offsets<by_sample>(0);
        queue_scatter<by_digits>(0);
        return queue_scatter<by_sample>(0);
      }
    }
    queue_offsets<by_digits>(0);
    queue_scatter<by_digits>(0);
  }

  template <class Policy>
  void queue_counting(std::uint32_t pass_number) const {
    launch(count_digits<Policy>, std::min(tiles_, 3 * processors_), untiled_shared_bytes<Policy>, pass_number);
  }

  /// Buckets of the first passes are few, and each has at most one tile that is not full.
  std::uint64_t most_buckets(std::uint32_t pass_number) const {
    return pass_number == 0 ? 1 : pass_number == 1 ? radix_bins : 2 * processors_;
  }

  /// What follows from the digit counts.
  template <class Policy>
  void queue_offsets(std::uint32_t pass_number) const {
    const std::uint64_t buckets = most_buckets(pass_number);
    launch(scan_digit_counts<Policy>, buckets, sizeof(msd_pass_shared), pass_number);
    if constexpr (Policy::keeps_order) {
      launch(msd_scan_chunks<next_policy>, std::min(ceil_div(tiles_, chunk_tiles) + buckets, 4 * processors_),
             sizeof(msd_pass_shared), pass_number);
    }
  }

  template <class Policy>
  void queue_scatter(std::uint32_t pass_number) const {
    // Blocks of several tiles launch faster where there is nothing to do: with 2^28 keys, skewed ones take 0.12 ms
    // less. Keys with values are slower so, 7.7 ms instead of 7.3.
    const std::uint64_t tiles_of_block =
        Limbs == 1 && Payload == payload_mode::none && a_.count >= least_sampled_words ? 4 : 1;
    const bool fills_processors = Policy::has_sampled_bins && !carries_values(Payload);
    const std::uint64_t blocks = fills_processors  ? std::min(tiles_, 2 * processors_)
                                 : pass_number < 2 ? ceil_div(tiles_ + most_buckets(pass_number) - 1, tiles_of_block)
                                                   : std::min(tiles_, 8 * processors_);
    launch(msd_scatter_tiles<Policy>, blocks, msd_pass_shared_bytes<Policy>(), pass_number);
  }

  template <finish_method Method>
  void queue_finish_groups() const {
    constexpr std::size_t shared_bytes = finish_shared_bytes<Limbs, Payload, Method>();
    const auto kernel = finish_groups<Limbs, Payload, Method>;
    // The one kernel of its call waits for none before.
    if (is_one_group(a_)) return launch_shared(ctx_, operation_, kernel, 1, finish_threads, shared_bytes, a_);
    const std::uint64_t resident =
        state_of(ctx_).resident_blocks(reinterpret_cast<const void*>(kernel), finish_threads, shared_bytes);
    launch_overlapped(ctx_, operation_, kernel, std::min(resident, ceil_div(std::uint64_t{a_.count}, group_words / 4)),
                      finish_threads, shared_bytes, a_);
  }

  const context& ctx_;
  const char* operation_;
  msd_scratch scratch_;
  msd_arguments a_;
  std::uint64_t processors_;
  std::uint64_t tiles_;
};

/// Sorts words of so many limbs; values are beside words of one or two limbs alone.
template <int Limbs>
void run_msd_sort_of(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch) {
  if constexpr (Limbs <= 2) {
    if (s.value_bytes == 8) return msd_kernels<Limbs, payload_mode::values_8>(ctx, operation, s, scratch).queue();
    if (s.value_bytes == 4) return msd_kernels<Limbs, payload_mode::values_4>(ctx, operation, s, scratch).queue();
  }
  msd_kernels<Limbs, payload_mode::none>(ctx, operation, s, scratch).queue();
}

extern template void run_msd_sort_of<1>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_msd_sort_of<2>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_msd_sort_of<3>(const context&, const char*, const word_sort&, std::byte*);
extern template void run_msd_sort_of<4>(const context&, const char*, const word_sort&, std::byte*);

}  // namespace sheaf::cuda
