#pragma once

#include <type_traits>
#include <utility>

#include "core/scratch_offsets.hpp"
#include "cpu/threads/cache_hints.hpp"

// Write-combining buffers: one small buffer per output bucket, so that a loop which distributes records over many
// buckets writes whole cache lines. Shared by split, the bucketed movements, scatter_reduce and the sorts.
namespace sheaf::cpu {

/// A block of bytes that is copied as one value.
template <std::size_t Bytes>
struct alignas(Bytes) block_of_bytes {
  std::byte bytes[Bytes];
};

/// Table of counts, one row per part of the input and one column per bucket. scan() turns the counts into the positions
/// where each part's records go: buckets one after another, and inside a bucket the parts in order.
class bucket_table {
 public:
  bucket_table(std::uint64_t* entries, std::uint64_t parts, std::uint64_t buckets) noexcept
      : entries_(entries), parts_(parts), buckets_(buckets) {}

  bucket_table(std::uint64_t parts, std::uint64_t buckets, core::scratch_arrays& arrays)
      : bucket_table(arrays.take<std::uint64_t>(parts * buckets), parts, buckets) {}

  static constexpr std::uint64_t bytes(std::uint64_t parts, std::uint64_t buckets) noexcept {
    return parts * buckets * sizeof(std::uint64_t);
  }

  std::uint64_t parts() const noexcept { return parts_; }
  std::uint64_t buckets() const noexcept { return buckets_; }
  std::uint64_t* row(std::uint64_t part) const noexcept { return entries_ + part * buckets_; }

  /// A row for a part's counts: all are 0.
  std::uint64_t* cleared_row(std::uint64_t part) const noexcept {
    std::fill_n(row(part), buckets_, std::uint64_t{0});
    return row(part);
  }

  /// Exclusive scan in bucket-major order: replaces counts by start positions and returns the sum of all counts.
  std::uint64_t scan() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t b = 0; b < buckets_; ++b) {
      for (std::uint64_t part = 0; part < parts_; ++part) {
        sum += std::exchange(row(part)[b], sum);
      }
    }
    return sum;
  }

 private:
  std::uint64_t* entries_;
  std::uint64_t parts_;
  std::uint64_t buckets_;
};

/// Bytes of a write-combining buffer: two cache lines. With one line, every eighth record of 8 bytes finds the buffer
/// full, which no branch predictor guesses.
constexpr std::uint64_t write_buffer_bytes = 2 * line_bytes;

/// Bytes rounded up to a multiple of a write-combining buffer, the alignment of every array in scratch.
constexpr std::uint64_t whole_write_buffers(std::uint64_t bytes) noexcept {
  return (bytes + write_buffer_bytes - 1) / write_buffer_bytes * write_buffer_bytes;
}

/// The write-combining buffers of one part, one per bucket. A record is stored in its bucket's buffer, at the offset
/// from a buffer boundary that its place in the output has. A full buffer is written out: with streaming stores if
/// `streams`, so that no line of the output is read first. A page of the output is touched once per buffer, not once
/// per record.
template <class Value>
class write_buffers {
 public:
  static constexpr std::uint64_t records_per_buffer = write_buffer_bytes / sizeof(Value);
  static_assert(std::is_trivially_copyable_v<Value> && write_buffer_bytes % sizeof(Value) == 0);

  /// @param memory   bytes(buckets), aligned to a buffer.
  /// @param cursors  position of each bucket's next record, plus misalignment_of(out); put() advances it.
  /// @param starts   position where each bucket begins, counted from out: records before it belong to other parts.
  /// @param out      aligned to Value's width.
  write_buffers(std::byte* memory, std::uint64_t* cursors, const std::uint64_t* starts, void* out,
                bool streams) noexcept
      : buffers_(reinterpret_cast<Value*>(memory)),
        cursors_(cursors),
        starts_(starts),
        out_(static_cast<std::byte*>(out)),
        misalignment_(misalignment_of(out)),
        streams_(streams) {}

  static constexpr std::uint64_t bytes(std::uint64_t buckets) noexcept { return buckets * write_buffer_bytes; }

  /// Records between `out` and the buffer boundary before it. Cursors count from that boundary.
  static std::uint64_t misalignment_of(const void* out) noexcept {
    return reinterpret_cast<std::uintptr_t>(out) % write_buffer_bytes / sizeof(Value);
  }

  void put(std::uint64_t bucket, const Value& value) const noexcept { put_at(bucket, cursors_[bucket]++, value); }

  /// Stores a record at a position that the caller has counted: for two outputs that share their cursors. A full buffer
  /// is written out when the next record for its bucket comes. Reading it at once would wait for the store that filled
  /// it.
  void put_at(std::uint64_t bucket, std::uint64_t position, const Value& value) const noexcept {
    const std::uint64_t slot = position % records_per_buffer;
    if (slot == 0) write_buffer(bucket, position);
    std::memcpy(buffers_ + bucket * records_per_buffer + slot, &value, sizeof(Value));
  }

  /// Writes out the records that are left in the buffers.
  void finish(std::uint64_t buckets) const noexcept {
    for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
      const std::uint64_t end = cursors_[bucket] - misalignment_;
      if (end == starts_[bucket]) continue;
      const std::uint64_t slots = (cursors_[bucket] - 1) % records_per_buffer + 1;
      const std::uint64_t count = std::min(slots, end - starts_[bucket]);
      std::memcpy(out_ + (end - count) * sizeof(Value), buffers_ + bucket * records_per_buffer + slots - count,
                  count * sizeof(Value));
    }
    if (streams_) finish_streaming();
  }

 private:
  // Writes out the buffer whose records end before `position`. If the bucket began inside the buffer, the slots before
  // that belong to other parts. Not inlined: the call happens once in `records_per_buffer` records, and inlined it
  // would take registers of the loop around it.
  [[gnu::noinline]] void write_buffer(std::uint64_t bucket, std::uint64_t position) const noexcept {
    const std::byte* const buffer = reinterpret_cast<const std::byte*>(buffers_ + bucket * records_per_buffer);
    const std::uint64_t records_before = position - misalignment_ - starts_[bucket];
    std::byte* const end = out_ + (position - misalignment_) * sizeof(Value);
    if (records_before >= records_per_buffer) {
      if (streams_) {
        stream_lines(end - write_buffer_bytes, buffer, write_buffer_bytes);
      } else {
        std::memcpy(end - write_buffer_bytes, buffer, write_buffer_bytes);
      }
    } else if (records_before > 0) {
      const std::uint64_t bytes = records_before * sizeof(Value);
      std::memcpy(end - bytes, buffer + write_buffer_bytes - bytes, bytes);
    }
  }

  Value* const buffers_;
  std::uint64_t* const cursors_;
  const std::uint64_t* const starts_;
  std::byte* const out_;
  const std::uint64_t misalignment_;
  const bool streams_;
};

}  // namespace sheaf::cpu
