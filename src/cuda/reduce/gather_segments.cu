#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"
#include "cuda/reduce/rows/segments.cuh"
#include "primitives/reduce/gather.hpp"

// The variant cuda.segments of gather_reduce: a group of lanes combines the rows that a segment names, in the order of
// its entries; long segments go to blocks in pieces. Nothing is stored in between.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct gather_segments_arrays {
  long_list_scratch longs;
  std::uint64_t* rows;  ///< of each segment, for a count

  gather_segments_arrays(const gather_reduce_problem& p, core::scratch_arrays& place)
      : longs(p.reads_in() ? p.count : 0, p.segments, p.sum_row_bytes(), place),
        rows(place.take<std::uint64_t>(p.reads_in() ? 0 : p.segments)) {}
};

plan::planned plan_gather_segments(const gather_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 11 * m.step_seconds);
  const std::uint64_t streamed =
      p.index_bytes() + p.segments * bytes(p.offset) * 2 + (p.has_weights ? p.count * bytes(p.weight) : 0);
  plan.add("lists", m.streamed(streamed, streamed));
  if (p.reads_in() && p.count > 0) {
    const memory_cost reads = gather_cost(p, m);
    plan.add("rows", std::max(reads.indexed_bus, reads.access));
  }
  plan.add("out", rows_written_seconds(p.segments, p.out_row_bytes(), p.reads_out(), m));
  plan.scratch_bytes = core::bytes_of<gather_segments_arrays>(p);
  return plan;
}

/// How faults of a call are reported, the worst first.
struct segment_guard {
  index_guard of_index;
  const core::index_wording* wordings[3];  ///< of a segment that begins, or ends past the entries, or ends before that
  std::uint32_t has_signed_offsets = 0;
  std::uint64_t entries = 0;
};

constexpr unsigned fault_threads = 1024;

/// The least of what the threads of a block have.
__device__ __forceinline__ std::uint64_t least_of_block(std::uint64_t value) {
  __shared__ unsigned long long least;
  __syncthreads();
  if (threadIdx.x == 0) least = ~0ULL;
  __syncthreads();
  if (value != ~std::uint64_t{0}) atomicMin(&least, static_cast<unsigned long long>(value));
  __syncthreads();
  return least;
}

/// Looks for the first fault of a call that has any, and reports it. One block.
__global__ void __launch_bounds__(fault_threads)
    report_segment_fault(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                         std::uint64_t count, const __grid_constant__ segment_guard guard) {
  if (*segments.faults == 0) return;
  std::uint64_t first = ~std::uint64_t{0};
  for (std::uint64_t s = threadIdx.x; s < count && first == ~std::uint64_t{0}; s += fault_threads) {
    std::uint64_t begin;
    std::uint64_t end;
    if (!read_segment(segments, s, begin, end)) first = s;
  }
  first = least_of_block(first);
  if (first != ~std::uint64_t{0}) {
    if (threadIdx.x != 0) return;
    std::uint64_t begin;
    std::uint64_t end;
    read_segment(segments, first, begin, end);
    const auto shown = [&](std::uint64_t bits) {
      return segments.are_wide || guard.has_signed_offsets == 0
                 ? bits
                 : static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    };
    index_guard of_segment = guard.of_index;
    of_segment.is_signed = guard.has_signed_offsets;
    of_segment.records = guard.entries;
    std::uint64_t value = shown(begin);
    if (begin > segments.limit) {
      of_segment.wording = guard.wordings[0];
    } else if (end > segments.limit) {
      of_segment.wording = guard.wordings[1];
      value = shown(end);
    } else {
      of_segment.wording = guard.wordings[2];
      of_segment.records = shown(end);
    }
    return report_bad_index(of_segment, first, value);
  }
  // Offsets without a fault ascend, so that all segments together are one range of the list.
  if (count == 0) return;
  const std::uint64_t end = entry_at(segments.ends, segments.are_wide, count - 1);
  for (std::uint64_t j = entry_at(segments.begins, segments.are_wide, 0) + threadIdx.x;
       j < end && first == ~std::uint64_t{0}; j += fault_threads) {
    if (entry_at(in.index, in.has_wide_index, j) >= in.limit) first = j;
  }
  first = least_of_block(first);
  if (threadIdx.x != 0 || first == ~std::uint64_t{0}) return;
  const std::uint64_t index = entry_at(in.index, in.has_wide_index, first);
  if (in.has_wide_index) {
    report_bad_index(guard.of_index, first, index);
  } else {
    report_bad_index(guard.of_index, first, static_cast<std::uint32_t>(index));
  }
}

/// The entries of each segment that name a row. A warp takes a segment.
__global__ void __launch_bounds__(block_threads)
    count_segment_rows(const __grid_constant__ listed_rows in, const __grid_constant__ listed_segments segments,
                       std::uint64_t count, std::uint64_t* rows) {
  const std::uint64_t s = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / 32;
  if (s >= count) return;
  std::uint64_t begin;
  std::uint64_t end;
  if (!read_segment(segments, s, begin, end)) {
    *segments.faults = 1;
    begin = end = 0;
  }
  std::uint64_t good = 0;
  for (std::uint64_t j = begin + threadIdx.x % 32; j < end; j += 32) {
    good += entry_at(in.index, in.has_wide_index, j) < in.limit ? 1 : 0;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) good += __shfl_xor_sync(~0U, good, step);
  if (threadIdx.x % 32 != 0) return;
  rows[s] = good;
  if (good != end - begin) *segments.faults = 1;
}

listed_segments segments_of(const gather_reduce_problem& p, index_span offsets) {
  constexpr std::uint64_t most_signed = 0x7fffffff;
  listed_segments segments;
  segments.begins = offsets.data;
  segments.ends = static_cast<const std::byte*>(offsets.data) + bytes(offsets.type);
  segments.are_wide = bytes(offsets.type) == 8;
  segments.limit = p.offset == index_type::i32 ? std::min(p.count, most_signed) : p.count;
  return segments;
}

void run_gather_segments(const context& ctx, const gather_reduce_problem& p, const plan::planned&,
                         const gather_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto at = core::arrays_in<gather_segments_arrays>(scratch, p);
  segment_guard guard;
  guard.of_index = state_of(ctx).guard(wording_of(segment_fault::index), p.index, p.indexed_count);
  guard.wordings[0] = &wording_of(segment_fault::begin);
  guard.wordings[1] = &wording_of(segment_fault::end);
  guard.wordings[2] = &wording_of(segment_fault::backwards);
  guard.has_signed_offsets = p.offset == index_type::i32 || p.offset == index_type::i64 ? 1 : 0;
  guard.entries = p.count;
  listed_rows in = rows_to_read(b.table);
  in.index = b.index.data;
  in.has_wide_index = bytes(p.index) == 8;
  in.limit = p.index_limit();
  if (b.weights.count != 0) {
    in.weights = b.weights.data;
    in.weight = b.weights.type;
  }
  listed_segments segments = segments_of(p, b.offsets);
  segments.faults = at.longs.faults();
  if (p.reads_in()) {
    const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
    combine_listed_segments(ctx, types, in, segments, rows_to_write(b.out, types, p.op, p.reads_out()), at.longs.lists,
                            true);
  } else if (p.segments > 0) {
    require(cudaMemsetAsync(segments.faults, 0, sizeof *segments.faults, ctx.stream()), ctx);
    launch(ctx, count_segment_rows, ceil_div(p.segments, block_threads / 32), in, segments, p.segments, at.rows);
    write_row_counts(ctx, b.out, p.reads_out(), true, {}, nullptr, at.rows);
  }
  launch_blocks(ctx, report_segment_fault, 1, fault_threads, in, segments, p.segments, guard);
}

}  // namespace

extern constinit const gather_reduce_variant gather_reduce_segments{"cuda.segments", backend_kind::cuda,
                                                                    plan_gather_segments, run_gather_segments};

}  // namespace sheaf::cuda
