#pragma once

#include <sheaf/error.hpp>

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/sort/radix/group/finish_groups.cuh"
#include "cuda/sort/radix/kernel.cuh"
#include "cuda/sort/radix/run.hpp"

// How a sort's kernels are queued. words.cu.in instantiates them, in one file for each width of words.
namespace sheaf::cuda {

/// The tables of a sort in its scratch; without scratch, their size alone.
struct radix_scratch {
  radix_tables tables{};
  std::uint64_t bytes = 0;

  radix_scratch(const word_sort& sort, std::uint64_t tile_words, std::byte* scratch) {
    if (is_one_group(sort)) return;
    core::scratch_arrays arrays(scratch);
    const std::uint64_t tiles = (sort.count + tile_words - 1) / tile_words;
    tables.counters = arrays.take<radix_counters>(1);
    tables.histogram = arrays.take<std::uint32_t>(sort.limbs * std::uint64_t{4} * radix_bins);
    for (std::uint32_t*& states : tables.tile_states) states = arrays.take<std::uint32_t>(tiles * radix_bins);
    if (may_sort_by_codes(sort)) {
      const std::uint64_t codes = most_codes(sort.count);
      // Any two neighbouring groups of a warp's codes have more than merged_group_words words together, but for the
      // last and those beside a crowded code.
      const std::uint64_t groups = 2 * (sort.count / merged_group_words(sort.count) + sort.count / most_group_words) +
                                   2 * (codes / codes_of_warp) + 4;
      tables.map = arrays.take<code_map>(1);
      tables.code_begin = arrays.take<std::uint32_t>(codes + 1);
      tables.mixed_begin = arrays.take<std::uint32_t>(codes);
      tables.crowded = arrays.take<crowded_part>(sort.count / crowded_part_words + sort.count / most_group_words + 1);
      tables.groups = arrays.take<word_group>(groups);
      tables.hot_groups = arrays.take<word_group>(groups);
    }
    bytes = arrays.bytes();
  }
};

/// Words of the shortest tile that either kernel of a sort has.
template <int Limbs, value_width Values>
std::uint64_t tile_words(const word_sort& s) {
  if (has_short_tiles<Limbs, Values>(s.count)) {
    return tile_tuning<Limbs, Values, tile_length::of_short_list>::tile_words;
  }
  return std::min(tile_tuning<Limbs, Values, tile_length::of_long_list>::tile_words,
                  tile_tuning<Limbs, Values, tile_length::of_coded_list>::tile_words);
}

template <int Limbs, value_width Values, tile_length Length>
void queue_passes(const context& ctx, const radix_arguments& args) {
  const auto launch = [&](auto kernel, auto tuning, std::size_t shared_bytes) {
    launch_cooperative(ctx, kernel, ceil_div(std::uint64_t{args.count}, tuning.tile_words), tuning.threads,
                       shared_bytes, args);
  };
  if constexpr (Values != value_width::values_16) {
    constexpr tile_length coded = Length == tile_length::of_long_list ? tile_length::of_coded_list : Length;
    if (has_codes_kernel(args)) {
      launch(sort_words_by_codes<Limbs, Values, coded>, tile_tuning<Limbs, Values, coded>(),
             radix_shared_bytes<Limbs, Values, coded>(true));
    }
  }
  launch(sort_words_by_digits<Limbs, Values, Length>, tile_tuning<Limbs, Values, Length>(),
         radix_shared_bytes<Limbs, Values, Length>(false));
}

template <int Limbs, value_width Values, finish_method Method, class CallerSort = void>
void queue_finish(const context& ctx, const radix_arguments& args) {
  constexpr std::size_t shared_bytes = finish_shared_bytes<Limbs, Values>();
  const auto kernel = finish_groups<Limbs, Values, Method, CallerSort>;
  // The only kernel of a sort is launched as the first kernel of a call is (launch_overlapped says why).
  if (is_one_group(args)) return launch_shared(ctx, kernel, 1, finish_threads, shared_bytes, args);
  const std::uint64_t resident =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(kernel), finish_threads, shared_bytes);
  launch_overlapped(ctx, kernel, std::min(resident, ceil_div(std::uint64_t{args.count}, most_group_words / 4)),
                    finish_threads, shared_bytes, args);
}

template <int Limbs, value_width Values>
void queue_finish_of_groups(const context& ctx, const radix_arguments& args) {
  if (has_bins_kernel(args)) queue_finish<Limbs, Values, finish_method::bins>(ctx, args);
  queue_finish<Limbs, Values, finish_method::bins_then_digits>(ctx, args);
}

template <int Limbs, value_width Values>
void queue_kernels(const context& ctx, const word_sort& s, std::byte* scratch, group_finisher finisher) {
  const radix_arguments args{s, radix_scratch(s, tile_words<Limbs, Values>(s), scratch).tables};
  if (!is_one_group(args)) {
    has_short_tiles<Limbs, Values>(args.count) ? queue_passes<Limbs, Values, tile_length::of_short_list>(ctx, args)
                                               : queue_passes<Limbs, Values, tile_length::of_long_list>(ctx, args);
    if (!may_sort_by_codes(args)) return;
  }
  if constexpr (Values != value_width::values_16) {
    if (finisher != nullptr) return finisher(ctx, args);
    queue_finish_of_groups<Limbs, Values>(ctx, args);
  }
}

/// Calls body with the width of the values beside words of so many limbs, as a constant.
template <int Limbs, class Body>
auto with_value_width(std::uint32_t value_bytes, Body body) {
  if constexpr (Limbs <= 2) {
    if (value_bytes == 8) return body(std::integral_constant<value_width, value_width::values_8>());
    if (value_bytes == 4) return body(std::integral_constant<value_width, value_width::values_4>());
  }
  if constexpr (Limbs == 1) {
    if (value_bytes == 16) return body(std::integral_constant<value_width, value_width::values_16>());
  }
  if (value_bytes != 0) throw error(error_code::internal, "sort: no kernel for these values");
  return body(std::integral_constant<value_width, value_width::none>());
}

template <int Limbs>
void run_radix_sort_of(const context& ctx, const word_sort& s, std::byte* scratch, group_finisher finisher) {
  with_value_width<Limbs>(s.value_bytes,
                          [&](auto values) { queue_kernels<Limbs, values()>(ctx, s, scratch, finisher); });
}

/// Queues what finishes the groups that another kernel has listed, of words alone or with values of 4 or 8 bytes.
template <int Limbs>
void finish_groups_of(const context& ctx, const radix_arguments& args) {
  with_value_width<Limbs>(args.value_bytes, [&](auto values) {
    if constexpr (values() != value_width::values_16) queue_finish_of_groups<Limbs, values()>(ctx, args);
  });
}

extern template void run_radix_sort_of<1>(const context&, const word_sort&, std::byte*, group_finisher);
extern template void finish_groups_of<1>(const context&, const radix_arguments&);
extern template void run_radix_sort_of<2>(const context&, const word_sort&, std::byte*, group_finisher);
extern template void finish_groups_of<2>(const context&, const radix_arguments&);
extern template void run_radix_sort_of<3>(const context&, const word_sort&, std::byte*, group_finisher);
extern template void finish_groups_of<3>(const context&, const radix_arguments&);
extern template void run_radix_sort_of<4>(const context&, const word_sort&, std::byte*, group_finisher);
extern template void finish_groups_of<4>(const context&, const radix_arguments&);

}  // namespace sheaf::cuda
