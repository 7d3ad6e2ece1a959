#pragma once

#include "cuda/movement/buckets/bucketing.hpp"

// The layout and the price of a gather schedule (gather_schedule.cuh).
namespace sheaf::cuda {

/// How the buckets' index lists are stored. Contiguous lists take no more memory than the list of indices, but buckets
/// have to be counted before. Lists of fixed capacity need no counting.
enum class bucket_storage { fixed_capacity, contiguous };

/// How the table is cut into buckets, and where the arrays of a schedule lie in one block of memory. Members without
/// another unit are offsets in bytes from the beginning of the block.
struct schedule_layout {
  std::uint32_t shift;     ///< log2 of the records of a bucket
  std::uint32_t buckets;   ///< buckets of the table
  std::uint64_t capacity;  ///< entries of a bucket's list, if capacity is fixed
  std::uint64_t bucket_sizes;
  std::uint64_t tile_counters;
  std::uint64_t bucket_begins;
  std::uint64_t bucket_indices;
  std::uint64_t tile_slots;
  std::uint64_t run_in_bucket;
  std::uint64_t run_in_tile;
  std::uint64_t bucket_words;  ///< records read bucket by bucket; what lies before is kept by a prepared movement
  std::uint64_t end;

  void tell(plan::told& to) const { to.add("buckets", buckets).add("bucket_records", std::uint64_t{1} << shift); }
};

schedule_layout layout_of_schedule(const primitives::movement& problem, bucket_storage storage);
/// Seconds to build the schedule of a list.
double build_seconds(const primitives::movement& problem, const machine& machine);
/// The steps apart: to build a schedule of `count` numbers, reading and writing so many bytes for each of them; to read
/// buckets, with this time for the random reads alone; to collect words of a width into tiles.
double build_seconds(double count, double bytes_each, const machine& machine);
double bucket_reads_seconds(double streamed_bytes, double random_read_seconds, const machine& machine);
double collect_seconds(double count, double width, const machine& machine);
/// Seconds to apply a schedule to one table.
double apply_seconds(const primitives::movement& problem, const machine& machine);
/// Why a gather cannot use a schedule, or null if it can.
const char* schedule_rejection(const primitives::movement& problem);

}  // namespace sheaf::cuda
