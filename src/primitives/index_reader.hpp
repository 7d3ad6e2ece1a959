#pragma once

#include <algorithm>

#include <sheaf/records.hpp>

#include "core/index_report.hpp"

namespace sheaf {
namespace primitives {

constexpr bool is_signed(index_type type) noexcept { return type == index_type::i32 || type == index_type::i64; }

/// The bits of entry i of a list, sign-extended where the type is signed.
inline std::uint64_t bits_at(index_span list, std::uint64_t i) noexcept {
  switch (list.type) {
    case index_type::u32: return static_cast<const std::uint32_t*>(list.data)[i];
    case index_type::i32:
      return static_cast<std::uint64_t>(std::int64_t{static_cast<const std::int32_t*>(list.data)[i]});
    default: return static_cast<const std::uint64_t*>(list.data)[i];
  }
}

/// Calls use(entries) with the list's entries as numbers that extend their sign when they become 64 bits, so that a
/// negative entry lies above every limit.
template <class Use>
auto with_entries(index_span list, Use use) {
  switch (list.type) {
    case index_type::u32: return use(static_cast<const std::uint32_t*>(list.data));
    case index_type::i32: return use(static_cast<const std::int32_t*>(list.data));
    default: return use(static_cast<const std::uint64_t*>(list.data));
  }
}

/// How many of so many records an index of this type can name.
constexpr std::uint64_t namable(index_type type, std::uint64_t records) noexcept {
  switch (type) {
    case index_type::u32: return std::min(records, std::uint64_t{1} << 32);
    case index_type::i32: return std::min(records, std::uint64_t{1} << 31);
    case index_type::i64: return std::min(records, std::uint64_t{1} << 63);
    default: return records;
  }
}

}  // namespace primitives

namespace reference {

/// Reads an index list of any type, with a range check. Simple rather than fast.
class index_reader {
 public:
  index_reader(index_span index, std::uint64_t limit) : index_(index), limit_(limit) {}

  bool in_range(std::uint64_t i) const {
    const bool is_negative = primitives::is_signed(index_.type) && static_cast<std::int64_t>(bits(i)) < 0;
    return !is_negative && bits(i) < limit_;
  }
  /// The bits of index[i], sign-extended where the type is signed.
  std::uint64_t bits(std::uint64_t i) const { return primitives::bits_at(index_, i); }

  core::index_report report(std::uint64_t call, std::uint64_t i, const core::index_wording& wording) const {
    return {.call = call,
            .position = i,
            .value = bits(i),
            .limit = limit_,
            .wording = &wording,
            .is_signed = primitives::is_signed(index_.type)};
  }

 private:
  index_span index_;
  std::uint64_t limit_;
};

}  // namespace reference
}  // namespace sheaf
