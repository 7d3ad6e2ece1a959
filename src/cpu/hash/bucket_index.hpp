#pragma once

#include "core/scratch_offsets.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "primitives/hash/function.hpp"
#include "primitives/hash/search.hpp"

// The index of the CPU: buckets of one cache line each, so that a probe reads memory once. He et al. 2007 keep headers
// in an array and buckets in another one; here a bucket's header lies on the line of its first keys, and says where in
// an overflow array the others are. Keys lie there as their hashes, and ascend.
namespace sheaf::cpu {

/// A bucket. Slots without a key come last; they have a hash of all ones and, as their value, all ones or where the
/// rows of the next bucket begin.
template <class Key, class Id>
struct alignas(line_bytes) bucket_line {
  static constexpr std::uint64_t slots = (line_bytes - sizeof(Id)) / (sizeof(Key) + sizeof(Id));
  Key hash[slots];
  Id value[slots];  ///< a record's number, or where the key's rows begin
  Id overflow;      ///< place of the bucket's first key in the overflow array; all ones if the line has all keys
};

/// Keys that a bucket's line has place for.
constexpr std::uint64_t slots_of(std::uint64_t key_bytes, std::uint64_t id_bytes) noexcept {
  return (line_bytes - id_bytes) / (key_bytes + id_bytes);
}

constexpr double usual_load = 0.8;  ///< of an index whose caller named none

/// Sizes of an index, and where its arrays begin.
struct index_layout {
  std::uint64_t records = 0;
  std::uint64_t distinct = 0;
  std::uint64_t buckets = 1;
  std::uint64_t overflow = 0;  ///< keys that the lines of their buckets have no place for
  std::uint64_t key_bytes = 8;
  std::uint64_t id_bytes = 4;
  double load = usual_load;
  std::uint64_t overflow_at = 0;  ///< behind the lines: hash and value side by side, bucket by bucket, ascending
  std::uint64_t rows_at = 0;      ///< record numbers, key by key, ascending; none if every key has one record
  std::uint64_t bytes = 0;

  index_layout() = default;
  index_layout(std::uint64_t record_count, std::uint64_t distinct_keys, std::uint64_t key_width, std::uint64_t id_width,
               double wanted_load)
      : records(record_count), distinct(distinct_keys), key_bytes(key_width), id_bytes(id_width) {
    if (wanted_load > 0) load = wanted_load;
    const double wanted = std::ceil(static_cast<double>(distinct) / (load * static_cast<double>(slots())));
    buckets = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, primitives::most_buckets(key_bytes));
    place_arrays();
  }

  void set_overflow(std::uint64_t keys) {
    overflow = keys;
    place_arrays();
  }
  bool has_rows() const noexcept { return distinct < records; }
  std::uint64_t slots() const noexcept { return slots_of(key_bytes, id_bytes); }
  /// One line more says where the rows of the last bucket end.
  std::uint64_t lines_bytes() const noexcept { return (buckets + 1) * line_bytes; }
  std::uint64_t overflow_bytes() const noexcept { return (overflow + 1) * (key_bytes + id_bytes); }

 private:
  void place_arrays() {
    core::scratch_offsets place;
    place.take(lines_bytes());
    overflow_at = place.take(overflow_bytes());
    rows_at = place.take(has_rows() ? records * id_bytes : 0);
    bytes = place.bytes();
  }
};

/// The index in memory.
class bucket_index final : public primitives::hash_table {
 public:
  bucket_index(buffer memory, const index_layout& l) noexcept : memory_(std::move(memory)), layout_(l) {}

  std::uint64_t bytes() const noexcept override { return memory_.size(); }
  std::uint64_t places() const noexcept override { return layout_.buckets * layout_.slots(); }
  const index_layout& layout() const noexcept { return layout_; }
  std::byte* data() const noexcept { return memory_.data(); }

 private:
  buffer memory_;
  index_layout layout_;
};

/// Whether a search's index is of this form: built by a variant of this folder, or by none yet.
inline bool is_bucket_index(const primitives::hash_search_problem& p) noexcept {
  return p.index.built_by.empty() || p.index.built_by.starts_with("cpu.");
}

/// The share of keys that the lines of their buckets have no place for, where hashes are as random ones: a bucket has
/// Poisson's number of keys.
inline double overflow_share(double load, std::uint64_t slots) noexcept {
  const double mean = load * static_cast<double>(slots);
  double probability = std::exp(-mean);  // of a bucket with so many keys
  double past = mean - static_cast<double>(slots);
  for (std::uint64_t keys = 0; keys < slots; ++keys) {
    past += static_cast<double>(slots - keys) * probability;
    probability *= mean / static_cast<double>(keys + 1);
  }
  return past / mean;
}

/// The index as plans expect it, from what its build has counted.
inline index_layout layout_of(const primitives::hash_facts& f) {
  index_layout l(f.records, f.distinct, f.key_bytes, bytes(f.id), f.load);
  l.set_overflow(static_cast<std::uint64_t>(static_cast<double>(f.distinct) * overflow_share(l.load, l.slots())));
  return l;
}

/// The index as arrays of its types.
template <class Key, class Id>
struct index_view {
  using line = bucket_line<Key, Id>;
  static_assert(sizeof(line) == line_bytes && line::slots == slots_of(sizeof(Key), sizeof(Id)));
  static constexpr Id none = static_cast<Id>(~Id{0});

  line* lines;
  std::byte* overflow_keys;
  Id* rows;  ///< null if every key has one record
  std::uint64_t buckets;
  std::uint64_t overflow_count;

  explicit index_view(const bucket_index& index) noexcept
      : lines(reinterpret_cast<line*>(index.data())),
        overflow_keys(index.data() + index.layout().overflow_at),
        rows(index.layout().has_rows() ? reinterpret_cast<Id*>(index.data() + index.layout().rows_at) : nullptr),
        buckets(index.layout().buckets),
        overflow_count(index.layout().overflow) {}

  std::uint64_t bucket_of(Key hash) const noexcept { return primitives::bucket_of(hash, buckets); }

  std::byte* overflow(std::uint64_t e) const noexcept { return overflow_keys + e * (sizeof(Key) + sizeof(Id)); }
  Key overflow_hash(std::uint64_t e) const noexcept {
    Key hash;
    std::memcpy(&hash, overflow(e), sizeof hash);
    return hash;
  }
  Id overflow_value(std::uint64_t e) const noexcept {
    Id value;
    std::memcpy(&value, overflow(e) + sizeof(Key), sizeof value);
    return value;
  }
  void set_overflow(std::uint64_t e, Key hash, Id value) const noexcept {
    std::memcpy(overflow(e), &hash, sizeof hash);
    std::memcpy(overflow(e) + sizeof hash, &value, sizeof value);
  }
};

/// Keys of a caller, at any stride and alignment, as hashes.
template <class Key>
struct hash_reader {
  const std::byte* first;
  std::uint64_t stride;

  explicit hash_reader(const_records keys) noexcept : first(keys.data), stride(keys.stride_bytes) {}
  Key operator()(std::uint64_t i) const noexcept {
    Key key;
    std::memcpy(&key, first + i * stride, sizeof key);
    return primitives::hash_of(key);
  }
};

/// Calls body with a key and an id of the index's widths.
template <class Body>
void with_key_and_id(std::uint64_t key_bytes, std::uint64_t id_bytes, Body body) {
  if (key_bytes == 4) {
    if (id_bytes == 4) return body(std::uint32_t{}, std::uint32_t{});
    return body(std::uint32_t{}, std::uint64_t{});
  }
  if (id_bytes == 4) return body(std::uint64_t{}, std::uint32_t{});
  body(std::uint64_t{}, std::uint64_t{});
}

}  // namespace sheaf::cpu
