#pragma once

#include <algorithm>

#include "cuda/device/state.hpp"
#include "cuda/sort/msd/finish.cuh"
#include "cuda/sort/msd/pass_kernels.cuh"
#include "cuda/sort/msd/run.hpp"
#include "cuda/sort/onesweep/run.hpp"

// How a sort's kernels are queued; the files that include this instantiate them for a width of words.
namespace sheaf::cuda {

/// Lists that leave multiprocessors idle: their groups are kept small, and finished by one kernel instead of two.
constexpr bool is_short(std::uint64_t count) { return count <= std::uint64_t{1} << 19; }

/// Lists of keys of 4 bytes that are so long that a look at a few keys, and a kernel that leaves at once, cost little.
constexpr bool looks_for_skew(const msd_sort& s) {
  const std::uint64_t least = std::uint64_t{1} << (s.value_bytes > 0 ? 20 : 22);
  return s.limbs == 1 && !s.bitonic && s.key_high - s.key_low == 32 && s.count >= least &&
         s.count < most_onesweep_words;
}

/// Words of neighbours that are finished as one group, at most.
constexpr std::uint32_t merged_words(std::uint64_t count) { return is_short(count) ? 2048 : group_words; }

/// Where the tables lie in scratch, in bytes.
class msd_scratch_layout {
 public:
  template <int Limbs>
  static msd_scratch_layout of(const msd_sort& s) {
    return {s, level_tile<Limbs>};
  }
  msd_scratch_layout(const msd_sort& s, std::uint64_t tile) {
    const std::uint64_t count = s.count;
    const std::uint64_t limbs = s.limbs;
    const bool ordered = s.ordered;
    // A level with a pivot leaves its highest digits for the next.
    const std::uint64_t levels = std::max<std::uint64_t>(1, 2 * ceil_div(s.key_high - s.key_low, radix_bits));
    const std::uint64_t buckets = count / group_words + 2;  // of a level, each larger than a group
    const std::uint64_t tiles = count / tile + buckets;
    const std::uint64_t rows = ordered ? tiles / chunk_tiles + buckets : buckets;
    counters_ = take(sizeof(sort_counters));
    for (int i = 0; i < 2; ++i) {
      buckets_[i] = take(buckets * sizeof(sort_bucket));
      tile_bucket_[i] = take(tiles * sizeof(std::uint32_t));
      row_bucket_[i] = take(ordered ? rows * sizeof(std::uint32_t) : 0);
      rows_[i] = take(rows * radix_bins * sizeof(std::uint32_t));
      differing_[i] = take(buckets * limbs * sizeof(std::uint32_t));
    }
    tile_rows_ = take(ordered ? tiles * radix_bins * sizeof(std::uint32_t) : 0);
    // Two groups in a row have more words than may be merged, and a bucket that is split leaves one more group than it
    // has buckets among its children.
    const std::uint64_t groups = 2 * (count / merged_words(count) + buckets * (1 + levels)) + 2;
    groups_ = take(groups * sizeof(sort_group));
    crowded_ = take(groups * sizeof(sort_group));
    if (looks_for_skew(s)) bytes_ = std::max(bytes_, tables() + onesweep_scratch_bytes(count, s.value_bytes));
  }

  std::uint64_t bytes() const { return bytes_; }
  /// Where the tables behind the counters begin.
  std::uint64_t tables() const { return buckets_[0]; }
  sort_tables at(std::byte* scratch) const {
    sort_tables t{};
    t.counters = reinterpret_cast<sort_counters*>(scratch + counters_);
    for (int i = 0; i < 2; ++i) {
      t.buckets[i] = reinterpret_cast<sort_bucket*>(scratch + buckets_[i]);
      t.tile_bucket[i] = reinterpret_cast<std::uint32_t*>(scratch + tile_bucket_[i]);
      t.row_bucket[i] = reinterpret_cast<std::uint32_t*>(scratch + row_bucket_[i]);
      t.rows[i] = reinterpret_cast<std::uint32_t*>(scratch + rows_[i]);
      t.differing[i] = reinterpret_cast<std::uint32_t*>(scratch + differing_[i]);
    }
    t.tile_rows = reinterpret_cast<std::uint32_t*>(scratch + tile_rows_);
    t.groups = reinterpret_cast<sort_group*>(scratch + groups_);
    t.crowded = reinterpret_cast<sort_group*>(scratch + crowded_);
    return t;
  }

 private:
  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t begin = bytes_;
    bytes_ += ceil_div(bytes, 256) * 256;
    return begin;
  }

  std::uint64_t bytes_ = 0;
  std::uint64_t counters_, buckets_[2], tile_bucket_[2], row_bucket_[2], rows_[2], differing_[2], tile_rows_, groups_,
      crowded_;
};

/// Levels that are queued as kernels of their own, which are faster than the one that runs any number of them but take
/// a launch each even if there is nothing to do.
constexpr std::uint32_t queued_levels(std::uint64_t count) {
  if (count <= std::uint64_t{radix_bins} * words_of_full_group) return 1;
  return count < (std::uint64_t{1} << 26) ? 2 : 4;
}

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
void queue_level(const context& ctx, const char* what, const msd_pass_arguments& a, std::uint32_t turn) {
  constexpr std::size_t shared = level_shared_bytes<Limbs, Payload>();
  const std::uint64_t tiles = ceil_div(a.count, level_tile<Limbs>);
  const auto processors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  // Buckets of the first levels are few, and each has one tile that is not full.
  const std::uint64_t buckets = turn == 0 ? 1 : turn == 1 ? radix_bins : 2 * processors;
  // Keys alone are moved so fast that blocks of several tiles are worth it, once there are enough of them.
  const std::uint64_t share = Limbs == 1 && Payload == payload_mode::nothing && a.count >= 1U << 26 ? 4 : 1;
  const std::uint64_t moving = turn < 2 ? ceil_div(tiles + buckets - 1, share) : std::min(tiles, 8 * processors);
  launch_shared(ctx, what, count_level<Limbs, Payload, FromRows, Pivots>, std::min(tiles, 3 * processors),
                level_threads, sizeof(level_shared), a, turn);
  launch_shared(ctx, what, begin_buckets<Limbs, Payload, FromRows, Pivots>, buckets, level_threads,
                sizeof(level_shared), a, turn);
  if constexpr (keeps_order(Payload)) {
    const std::uint64_t rows = ceil_div(tiles, chunk_tiles) + buckets;
    launch_shared(ctx, what, begin_chunks_of<Limbs, Payload>, std::min(rows, 4 * processors), level_threads,
                  sizeof(level_shared), a, turn);
  }
  launch_shared(ctx, what, move_level<Limbs, Payload, FromRows, Pivots>, moving, level_threads, shared, a, turn);
}

template <int Limbs, payload_mode Payload>
void run_levels(const context& ctx, const char* what, const msd_sort& s, const sort_tables& tables) {
  const msd_pass_arguments a{{s.in, s.buffers[0], s.buffers[1]},
                          {s.values, s.value_buffers[0], s.value_buffers[1]},
                          tables,
                          static_cast<std::uint32_t>(s.count),
                          merged_words(s.count),
                          s.key_low,
                          s.key_high,
                          s.target.words,
                          s.rows,
                          s.target.change};
  launch_shared(ctx, what, begin_levels<Limbs, Payload>, 1, level_threads,
                std::max(sizeof(level_shared), sizeof(skew_shared)), a, looks_for_skew(s));
  const std::uint32_t queued = queued_levels(s.count);
  for (std::uint32_t turn = 0; turn < queued; ++turn) {
    // In the large buckets of the first levels few keys are frequent enough.
    if (turn == 0 && s.from_rows) {
      queue_level<Limbs, Payload, true, false>(ctx, what, a, turn);
    } else if (turn < 2) {
      queue_level<Limbs, Payload, false, false>(ctx, what, a, turn);
    } else {
      queue_level<Limbs, Payload, false, true>(ctx, what, a, turn);
    }
  }
  launch_cooperative(ctx, what, sort_levels<Limbs, Payload>, ceil_div(s.count, level_tile<Limbs>), level_threads,
                     level_shared_bytes<Limbs, Payload>(), a, queued);
}

template <int Limbs, payload_mode Payload, finish_way Way>
void queue_finish(const context& ctx, const char* what, const finish_arguments& a, std::uint64_t count) {
  constexpr std::size_t shared = finish_shared_bytes<Limbs, Payload, Way>();
  const auto kernel = finish_groups<Limbs, Payload, Way>;
  const std::uint64_t resident =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(kernel), finish_threads, shared);
  const std::uint64_t groups = a.only_count > 0 ? 1 : ceil_div(count, group_words / 4);
  launch_shared(ctx, what, kernel, std::min(resident, groups), finish_threads, shared, a);
}

template <int Limbs, payload_mode Payload>
void run_finish(const context& ctx, const char* what, const msd_sort& s, const sort_tables& tables) {
  const finish_arguments a{{s.in, s.buffers[0], s.buffers[1]},
                           {s.values, s.value_buffers[0], s.value_buffers[1]},
                           tables,
                           s.key_low,
                           s.key_high,
                           s.target,
                           s.values_to,
                           s.count <= group_words ? static_cast<std::uint32_t>(s.count) : 0};
  if (s.bitonic) return queue_finish<Limbs, Payload, finish_way::bitonic>(ctx, what, a, s.count);
  // The kernel for crowds takes any groups.
  if (!is_short(s.count)) queue_finish<Limbs, Payload, finish_way::bins>(ctx, what, a, s.count);
  queue_finish<Limbs, Payload, finish_way::crowds>(ctx, what, a, s.count);
}

template <int Limbs, payload_mode Payload>
void run_msd_sort_of(const context& ctx, const char* what, const msd_sort& s, std::byte* scratch) {
  const auto room = msd_scratch_layout::of<Limbs>(s);
  const sort_tables tables = room.at(scratch);
  if (s.count > group_words) {
    require(cudaMemsetAsync(tables.counters, 0, sizeof(sort_counters), ctx.stream()), what);
    run_levels<Limbs, Payload>(ctx, what, s, tables);
  }
  run_finish<Limbs, Payload>(ctx, what, s, tables);
  if (looks_for_skew(s)) {
    run_onesweep(ctx, what, s, scratch + room.tables(), &tables.counters->skewed);
  }
}

/// Of words that are all there is.
template <int Limbs>
void run_word_sort(const context& ctx, const char* what, const msd_sort& s, std::byte* scratch) {
  if constexpr (Limbs > 1) {  // words of one limb have no room for values
    if (s.ordered) return run_msd_sort_of<Limbs, payload_mode::order>(ctx, what, s, scratch);
  }
  run_msd_sort_of<Limbs, payload_mode::nothing>(ctx, what, s, scratch);
}

/// Of words that are keys, with values apart.
template <int Limbs>
void run_value_sort(const context& ctx, const char* what, const msd_sort& s, std::byte* scratch) {
  if (s.value_bytes == 8) return run_msd_sort_of<Limbs, payload_mode::values_8>(ctx, what, s, scratch);
  run_msd_sort_of<Limbs, payload_mode::values_4>(ctx, what, s, scratch);
}

extern template void run_word_sort<1>(const context&, const char*, const msd_sort&, std::byte*);
extern template void run_word_sort<2>(const context&, const char*, const msd_sort&, std::byte*);
extern template void run_word_sort<3>(const context&, const char*, const msd_sort&, std::byte*);
extern template void run_word_sort<4>(const context&, const char*, const msd_sort&, std::byte*);
extern template void run_value_sort<1>(const context&, const char*, const msd_sort&, std::byte*);
extern template void run_value_sort<2>(const context&, const char*, const msd_sort&, std::byte*);

}  // namespace sheaf::cuda
