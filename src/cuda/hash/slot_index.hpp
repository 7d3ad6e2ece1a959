#pragma once

#include "primitives/hash/search.hpp"

// The index of the CUDA backend: an ordered hash table with linear probing (Amble and Knuth 1974), whose buckets are
// sectors of memory. It is made by sorting, so it is the same bytes in every run, and no key is reserved to mark
// an empty slot.
namespace sheaf::cuda {

constexpr std::uint64_t sector_bytes = 32;

/// How wide an index's slots and rows are.
enum class slot_form : std::uint8_t {
  narrow,     ///< keys of 4 bytes: slots of 8 bytes, rows of 4
  wide,       ///< keys of 8 bytes, and of 4 with two records each or more: slots of 16 bytes, rows of 4
  wide_rows,  ///< more records than numbers of 4 bytes tell apart: slots of 16 bytes, rows of 8
};

/// Keys of 4 bytes with two records each or more, on the average, get wide slots, which also say which is the first.
/// Rows are as wide as record numbers where these have 8 bytes, which tests ask for with few records.
constexpr slot_form form_of(std::uint64_t key_bytes, std::uint64_t records, std::uint64_t distinct,
                            index_type id) noexcept {
  // Rows take up to three words for two records, and a narrow slot's flag takes one of 32 bits.
  constexpr std::uint64_t most_narrow = std::uint64_t{1} << 30;
  constexpr std::uint64_t most_wide = std::uint64_t{1} << 31;
  const bool is_narrow = key_bytes == 4 && records / 2 < distinct;
  if (id == index_type::u64 || records > (key_bytes == 4 ? most_narrow : most_wide)) return slot_form::wide_rows;
  return is_narrow ? slot_form::narrow : slot_form::wide;
}
constexpr slot_form form_of(const primitives::hash_facts& facts) noexcept {
  return form_of(facts.key_bytes, facts.records, facts.distinct, facts.id);
}
constexpr std::uint64_t slot_bytes(slot_form form) noexcept { return form == slot_form::narrow ? 8 : 16; }
constexpr std::uint64_t row_bytes(slot_form form) noexcept { return form == slot_form::wide_rows ? 8 : 4; }
constexpr std::uint64_t slots_per_bucket(slot_form form) noexcept { return sector_bytes / slot_bytes(form); }

/// Buckets for so many distinct keys; a load of 0 takes the usual one. At 0.99 a key lies some 50 slots behind its own
/// bucket in the mean (Knuth, volume 3, 6.4: half of 1 + 1 / (1 - load)), at 0.9 five.
std::uint64_t buckets_for(std::uint64_t distinct, std::uint64_t key_bytes, slot_form form, double load) noexcept;
/// Bytes of all slots, about: runs past the last bucket are some slots more.
std::uint64_t expected_slot_bytes(const primitives::hash_facts& facts) noexcept;

class slot_index final : public primitives::hash_table {
 public:
  slot_index(buffer slots, buffer rows, slot_form f, std::uint64_t wanted_buckets) noexcept
      : form(f),
        buckets(wanted_buckets),
        all_buckets(slots.size() / sector_bytes),
        slots_(std::move(slots)),
        rows_(std::move(rows)) {}

  std::uint64_t bytes() const noexcept override { return slots_.size() + rows_.size(); }
  std::uint64_t places() const noexcept override { return buckets * slots_per_bucket(form); }
  const void* slots() const noexcept { return slots_.data(); }
  /// For each key with several records: their number, then the records, ascending; null if there are no such keys.
  const void* rows() const noexcept { return rows_.data(); }

  const slot_form form;
  const std::uint64_t buckets;      ///< that keys want
  const std::uint64_t all_buckets;  ///< and those behind; the last slot is empty

 private:
  buffer slots_;
  buffer rows_;
};

/// Why a search cannot read an index, or null if it can.
const char* index_rejection(const primitives::hash_search_problem& problem) noexcept;

}  // namespace sheaf::cuda
