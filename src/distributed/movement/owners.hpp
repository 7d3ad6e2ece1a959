#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include <sheaf/distributed/layout.hpp>

namespace sheaf::distributed {

/// Finds the rank that has a row, in a step or two: a table by the row's highest bits says which rank has the first row
/// with these bits.
class owner_finder {
 public:
  explicit owner_finder(const layout& rows) : begins_(rows.begins().begin(), rows.begins().end()) {
    constexpr int table_bits = 12;
    shift_ = std::max(0, static_cast<int>(std::bit_width(rows.count())) - table_bits);
    const std::uint64_t entries = rows.count() == 0 ? 0 : ((rows.count() - 1) >> shift_) + 1;
    first_owner_.resize(entries);
    for (std::uint64_t i = 0; i < entries; ++i) first_owner_[i] = static_cast<std::uint32_t>(rows.owner(i << shift_));
    for (int r = 0; r < rows.ranks(); ++r) is_narrow_ = is_narrow_ && rows.count(r) <= ~std::uint32_t{0};
  }

  /// @param row  below rows()
  std::uint32_t operator()(std::uint64_t row) const noexcept {
    std::uint32_t owner = first_owner_[row >> shift_];
    while (row >= begins_[owner + 1]) ++owner;
    return owner;
  }
  std::uint64_t begin(std::uint64_t rank) const noexcept { return begins_[rank]; }
  std::uint64_t rows() const noexcept { return begins_.back(); }
  std::size_t ranks() const noexcept { return begins_.size() - 1; }
  /// Whether 32 bits hold every row's place in its part.
  bool is_narrow() const noexcept { return is_narrow_; }

 private:
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint32_t> first_owner_;
  int shift_ = 0;
  bool is_narrow_ = true;
};

}  // namespace sheaf::distributed
