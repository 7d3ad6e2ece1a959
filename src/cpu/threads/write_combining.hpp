#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/threads/cache_hints.hpp"

// Writing to many places in turn, each place in order: what split, the clustered movements and scatter_reduce share.
namespace sheaf::cpu {

/// Bytes that move as one.
template <std::size_t Bytes>
struct alignas(Bytes) block_of_bytes {
  std::byte bytes[Bytes];
};

/// How many records each part of the input has for each bucket, then where it puts them: buckets one after another,
/// inside a bucket the parts in their order.
class bucket_table {
 public:
  bucket_table(std::uint64_t* room, std::uint64_t parts, std::uint64_t buckets) noexcept
      : room_(room), parts_(parts), buckets_(buckets) {}

  static constexpr std::uint64_t bytes(std::uint64_t parts, std::uint64_t buckets) noexcept {
    return parts * buckets * sizeof(std::uint64_t);
  }

  std::uint64_t parts() const noexcept { return parts_; }
  std::uint64_t buckets() const noexcept { return buckets_; }
  std::uint64_t* of(std::uint64_t part) const noexcept { return room_ + part * buckets_; }

  /// Makes starts of counts; returns the sum.
  std::uint64_t scan() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t b = 0; b < buckets_; ++b) {
      for (std::uint64_t part = 0; part < parts_; ++part) {
        std::uint64_t& entry = room_[part * buckets_ + b];
        const std::uint64_t count = entry;
        entry = sum;
        sum += count;
      }
    }
    return sum;
  }

 private:
  std::uint64_t* room_;
  std::uint64_t parts_;
  std::uint64_t buckets_;
};

/// Bytes of a write-combining bucket: two lines. With one, every eighth record of 8 bytes finds it full, which no
/// branch predictor guesses.
constexpr std::uint64_t bucket_bytes = 2 * line_bytes;

/// One part's write-combining buckets. Records gather in two cache lines per bucket, at the place in them where they
/// lie in `out`, and leave when these are full: past the cache with `streams`, so that no line of the output is read,
/// and a page of it is touched once per bucket and not once per record.
template <class Value>
class line_buckets {
 public:
  static constexpr std::uint64_t per_bucket = bucket_bytes / sizeof(Value);
  static_assert(std::is_trivially_copyable_v<Value> && bucket_bytes % sizeof(Value) == 0);

  /// @param room   bytes(buckets), aligned to a bucket.
  /// @param next   where each bucket's next record goes, counted from origin(out); counted up by who puts records.
  /// @param first  where the bucket began, counted from out: what lies before belongs to others.
  /// @param out    aligned to Value's width.
  line_buckets(std::byte* room, std::uint64_t* next, const std::uint64_t* first, void* out, bool streams) noexcept
      : lines_(reinterpret_cast<Value*>(room)),
        next_(next),
        first_(first),
        out_(static_cast<std::byte*>(out)),
        phase_(phase_of(out)),
        streams_(streams) {}

  static constexpr std::uint64_t bytes(std::uint64_t buckets) noexcept { return buckets * bucket_bytes; }

  /// Records between the whole line before `out` and out itself: what to add to positions in out.
  static std::uint64_t phase_of(const void* out) noexcept {
    return reinterpret_cast<std::uintptr_t>(out) % bucket_bytes / sizeof(Value);
  }

  void put(std::uint64_t bucket, const Value& value) const noexcept { put_at(bucket, next_[bucket]++, value); }

  /// For two outputs that share their counters; `at` is where the bucket's next record goes. A full line leaves when
  /// the next record comes for its bucket: reading it at once would wait for the store that filled it.
  void put_at(std::uint64_t bucket, std::uint64_t at, const Value& value) const noexcept {
    const std::uint64_t slot = at % per_bucket;
    if (slot == 0) write_lines(bucket, at);
    std::memcpy(lines_ + bucket * per_bucket + slot, &value, sizeof(Value));
  }

  /// Writes what is left in the lines.
  void finish(std::uint64_t buckets) const noexcept {
    for (std::uint64_t b = 0; b < buckets; ++b) {
      const std::uint64_t end = next_[b] - phase_;
      if (end == first_[b]) continue;
      const std::uint64_t slots = (next_[b] - 1) % per_bucket + 1;
      const std::uint64_t count = std::min(slots, end - first_[b]);
      std::memcpy(out_ + (end - count) * sizeof(Value), lines_ + b * per_bucket + slots - count, count * sizeof(Value));
    }
    if (streams_) finish_streaming();
  }

 private:
  // The lines that end before `at`. Where the bucket began in them, their beginning is others'. Not inlined: it would
  // take the registers of the loop that it is called from once in `per_bucket` records.
  [[gnu::noinline]] void write_lines(std::uint64_t bucket, std::uint64_t at) const noexcept {
    const std::byte* const lines = reinterpret_cast<const std::byte*>(lines_ + bucket * per_bucket);
    const std::uint64_t before = at - phase_ - first_[bucket];
    std::byte* const end = out_ + (at - phase_) * sizeof(Value);
    if (before >= per_bucket) {
      if (streams_) {
        stream_lines(end - bucket_bytes, lines, bucket_bytes);
      } else {
        std::memcpy(end - bucket_bytes, lines, bucket_bytes);
      }
    } else if (before > 0) {
      const std::uint64_t bytes = before * sizeof(Value);
      std::memcpy(end - bytes, lines + bucket_bytes - bytes, bytes);
    }
  }

  Value* const lines_;
  std::uint64_t* const next_;
  const std::uint64_t* const first_;
  std::byte* const out_;
  const std::uint64_t phase_;
  const bool streams_;
};

}  // namespace sheaf::cpu
