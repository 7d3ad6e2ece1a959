#pragma once

#include "cpu/threads/checked_parts.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"
#include "primitives/index_reader.hpp"

// Propagation blocking: one radix pass over the index list, by its top bits, groups the indices into buckets and
// carries a value along with each. A bucket covers a range of the indexed side that fits the second-level cache, so
// that the accesses inside it cost no memory access. The pass is stable. Buckets are sized by counting, so no list is
// too skewed.
namespace sheaf::cpu {

/// Scratch layout of index_buckets; every member but `buckets` is in bytes.
struct bucket_scratch {
  std::uint64_t buckets;        ///< number of buckets
  std::uint64_t starts;         ///< offset of the bucket_table
  std::uint64_t cursors;        ///< offset of the parts' cursors, as large as the bucket_table
  std::uint64_t bad_positions;  ///< offset of the first bad position of each part
  std::uint64_t buffers;        ///< offset of the parts' write-combining buffers: of local indices, then of values
  std::uint64_t local_indices;  ///< offset of the indices counted from their bucket's first record, 4 bytes each
  std::uint64_t values;         ///< offset of the values, in the order of the local indices
  std::uint64_t bytes;          ///< size of all scratch

  bucket_scratch() = default;
  bucket_scratch(const primitives::movement& problem, std::uint64_t shift, std::uint64_t parts,
                 std::uint64_t value_bytes) noexcept
      : buckets(problem.indexed_count == 0 ? 1 : ((problem.indexed_count - 1) >> shift) + 1) {
    const std::uint64_t table = whole_write_buffers(bucket_table::bytes(parts, buckets));
    starts = 0;
    cursors = table;
    bad_positions = 2 * table;
    buffers = bad_positions + whole_write_buffers(parts * sizeof(std::uint64_t));
    local_indices = buffers + 2 * parts * buckets * write_buffer_bytes;
    values = local_indices + whole_write_buffers(problem.count * sizeof(std::uint32_t));
    bytes = values + whole_write_buffers(problem.count * value_bytes);
  }
};

/// What plan decides for run.
struct bucket_decision {
  std::uint64_t shift;    ///< index >> shift is the bucket
  std::uint64_t parts;    ///< parts of the list that are counted and moved in parallel
  bool streams;           ///< whether full write-combining buffers leave by streaming stores
  bucket_scratch layout;  ///< where things lie in the scratch

  void tell(plan::told& to) const {
    to.add("bucket_records", std::uint64_t{1} << shift).add("parts", parts).add("streams", streams);
  }
};

/// Decides on buckets of at most `bucket_records` records, or of more where these would be too many buckets. Each index
/// takes a value of `value_bytes` along.
inline bucket_decision decide_buckets(const primitives::movement& problem, const machine& machine,
                                      std::uint64_t bucket_records, std::uint64_t value_bytes) {
  constexpr std::uint64_t most_buckets = 4096;
  auto shift = static_cast<std::uint64_t>(std::bit_width(std::max<std::uint64_t>(1, bucket_records))) - 1;
  while (problem.indexed_count > 0 && (problem.indexed_count - 1) >> shift >= most_buckets) ++shift;
  const std::uint64_t buckets = problem.indexed_count == 0 ? 1 : ((problem.indexed_count - 1) >> shift) + 1;
  const std::uint64_t parts =
      std::min(parts_worth(2 * problem.sequential_bytes() + problem.index_bytes(), machine.parallelism),
               std::max<std::uint64_t>(1, problem.count / buckets));
  return {.shift = shift,
          .parts = parts,
          .streams = problem.sequential_bytes() + problem.index_bytes() > machine.cache_bytes,
          .layout = bucket_scratch(problem, shift, parts, value_bytes)};
}

/// Records of the indexed side that fit half of the second-level cache, which each core has to itself.
inline std::uint64_t cached_bucket_records(const primitives::movement& p, const machine& m) noexcept {
  return std::max<std::uint64_t>(1, own_cache_bytes(m) / 2 / p.indexed_stride_bytes);
}

/// Records of the indexed side in a bucket of a gather or scatter: as many as fit half of the second-level cache, or
/// more where this machine reads nearly as fast from what lies behind it. Fewer buckets are fewer streams, which the
/// first-level cache and the hardware prefetcher follow up to some 64 of. 2^26 records at random on two threads of an
/// EPYC of family 26, whose third level reads at 0.78 of the second's rate up to 8 MB: gathers of 8 bytes 232 ms with
/// buckets of 8 MB, 301 with 512 KB; of 4 bytes 192 and 307; scatters of 8 bytes 215 and 231. On a Xeon of family 6
/// model 207 the third level has half of the second's rate, and buckets stay in that.
inline std::uint64_t movement_bucket_records(const primitives::movement& problem, const machine& machine) {
  constexpr double nearly_as_fast = 0.7;
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 20;  // 2048 small pages, as many as a core's TLB has
  const std::uint64_t least = cached_bucket_records(problem, machine);
  const auto seconds = [&](std::uint64_t records) {
    return machine.random_reads(1, problem.record_bytes, records * problem.indexed_stride_bytes);
  };
  const std::uint64_t shared_bytes = machine.cache_bytes / 2 / static_cast<std::uint64_t>(machine.parallelism);
  std::uint64_t records = least;
  while (2 * records * problem.indexed_stride_bytes <= std::min(most_bytes, shared_bytes) &&
         nearly_as_fast * seconds(2 * records) <= seconds(least)) {
    records *= 2;
  }
  return records;
}

/// A plan without a price, of at most `bucket_records` records in a bucket; see decide_buckets().
inline plan::planned plan_buckets(const primitives::movement& p, const machine& m, std::uint64_t bucket_records,
                                  std::uint64_t value_bytes) {
  const bucket_decision decided = decide_buckets(p, m, bucket_records, value_bytes);
  if (decided.layout.bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan::planned plan;
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;
  return plan;
}

/// Prices a bucketed movement that streams `streamed_bytes` beside its accesses inside the buckets, on scratch that the
/// context has kept from an earlier call. The first call takes 1.2 to 2.3 times as long: 2^26 records of 8 bytes, Xeon
/// of family 6 model 207.
inline void price_bucketed(const primitives::movement& problem, const machine& machine, std::uint64_t streamed_bytes,
                           std::uint64_t value_bytes, bool writes, plan::planned& plan) {
  const std::uint64_t bucket_bytes = problem.indexed_stride_bytes << plan.decided.get<bucket_decision>().shift;
  plan.add("latency", machine.launch_seconds + 3 * machine.step_seconds);
  plan.add("streamed", static_cast<double>(streamed_bytes) / machine.copy_bytes_per_second);
  plan.add(writes ? "random write" : "random read",
           writes ? machine.random_writes(problem.count, value_bytes, bucket_bytes)
                  : machine.random_reads(problem.count, value_bytes, bucket_bytes));
  // Time of the instructions for a record, in digits. A gather has three phases and so more of them; beside wide
  // records they do not show.
  constexpr std::uint64_t wide_bytes = 16;
  const double gathers = value_bytes < 8 ? 1.38 : 1.77;
  // Each phase copies records of other widths than powers of two piece by piece: a gather of 9 * 10^6 records of 12
  // bytes takes 58 ms on an EPYC of family 25, of which all else explains 36.
  const double pieces = std::has_single_bit(value_bytes) ? 0 : 3.5;
  const double digits_each = (!writes ? gathers : value_bytes < wide_bytes ? 0.577 : 0) + pieces;
  plan.add("ordering", static_cast<double>(problem.count) * digits_each * digit_seconds(machine) / machine.parallelism);
}

/// The indices of one list grouped by bucket, in the call's scratch.
template <class Index>
class index_buckets {
 public:
  index_buckets(const primitives::movement& problem, const bucket_decision& decided, const Index* index,
                std::byte* scratch)
      : layout_(decided.layout),
        scratch_(scratch),
        index_(index),
        count_(problem.count),
        limit_(primitives::namable(problem.index, problem.indexed_count)),
        shift_(decided.shift),
        parts_(decided.parts),
        streams_(decided.streams),
        starts_(scratch_at<std::uint64_t>(layout_.starts), parts_, layout_.buckets) {
    ask_for_huge_pages(scratch_, layout_.bytes);
  }

  /// Moves the good indices to their buckets: histogram, scan, scatter. Where Value is not void, value_of(position)
  /// goes along with each. Returns the first bad index.
  template <class Value, class ValueOf>
  first_bad reorder(ValueOf value_of) {
    const first_bad bad = count_buckets();
    good_entries_ = starts_.scan();
    for_each_part(parts_, [&](std::uint64_t part) { scatter_part<Value>(part, value_of); });
    return bad;
  }

  std::uint64_t bucket_count() const noexcept { return layout_.buckets; }
  std::uint64_t parts() const noexcept { return parts_; }
  /// First record of the indexed side that a bucket covers.
  std::uint64_t first_record(std::uint64_t bucket) const noexcept { return bucket << shift_; }
  std::uint64_t bucket_of(std::uint64_t index) const noexcept { return index >> shift_; }
  /// Position of a bucket's first entry in local_indices() and values(); bucket_count() gives the end of the last.
  std::uint64_t entries_begin(std::uint64_t bucket) const noexcept {
    return bucket == layout_.buckets ? good_entries_ : starts_.row(0)[bucket];
  }
  const std::uint32_t* local_indices() const noexcept { return scratch_at<std::uint32_t>(layout_.local_indices); }
  template <class Value>
  Value* values() const noexcept {
    return scratch_at<Value>(layout_.values);
  }
  /// The cursors of a part, one per bucket, set to the position of the part's first entry in each.
  std::uint64_t* reset_cursors(std::uint64_t part) const noexcept {
    std::uint64_t* const cursors = scratch_at<std::uint64_t>(layout_.cursors) + part * layout_.buckets;
    std::copy_n(starts_.row(part), layout_.buckets, cursors);
    return cursors;
  }

 private:
  template <class T>
  T* scratch_at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch_ + offset);
  }

  // Histogram of every part; indices past the end are counted nowhere.
  first_bad count_buckets() {
    auto* const bad_positions = scratch_at<std::uint64_t>(layout_.bad_positions);
    for_each_range(count_, parts_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      std::uint64_t* const counts = starts_.cleared_row(part);
      first_bad first;
      const Index* const index = index_;
      const std::uint64_t limit = limit_;
      const std::uint64_t shift = shift_;
      for (std::uint64_t i = begin; i < end; ++i) {
        if (index[i] < limit) {
          ++counts[index[i] >> shift];
        } else {
          first.note(i);
        }
      }
      bad_positions[part] = first.position;
    });
    first_bad all;
    for (std::uint64_t part = 0; part < parts_; ++part) all.note(bad_positions[part]);
    return all;
  }

  template <class Value, class ValueOf>
  void scatter_part(std::uint64_t part, ValueOf value_of) const {
    constexpr bool has_values = !std::is_void_v<Value>;
    using value = std::conditional_t<has_values, Value, std::uint32_t>;
    std::uint64_t* const cursors = reset_cursors(part);
    std::byte* const buffers = scratch_at<std::byte>(layout_.buffers) + 2 * part * layout_.buckets * write_buffer_bytes;
    write_buffers<std::uint32_t> indices(buffers, cursors, starts_.row(part), scratch_at<void>(layout_.local_indices),
                                         streams_);
    write_buffers<value> values(buffers + layout_.buckets * write_buffer_bytes, cursors, starts_.row(part),
                                scratch_at<void>(layout_.values), streams_);
    const Index* const index = index_;
    const std::uint64_t limit = limit_;
    const std::uint64_t shift = shift_;
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    const std::uint64_t end = part_begin(count_, parts_, part + 1);
    for (std::uint64_t i = part_begin(count_, parts_, part); i < end; ++i) {
      const std::uint64_t record = index[i];
      if (record >= limit) continue;
      const std::uint64_t bucket = record >> shift;
      const std::uint64_t position = cursors[bucket]++;
      indices.put_at(bucket, position, static_cast<std::uint32_t>(record & mask));
      if constexpr (has_values) values.put_at(bucket, position, value_of(i));
    }
    indices.finish(layout_.buckets);
    if constexpr (has_values) values.finish(layout_.buckets);
  }

  bucket_scratch layout_;
  std::byte* scratch_;
  const Index* index_;
  std::uint64_t count_;
  std::uint64_t limit_;
  std::uint64_t shift_;
  std::uint64_t parts_;
  bool streams_;
  bucket_table starts_;
  std::uint64_t good_entries_ = 0;
};

}  // namespace sheaf::cpu
