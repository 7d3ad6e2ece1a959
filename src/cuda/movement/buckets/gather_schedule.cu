#include "cuda/movement/buckets/gather_schedule.hpp"

#include "core/scratch_offsets.hpp"
#include "cuda/block/tile_scheduler.cuh"
#include "cuda/device/speeds.hpp"
#include "cuda/movement/copy/words.cuh"

namespace sheaf::cuda {

schedule_layout layout_of_schedule(const primitives::movement& problem, bucket_storage storage) {
  schedule_layout layout{};
  const std::uint32_t indexed_bits = bits_for(problem.indexed_count);
  // A tile's runs have 32 records with 256 buckets, and are shorter with more. A table has more buckets only if each
  // would not stay in L2 otherwise.
  constexpr std::uint32_t most_bytes_of_bucket_log2 = 24;
  std::uint32_t bucket_bits = std::min(8U, indexed_bits);
  while (bucket_bits < bits_for(most_buckets) &&
         indexed_bits - bucket_bits + bits_for(problem.record_bytes) > most_bytes_of_bucket_log2) {
    ++bucket_bits;
  }
  layout.shift = indexed_bits - bucket_bits;
  layout.buckets = static_cast<std::uint32_t>(
      ceil_div(std::max<std::uint64_t>(1, problem.indexed_count), std::uint64_t{1} << layout.shift));
  layout.capacity = fixed_capacity(problem.count, problem.indexed_count, std::uint64_t{1} << layout.shift);
  const std::uint64_t tiles = ceil_div(problem.count, bucketing_tile);
  const std::uint64_t entries =
      storage == bucket_storage::fixed_capacity ? layout.capacity * layout.buckets : problem.count;
  core::scratch_offsets arrays;
  layout.bucket_sizes = arrays.take((layout.buckets + all_counter_words) * sizeof(std::uint32_t));
  layout.tile_counters = layout.bucket_sizes + layout.buckets * sizeof(std::uint32_t);
  layout.bucket_begins =
      arrays.take(storage == bucket_storage::fixed_capacity ? 0 : (2 * most_buckets + 1) * sizeof(std::uint64_t));
  layout.bucket_indices = arrays.take(entries * sizeof(std::uint32_t));
  layout.tile_slots = arrays.take(problem.count * sizeof(std::uint16_t));
  layout.run_in_bucket = arrays.take(tiles * layout.buckets * sizeof(std::uint32_t));
  layout.run_in_tile = arrays.take(tiles * layout.buckets * sizeof(std::uint16_t));
  layout.bucket_words = arrays.bytes();
  layout.end = arrays.bytes() + entries * problem.record_bytes;
  return layout;
}

const char* schedule_rejection(const primitives::movement& p) {
  if (const char* reason = words_rejection(p)) return reason;
  if (p.count >= ~std::uint32_t{0} - bucketing_tile) return "counts exceed 32 bits";
  if (layout_of_schedule(p, bucket_storage::fixed_capacity).shift > 32) return "buckets hold more than 2^32 records";
  return nullptr;
}

namespace {

/// Seconds of a kernel that streams `bytes` at a share of copy bandwidth and ranks or reorders `count` records
/// meanwhile.
double stream_seconds(double bytes, double bandwidth_share, double count, double ranked, const machine& m) {
  plan::planned stream;
  stream.add_overlapped(3, {{"streamed", bytes / m.copy_bytes_per_second / bandwidth_share},
                            {"ranked", instruction_seconds(count, ranked, m)}});
  return stream.seconds;
}

struct schedule_tuning {
  /// Share of copy bandwidth that build_schedule reaches, and records that it ranks in the time in which the L2 cache
  /// moves a byte.
  double build_share = 0.60;
  double build_ranked = 0.0304;
  /// Share of copy bandwidth that collect_tiles reaches, and records that it reorders in the time in which the L2 cache
  /// moves a byte.
  double collect_share = 0.68;
  double collect_ranked = 0.0304;
  /// Time of a random read from a bucket while other data stream through L2, over the profile's, which has L2 to
  /// itself.
  double shared_l2_slowdown = 1.2;
  /// Least footprint of random reads: the blocks of a multiprocessor read from all of L2, however small a bucket is.
  std::uint64_t least_bucket_bytes = 1 << 20;
  /// Slowdown of 16-byte words, whose tiles leave a multiprocessor one block.
  double single_block_slowdown = 1.35;
};
constexpr schedule_tuning tuning_of_schedule;

}  // namespace

double build_seconds(double count, double bytes_each, const machine& m) {
  return stream_seconds(count * (bytes_each + 2), tuning_of_schedule.build_share, count,
                        tuning_of_schedule.build_ranked, m);
}

double build_seconds(const primitives::movement& p, const machine& m) {
  return build_seconds(static_cast<double>(p.count), static_cast<double>(bytes(p.index)) + 4, m);
}

double collect_seconds(double count, double width, const machine& m) {
  return stream_seconds(count * (2 * width + 2), tuning_of_schedule.collect_share, count,
                        tuning_of_schedule.collect_ranked, m) *
         (width == 16 ? tuning_of_schedule.single_block_slowdown : 1.0);
}

double bucket_reads_seconds(double streamed_bytes, double random_read_seconds, const machine& m) {
  plan::planned reading;
  reading.add_overlapped(3, {{"buckets", streamed_bytes / m.copy_bytes_per_second},
                             {"random read", tuning_of_schedule.shared_l2_slowdown * random_read_seconds}});
  return reading.seconds;
}

double apply_seconds(const primitives::movement& problem, const machine& machine) {
  const schedule_layout layout = layout_of_schedule(problem, bucket_storage::fixed_capacity);
  const auto count = static_cast<double>(problem.count);
  const auto width = static_cast<double>(problem.record_bytes);
  const double reading = bucket_reads_seconds(
      count * (4 + width) + static_cast<double>(problem.indexed_bytes()),
      machine.random_reads(
          problem.count, problem.record_bytes,
          std::max(tuning_of_schedule.least_bucket_bytes, problem.indexed_stride_bytes << layout.shift)),
      machine);
  return reading * (problem.record_bytes == 16 ? tuning_of_schedule.single_block_slowdown : 1.0) +
         collect_seconds(count, width, machine);
}

}  // namespace sheaf::cuda
