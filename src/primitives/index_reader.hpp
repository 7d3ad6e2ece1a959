#pragma once

#include <cstdint>

#include <sheaf/records.hpp>

#include "core/index_report.hpp"

namespace sheaf::reference {

/// Reads an index list of any type, with a range check. Simple rather than fast.
class index_reader {
 public:
  index_reader(index_span index, std::uint64_t limit) : index_(index), limit_(limit) {}

  bool in_range(std::uint64_t i) const {
    switch (index_.type) {
      case index_type::u32: return entry<std::uint32_t>(i) < limit_;
      case index_type::u64: return entry<std::uint64_t>(i) < limit_;
      case index_type::i32:
        return entry<std::int32_t>(i) >= 0 && static_cast<std::uint64_t>(entry<std::int32_t>(i)) < limit_;
      case index_type::i64:
        return entry<std::int64_t>(i) >= 0 && static_cast<std::uint64_t>(entry<std::int64_t>(i)) < limit_;
    }
    return false;
  }

  /// The bits of index[i], sign-extended where the type is signed.
  std::uint64_t bits(std::uint64_t i) const {
    switch (index_.type) {
      case index_type::u32: return entry<std::uint32_t>(i);
      case index_type::u64: return entry<std::uint64_t>(i);
      case index_type::i32: return static_cast<std::uint64_t>(std::int64_t{entry<std::int32_t>(i)});
      case index_type::i64: return static_cast<std::uint64_t>(entry<std::int64_t>(i));
    }
    return 0;
  }

  core::index_report report(std::uint64_t call, std::uint64_t i, const core::index_words& words) const {
    return {.call = call,
            .position = i,
            .value = bits(i),
            .limit = limit_,
            .words = &words,
            .is_signed = index_.type == index_type::i32 || index_.type == index_type::i64};
  }

 private:
  template <class T>
  T entry(std::uint64_t i) const {
    return static_cast<const T*>(index_.data)[i];
  }

  index_span index_;
  std::uint64_t limit_;
};

}  // namespace sheaf::reference
